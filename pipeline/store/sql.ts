declare const isSql: unique symbol

/**
 * A statement or a fragment of one, with its values apart from its text. Only `sql`, `id`, `literal`,
 * `typed`, `join` and `statementOf` make one, so that no value reaches a statement as text by accident.
 */
export interface Sql {
  readonly [isSql]: true
  readonly parts: readonly (string | Parameter)[]
}

/** A value that the server binds, with its ClickHouse type. */
interface Parameter {
  readonly type: string
  readonly value: unknown
}

/** What `sql` binds by itself; `typed` names the type of anything else. */
export type Bindable = string | number | bigint | boolean | Date | readonly string[]

/** What `literal` can write into the text of a statement. */
export type Constant = string | number | bigint | boolean | readonly Constant[]

/** A statement as the client sends it: `{p0:Type}` for each value that the server binds. */
export interface BoundStatement {
  readonly text: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/**
 * A statement or a fragment. In `${...}` go identifiers as `id(...)`, fragments as another `sql`, and
 * values, which the server binds: String, Int64, UInt64 (beyond Int64), Float64, Bool, DateTime64(3),
 * Array(String). Another type is named by `typed`.
 */
export function sql(strings: TemplateStringsArray, ...values: readonly (Bindable | Sql)[]): Sql {
  const parts: (string | Parameter)[] = [strings[0] as string]
  values.forEach((value, index) => {
    if (isFragment(value)) parts.push(...value.parts)
    else parts.push({ type: typeOf(value), value })
    parts.push(strings[index + 1] as string)
  })
  return fragment(parts)
}

/** The name of a table, view or column, quoted; `id('database', 'table')` for a qualified one. */
export function id(...names: readonly [string, ...string[]]): Sql {
  return fragment([names.map((name) => `\`${name.replace(/[\\`]/g, '\\$&')}\``).join('.')])
}

/**
 * A constant in the text of the statement: where the engine takes no parameter (settings, arguments
 * of aggregates), has to know the value while it plans, or where a list is too long for the URL.
 */
export function literal(value: Constant): Sql {
  return fragment([textOf(value)])
}

/** A value that the server binds as a ClickHouse type that `sql` does not derive. */
export function typed(type: string, value: unknown): Sql {
  return fragment([{ type, value }])
}

/** Fragments with a separator between them. */
export function join(fragments: readonly Sql[], separator: Sql): Sql {
  return fragment(
    fragments.flatMap(({ parts }, index) =>
      index === 0 ? [...parts] : [...separator.parts, ...parts],
    ),
  )
}

/** A whole statement as a person or a file of the schema wrote it. Never for text that code puts together. */
export function statementOf(text: string): Sql {
  return fragment([text])
}

/** What the client sends for a statement. */
export function bind({ parts }: Sql): BoundStatement {
  const parameters: Record<string, unknown> = {}
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part
      continue
    }
    const name = `p${Object.keys(parameters).length}`
    parameters[name] = part.value
    text += `{${name}:${part.type}}`
  }
  return { text, parameters }
}

function fragment(parts: readonly (string | Parameter)[]): Sql {
  return { parts } as Sql
}

function isFragment(value: unknown): value is Sql {
  return typeof value === 'object' && value !== null && 'parts' in value
}

const int64Max = 2n ** 63n - 1n

function typeOf(value: Bindable): string {
  switch (typeof value) {
    case 'string':
      return 'String'
    case 'boolean':
      return 'Bool'
    case 'bigint':
      return value > int64Max ? 'UInt64' : 'Int64'
    case 'number':
      if (Number.isSafeInteger(value)) return 'Int64'
      if (Number.isFinite(value) && !Number.isInteger(value)) return 'Float64'
      throw new TypeError(`${value} cannot be bound exactly; use a bigint or typed(...)`)
    default:
      if (value instanceof Date) return "DateTime64(3, 'UTC')"
      if (Array.isArray(value) && value.every((one) => typeof one === 'string')) {
        return 'Array(String)'
      }
      throw new TypeError('sql binds strings, numbers, booleans, dates and lists of strings')
  }
}

function textOf(value: Constant): string {
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&')}'`
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError(`${value} is not a SQL literal`)
  }
  return typeof value === 'object' ? `[${value.map(textOf).join(',')}]` : String(value)
}
