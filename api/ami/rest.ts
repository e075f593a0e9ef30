import { z } from 'zod'
import { Fault } from '../../schemas/fault.js'
import { identifierSchema } from '../../schemas/gateway/customer.js'
import { parseObject } from '../../schemas/json.js'
import type { RestAmiSettings } from '../../schemas/settings/gateway-bind.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { HttpRequest, HttpResponse } from '../http-client.js'
import { createUtilityClient, fillPath } from '../utility-client.js'
import type { Ami, AmiOutcome } from './ami.js'

const hub = z.string().max(64).nullish().transform(toHub)
const location = z.object({ meterId: identifierSchema })
const meter = z.object({
  meterId: identifierSchema,
  isAMI: z.boolean(),
  boundTo: hub,
  pendingFor: hub,
})
const outcome = z.object({ state: z.enum(['success', 'pending', 'refused']) })

/** Statuses with which a head-end finally refuses an action. */
const refusals = new Set([400, 403, 404, 409, 422])

/**
 * An AMI head-end over HTTP. The id of an action is also sent as `Idempotency-Key`, for head-ends that
 * support it.
 */
export function createRestAmi(
  settings: RestAmiSettings,
  secret: (reference: SecretReference) => string,
): Ami {
  const options = { fault: 'AMI_UNREACHABLE', name: 'the head-end', secret } as const
  const client = createUtilityClient(settings, options)
  const base = settings.url.replace(/\/$/, '')
  const ask = (request: HttpRequest) => client.send({ ...request, url: base + request.url })
  const find = async <T>(path: string | undefined, schema: z.ZodType<T>) => {
    if (path === undefined) return undefined
    const response = await ask({ method: 'GET', url: path })
    return response.status === 404 ? undefined : read(response, schema)
  }
  return {
    locate: async (accountSlid) => {
      const path = fillPath(settings.locationPath, '{accountSlid}', accountSlid)
      return (await find(path, location))?.meterId
    },
    meter: async (meterId) => {
      const found = await find(fillPath(settings.meterPath, '{meterId}', meterId), meter)
      if (found === undefined) return undefined
      if (found.meterId !== meterId)
        throw new Fault('AMI_ANSWER', 'the head-end returned another meter than requested')
      const { boundTo, pendingFor, isAMI } = found
      return { meterId, isAMI, boundTo, pendingFor }
    },
    act: async (action): Promise<AmiOutcome> => {
      const request = {
        method: 'POST',
        url: settings.actionPath,
        body: JSON.stringify(action),
        headers: { 'Idempotency-Key': action.actionId },
      } as const
      const response = await ask(request)
      if (refusals.has(response.status)) return 'refused'
      if (response.status === 202) return 'pending'
      return read(response, outcome).state
    },
    close: async () => client.close(),
  }
}

function read<T>({ status, text }: HttpResponse, schema: z.ZodType<T>): T {
  if (status !== 200) throw new Fault('AMI_UNREACHABLE', `the head-end returned status ${status}`)
  const parsed = schema.safeParse(parseObject(text))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = issue?.path.join('.') || 'the body'
  throw new Fault('AMI_ANSWER', `invalid response of the head-end: ${field} is missing or wrong`)
}

/** The address of a hub as requests have it: head-ends write it with other separators, or with none. */
function toHub(sent: string | null | undefined): string | undefined {
  const name = (sent ?? '').trim().toUpperCase()
  const digits = name.replaceAll(/[:.-]/g, '')
  if (!/^([0-9A-F]{12}|[0-9A-F]{16})$/.test(digits)) return name || undefined
  return digits.match(/../g)?.join(':')
}
