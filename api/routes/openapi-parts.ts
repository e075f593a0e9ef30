import { z } from 'zod'

export type Json = Readonly<Record<string, unknown>>

/** The parameters of a query, from its schema. */
export function toParameters(schema: z.ZodObject): readonly Json[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' })
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...type } = property as { readonly description?: string }
    const about = description === undefined ? {} : { description }
    return { name, in: 'query', required: required.includes(name), ...about, schema: type }
  })
}

/** A body in JSON of the schema of that name, or of one of several. */
export function jsonOf(...names: readonly string[]): Json {
  const schemas = names.map((name) => ({ $ref: `#/components/schemas/${name}` }))
  return { 'application/json': { schema: schemas.length > 1 ? { anyOf: schemas } : schemas[0] } }
}

/** Too many requests, and 503 with what else it may mean here. */
export const outageOf = (description = 'Outage or maintenance'): Json => ({
  429: { description: 'Too many requests of this address in this second; no body' },
  503: {
    description: `${description}; no body`,
    headers: {
      'Retry-After': {
        schema: { type: 'integer' },
        description: 'Seconds, if it may pass by itself',
      },
    },
  },
})

/** What any request may be answered before its operation judges it, or when that fails. */
const otherwise = {
  description:
    'No body. 400: malformed; 403: an address that is not allowed; 404: no client certificate; 405, with Allow; 408: the body is too slow; 413 and 431: the body or the header is too long; 500; 505',
} as const

/** The same paths, each operation with the answers that all have in common. */
export function withOtherwise(paths: Json): Json {
  const each = (path: unknown) =>
    Object.entries(path as Readonly<Record<string, { readonly responses: Json }>>).map(
      ([method, operation]) => {
        const responses = { ...operation.responses, default: otherwise }
        return [method, { ...operation, responses }] as const
      },
    )
  return Object.fromEntries(
    Object.entries(paths).map(([name, path]) => [name, Object.fromEntries(each(path))]),
  )
}
