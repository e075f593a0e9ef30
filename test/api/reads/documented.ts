interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
}

/** Of them nothing follows for a value here: texts for people, and limits of numbers and texts. */
const silent = [
  'description',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'readOnly',
  'default',
]
const judged = [
  ...['$ref', 'type', 'anyOf', 'enum', 'items', 'properties', 'required'],
  'additionalProperties',
]

const typeOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isSafeInteger(value) ? 'integer' : typeof value
}

export interface Documented {
  /** What of an answer is not as documented, with the place of each problem. */
  judge(answer: unknown): readonly string[]
  /** Documented fields that no answer had. */
  unseen(): readonly string[]
  /** Documented values that no answer had, of fields with a list of them. */
  unseenValues(): readonly string[]
}

/** Compares answers with the schema of an operation in an OpenAPI document. */
export function createDocumented(
  document: { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } },
  root: Schema,
): Documented {
  const documented = new Set<string>()
  const seen = new Set<string>()
  const resolve = (schema: Schema): Schema => {
    const strange = Object.keys(schema).filter((one) => ![...silent, ...judged].includes(one))
    if (strange.length > 0) throw new Error(`schemas here do not know ${strange.join(', ')}`)
    if (schema.$ref === undefined) return schema
    return resolve(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] as Schema)
  }
  const list = (given: Schema, path: string): void => {
    const { anyOf = [], items, properties = {}, enum: values = [] } = resolve(given)
    for (const value of values) documented.add(`${path}=${value}`)
    for (const one of anyOf) list(one, path)
    if (items !== undefined) list(items, `${path}[]`)
    for (const [name, property] of Object.entries(properties)) {
      documented.add(`${path}.${name}`)
      list(property, `${path}.${name}`)
    }
  }
  const judge = (given: Schema, value: unknown, path: string): readonly string[] => {
    const schema = resolve(given)
    if (schema.anyOf !== undefined) {
      const tried = schema.anyOf.map((one) => judge(one, value, path))
      return tried.find((problems) => problems.length === 0) ?? tried.flat()
    }
    const type = typeOf(value)
    const types = schema.type === undefined ? [type] : [schema.type].flat()
    if (!types.includes(type) && !(type === 'integer' && types.includes('number'))) {
      return [`${path} is ${type}, not ${types.join(' or ')}`]
    }
    if (schema.enum !== undefined && value !== null) {
      if (!schema.enum.includes(value)) return [`${path} is ${value}, not one of ${schema.enum}`]
      seen.add(`${path}=${value}`)
    }
    if (Array.isArray(value)) {
      return value.flatMap((one) => judge(schema.items ?? {}, one, `${path}[]`))
    }
    return type === 'object'
      ? judgeObject(schema, value as Readonly<Record<string, unknown>>, path)
      : []
  }
  const judgeObject = (
    { properties = {}, required = [], additionalProperties }: Schema,
    value: Readonly<Record<string, unknown>>,
    path: string,
  ): readonly string[] => {
    const names = Object.keys(value)
    const open =
      additionalProperties === undefined ? [] : [`${path} says which fields it may not have`]
    return [
      ...open,
      ...required
        .filter((name) => !names.includes(name))
        .map((name) => `${path}.${name} is missing`),
      ...names.flatMap((name) => {
        const property = properties[name]
        if (property === undefined) return [`${path}.${name} is not documented`]
        seen.add(`${path}.${name}`)
        return judge(property, value[name], `${path}.${name}`)
      }),
    ]
  }
  list(root, '')
  const missing = (isValue: boolean) =>
    [...documented].filter((one) => one.includes('=') === isValue && !seen.has(one))
  return {
    judge: (answer) => judge(root, answer, ''),
    unseen: () => missing(false),
    unseenValues: () => missing(true),
  }
}
