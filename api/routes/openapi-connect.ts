import { espiRoot, windowQuerySchema } from '../../schemas/gateway/connect.js'
import { type Json, jsonOf, outageOf, toParameters } from './openapi-parts.js'

const challenge = { headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } } as const
const refused = {
  400: { description: 'The query is invalid', content: jsonOf('WrongRequest') },
  401: { description: 'No token, or one that proves nothing; no body', ...challenge },
  403: {
    ...challenge,
    description:
      'The token has no scope of ESPI, is for another application, or the account is closed or locked; no body',
  },
  404: { description: "Not a resource of the token's subscription; no body" },
} as const
const busy = {
  ...outageOf(),
  429: {
    description:
      'Too many requests of this address, or for this customer at the same time; no body',
  },
} as const

/** The resources of Green Button Connect My Data; ESPI fixes their paths, which have no version of the gateway. */
export function toConnectPaths(): Json {
  const get = (operationId: string, summary: string, more: Json = {}): Json => ({
    get: {
      security: [{ bearer: [] }],
      servers: [{ url: espiRoot }],
      operationId,
      summary,
      responses: {
        200: {
          description: 'A document of Atom with resources of ESPI 4.0',
          content: { 'application/atom+xml': { schema: { type: 'string' } } },
        },
        ...refused,
        ...busy,
      },
      ...more,
    },
  })
  const one = (...names: readonly string[]) => ({ parameters: names.map(inPath) })
  const subscription = 'subscriptionId'
  return {
    '/ApplicationInformation/{applicationInformationId}': get(
      'applicationInformation',
      'Get what is known of the application of the token',
      one('applicationInformationId'),
    ),
    '/Subscription': get('subscriptions', 'Get the subscription that the token opens'),
    '/Subscription/{subscriptionId}': get('subscription', 'Get it alone', one(subscription)),
    '/Subscription/{subscriptionId}/UsagePoint': get(
      'usagePoints',
      "Get the customer's usage points",
      { parameters: [inPath(subscription), ...toParameters(windowQuerySchema)] },
    ),
    '/Subscription/{subscriptionId}/UsagePoint/{usagePointId}': get(
      'usagePoint',
      'Get one usage point',
      one(subscription, 'usagePointId'),
    ),
    '/Batch/Subscription/{subscriptionId}': get(
      'batch',
      'Get all that the scope of the token allows: usage points, intervals and bills; streamed',
      { parameters: [inPath(subscription), ...toParameters(windowQuerySchema)] },
    ),
  }
}

const inPath = (name: string): Json => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
})
