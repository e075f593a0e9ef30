import { Fault } from '../../../schemas/fault.js'
import type {
  CsvColumn,
  CsvIdentifier,
  CsvSettings,
} from '../../../schemas/settings/formats/csv.js'

/** Where a row has what is mapped; indices are from 0. */
export interface MappedColumns {
  readonly meter: (fields: readonly string[]) => string
  readonly account: (fields: readonly string[]) => string
  readonly site: (fields: readonly string[]) => string
  readonly time: number
  readonly timeOfDay: number | undefined
  readonly intervalNumber: number | undefined
  /** The only value of a row, or the first one. */
  readonly value: number
  readonly values: number
  readonly received: number | undefined
  readonly generation: number | undefined
  readonly quality: number | undefined
  /** Why a row is not one of `columns.expected`; undefined where it is. */
  readonly unexpected: (fields: readonly string[]) => string | undefined
}

/**
 * Finds the mapped columns in the header of a file, or in the first row of one without header. Throws
 * `HEADER` with the setting and the column that is not there, or is there twice.
 */
export function mapColumns(
  { columns, header }: Pick<CsvSettings, 'columns' | 'header'>,
  found: readonly string[],
  line: number,
): MappedColumns {
  const names = found.map((name) => name.trim().toLowerCase())
  const refuse = (setting: string, what: string): Fault => {
    const shown = header
      ? `; line ${line} has ${shownNames(found)}`
      : `; line ${line} has ${found.length}`
    const detail = `columns.${setting}: ${what}${shown}; fix the mapping, skipLines or delimiter`
    return new Fault('HEADER', detail)
  }
  const find = (setting: string, column: CsvColumn): number => {
    if (typeof column === 'number') {
      if (column <= found.length) return column - 1
      throw refuse(setting, `no column at position ${column}`)
    }
    const at = names.indexOf(column.trim().toLowerCase())
    if (at === -1) throw refuse(setting, `no column ${JSON.stringify(column)}`)
    if (at === names.lastIndexOf(names[at] as string)) return at
    throw refuse(setting, `more than one column ${JSON.stringify(column)}`)
  }
  const join = (setting: string, from: CsvIdentifier): MappedColumns['meter'] => {
    if (typeof from === 'object' && 'constant' in from) return () => from.constant
    const places = [from].flat().map((column) => find(setting, column))
    const [only] = places
    if (only !== undefined && places.length === 1) return (fields) => textOf(fields[only])
    return (fields) => {
      const parts = places.map((at) => textOf(fields[at]))
      return parts.includes('') ? '' : parts.join('-')
    }
  }
  const optional = (setting: string, column: CsvColumn | undefined) =>
    column === undefined ? undefined : find(setting, column)
  const { meter, account = meter, site = meter, quantity, values } = columns
  const first = quantity ?? values?.from ?? ''
  const mapped = {
    meter: join('meter', meter),
    account: join('account', account),
    site: join('site', site),
    time: find('time', columns.time),
    timeOfDay: optional('timeOfDay', columns.timeOfDay),
    intervalNumber: optional('intervalNumber', columns.intervalNumber),
    value: find(values === undefined ? 'quantity' : 'values.from', first),
    values: values?.count ?? 1,
    received: optional('received.column', columns.received?.column),
    generation: optional('generation.column', columns.generation?.column),
    quality: optional('quality.column', columns.quality?.column),
    unexpected: toUnexpected(
      (columns.expected ?? []).map((one) => ({ ...one, at: find('expected', one.column) })),
    ),
  }
  if (mapped.value + mapped.values <= found.length) {
    // The names of flags may be numbered as those of the values are.
    const own = names.slice(mapped.value, mapped.value + mapped.values).map(unnumbered)
    const often = header
      ? own.filter((name) => runsOf(name, own) > Math.max(2, own.length / 4))
      : []
    const flag = often.find((name) => name !== own[0]) ?? often[0]
    if (flag === undefined) return mapped
    const what = `from ${JSON.stringify(first)} on are ${JSON.stringify(flag)}, between the values`
    throw refuse('values', `${runsOf(flag, own)} of ${own.length} columns ${what}`)
  }
  throw refuse(
    'values.count',
    `${mapped.values} columns from ${JSON.stringify(first)} on are too many`,
  )
}

type Expected = NonNullable<CsvSettings['columns']['expected']>[number]

function toUnexpected(
  expected: readonly (Expected & { readonly at: number })[],
): MappedColumns['unexpected'] {
  return (fields) => {
    for (const { column, is, at } of expected) {
      const text = textOf(fields[at])
      if (is.includes(text)) continue
      const which = typeof column === 'number' ? `at position ${column}` : JSON.stringify(column)
      const listed = is.map((one) => JSON.stringify(one)).join(', ')
      const found = JSON.stringify(text.slice(0, 40))
      return `the column ${which} has ${found}, but columns.expected lists ${listed}`
    }
    return undefined
  }
}

function unnumbered(name: string): string {
  return name.replace(/\d+/g, '#')
}

/** How many runs a name has: that of flags beside the values has many, that of all values one. */
function runsOf(name: string, names: readonly string[]): number {
  return name === '' ? 0 : names.filter((one, at) => one === name && names[at - 1] !== name).length
}

/** Whether the first text of a line begins with one of these, as a whole word in any case. */
export function isLeftOutLine(fields: readonly string[], texts: readonly string[]): boolean {
  if (texts.length === 0) return false
  const first = fields
    .find((field) => field.trim() !== '')
    ?.trim()
    .toLowerCase()
  return texts.some((text) => {
    return first?.startsWith(text.toLowerCase()) && !/^[\p{L}\p{N}]/u.test(first.slice(text.length))
  })
}

/** Spreadsheets are given `="0012"` so that they keep the zeros of a text. */
function textOf(field = ''): string {
  const text = field.trim()
  return /^="([^"]*)"$/.exec(text)?.[1]?.trim() ?? text
}

const namesMax = 20

/** Without a header this is a row, whose numbers may be personal data. */
function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, namesMax).map((name) => {
    return name
      .trim()
      .slice(0, 40)
      .replace(/\d+/g, '#')
      .replace(/[^\x20-\x7E]/g, '?')
  })
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : ''
  return `${shown.join(', ') || 'nothing'}${more}`
}

/** The fields of a line, with quotes as RFC 4180 has them; undefined where they do not match. */
export function splitFields(text: string, delimiter: string): readonly string[] | undefined {
  if (!text.includes('"')) return text.split(delimiter)
  const fields: string[] = []
  for (let at = 0; ; at++) {
    const quoted = /^ *"/.exec(text.slice(at, at + 100))?.[0].length ?? 0
    if (quoted === 0) {
      const end = text.indexOf(delimiter, at)
      fields.push(text.slice(at, end === -1 ? text.length : end))
      if (end === -1) return fields
      at = end
      continue
    }
    let end = text.indexOf('"', at + quoted)
    while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2)
    if (end === -1) return undefined
    fields.push(text.slice(at + quoted, end).replaceAll('""', '"'))
    at = end + 1
    while (text[at] === ' ') at++
    if (at >= text.length) return fields
    if (text[at] !== delimiter) return undefined
  }
}
