import {
  billsQuerySchema,
  billsSchema,
  changesQuerySchema,
  changesSchema,
  feedQuerySchema,
  usageQuerySchema,
  usageSchema,
} from '../../schemas/gateway/reads.js'
import { type Json, jsonOf, toParameters } from './openapi-parts.js'

/** Schemas of what is read. */
export const readSchemas = { usageSchema, billsSchema } as const
export const pulledSchemas = { changesSchema } as const

export interface ReadPathsOptions {
  readonly isDeprecated: boolean
  /** Responses to requests that fail, by status; 404 if that is the one to customers without an account. */
  readonly refused: Json & { readonly 404?: { readonly description: string } }
}

const tag = { ETag: { schema: { type: 'string' }, description: 'For If-None-Match' } } as const
const busy = {
  304: { description: 'The client has this answer already, by If-None-Match; no body' },
  429: {
    description: 'Too many requests of this address, or of this customer at the same time; no body',
  },
} as const

/**
 * The paths by which customers read. Downloads and large answers are compressed for clients that accept
 * gzip.
 */
export function toReadPaths({ isDeprecated, refused }: ReadPathsOptions): Json {
  const bearer = { security: [{ bearer: [] }], ...(isDeprecated && { deprecated: true }) }
  /** Without an account the status depends on the profile. */
  const notFound = (what: string) =>
    404 in refused
      ? {
          ...refused[404],
          description: `${what}: no body. ${refused[404].description}: no account`,
        }
      : { description: `${what}; no body` }
  return {
    '/gateway/usage': {
      get: {
        ...bearer,
        operationId: 'usage',
        summary: "Get the customer's own usage of a meter, or what has changed of it",
        parameters: toParameters(usageQuerySchema),
        responses: {
          ...found('Usage', 'A page of points in order of time'),
          ...refused,
          404: notFound('The customer has no such meter'),
          ...busy,
        },
      },
    },
    '/gateway/bills': {
      get: {
        ...bearer,
        operationId: 'bills',
        summary: "Get the customer's own bills: projected, computed and billed",
        parameters: toParameters(billsQuerySchema),
        responses: { ...found('Bills', 'A page of bills by their first day'), ...refused, ...busy },
      },
    },
    '/gateway/green-button': {
      get: {
        ...bearer,
        operationId: 'greenButton',
        summary: "Download the customer's own usage and bills as a Green Button feed",
        parameters: toParameters(feedQuerySchema),
        responses: {
          200: {
            description:
              'An Atom feed with ESPI 4.0 resources. It is streamed: a connection that closes before the end of the body means that the feed is incomplete',
            content: { 'application/atom+xml': { schema: { type: 'string' } } },
          },
          ...refused,
          404: notFound('The customer has no reads in these days'),
          429: busy[429],
        },
      },
    },
  }
}

/** The path by which the platform pulls what has changed. */
export function toPullPaths({ isDeprecated, refused }: ReadPathsOptions): Json {
  return {
    '/gateway/changes': {
      get: {
        security: [{ mutual: [], basic: [] }],
        ...(isDeprecated && { deprecated: true }),
        operationId: 'changes',
        summary: 'Pull what has changed for customers since a number',
        parameters: toParameters(changesQuerySchema),
        responses: {
          ...found('Changes', 'A page of changes in the order of publication'),
          ...refused,
          304: busy[304],
          410: {
            description:
              'Changes after this number are not kept, or it is above the newest; no body',
          },
        },
      },
    },
  }
}

function found(name: string, description: string): Json {
  return { 200: { description, headers: tag, content: jsonOf(name) } }
}
