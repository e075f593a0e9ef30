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
