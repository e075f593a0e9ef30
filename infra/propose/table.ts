import { splitFields } from '../../pipeline/formats/csv/columns.js'
import { normalTime, withLongYear } from '../../pipeline/formats/csv/times.js'
import { Fault } from '../../schemas/fault.js'
import { detectFormat } from '../../schemas/time/timestamp.js'
import type { SentSample } from './sample.js'
import { columnWords, toWord } from './words.js'

export type Delimiter = ',' | ';' | '|' | 'tab'

/** The lines of a sample as rows of one width. */
export interface Table {
  readonly delimiter: Delimiter
  /** Physical lines above the header line, or above the first row. */
  readonly skipLines: number
  readonly preamble: readonly string[]
  /** Undefined where the first line is a row. */
  readonly header: readonly string[] | undefined
  readonly width: number
  /** With years of four digits. */
  readonly rows: readonly (readonly string[])[]
  readonly yearDigits: 2 | 4
  /** Lines behind the first row that have another number of columns, such as totals at the end. */
  readonly others: readonly SplitLine[]
  /** Lines behind the first row that begin like totals and have no time. */
  readonly totals: readonly SplitLine[]
}

/** A comma may be a decimal comma, so the others go first. */
const delimiters: readonly Delimiter[] = [';', 'tab', '|', ',']
/** More than one for each minute of a day of 25 hours. */
const columnsMax = 2_000
/** Lines that show the delimiter. */
const shownLines = 1_000

/** The rows of samples of one layout. Throws `CONFIG` where they have several, and the faults of `toTable`. */
export function toOneTable(samples: readonly SentSample[]): Table {
  const tables = samples.map(({ lines, path }) => toTable(lines, path))
  const [first, ...more] = tables as [Table, ...Table[]]
  const shape = ({ delimiter, header, width, skipLines, yearDigits }: Table) =>
    JSON.stringify([delimiter, header, width, skipLines, yearDigits])
  const other = more.findIndex((one) => shape(one) !== shape(first))
  if (other !== -1) {
    const [one, two] = [samples[0], samples[other + 1]].map((sample) => sample?.name)
    throw new Fault('CONFIG', `${one} and ${two} have other columns: propose them one by one`)
  }
  return {
    ...first,
    rows: tables.flatMap(({ rows }) => rows),
    others: tables.flatMap(({ others }) => others),
    totals: tables.flatMap(({ totals }) => totals),
  }
}

interface SplitLine {
  readonly line: number
  readonly text: string
  readonly fields: readonly string[] | undefined
}

/** Finds delimiter, header and rows. Throws `HEADER` where the lines have no columns. */
function toTable(lines: readonly string[], path: string): Table {
  const shown = lines.slice(0, shownLines).filter((line) => line.trim() !== '')
  const found = delimiters.map((delimiter) => ({ delimiter, ...commonest(shown, delimiter) }))
  const best = found.reduce((one, other) => (other.lines > one.lines ? other : one))
  if (best.width < 2) {
    throw new Fault('HEADER', `${path} has no columns separated by a comma, semicolon, bar or tab`)
  }
  const { delimiter } = best
  if (best.width > columnsMax) {
    const detail = `${path} has ${best.width} columns; at most ${columnsMax} are looked at`
    throw new Fault('HEADER', detail)
  }
  const split = lines.map((text, at) => ({ line: at + 1, text, fields: fieldsOf(text, delimiter) }))
  const width = widthOf(split, best.width)
  const sent = split.map((one) => withoutEnd(one, width))
  const isRow = ({ fields }: SplitLine) => fields?.length === width
  const firstBy = (read: (field: string) => string) =>
    sent.findIndex((one) => isRow(one) && isData(one.fields?.map(read) ?? []))
  const headerAbove = (at: number) => {
    const above = sent.slice(0, at).findLast(({ text }) => text.trim() !== '')
    return above !== undefined && isRow(above) && isHeader(above.fields ?? []) ? above : undefined
  }
  const asLong = firstBy(withLongYear)
  const short =
    asLong === -1 ? [] : shortColumns(sent.slice(asLong).filter(isRow), headerAbove(asLong))
  const first = short.length > 0 ? asLong : firstBy((field) => field)
  if (first === -1) {
    const remedy = 'send a sample with rows that have a date or time, and a number'
    throw new Fault('NO_ROWS', `${path} has no row with a date and a number; ${remedy}`)
  }
  const header = headerAbove(first)
  const below = sent.slice(first).filter(({ text }) => text.trim() !== '')
  const behind = below.filter((one) => !isOfTotals(one))
  const skipLines = header === undefined ? first : header.line - 1
  return {
    delimiter,
    skipLines,
    preamble: lines.slice(0, skipLines),
    header: header?.fields?.map((name) => name.trim()),
    width,
    yearDigits: short.length > 0 ? 2 : 4,
    rows: behind.filter(isRow).map(({ fields = [] }) => {
      return fields.map((field, at) => (short.includes(at) ? withLongYear(field) : field).trim())
    }),
    others: behind.filter((one) => !isRow(one)),
    totals: below.filter(isOfTotals),
  }
}

const totalsWords =
  /^((grand|sub) ?)?(total[es]?|totaal|totalt|sum|summ[ae]|suma|somme|zwischensumme|insgesamt|gesamt[a-z]*)(?![\p{L}\p{N}])/iu

/** The word with which totals begin; undefined for other lines. */
export function totalsWord({ fields = [] }: SplitLine): string | undefined {
  const first = fields.find((field) => field.trim() !== '')
  return totalsWords.exec(first?.trim() ?? '')?.[0]
}

function isOfTotals(sent: SplitLine): boolean {
  return totalsWord(sent) !== undefined && !sent.fields?.some((field) => isTime(field.trim()))
}

/** The width of the header, where rows have only empty fields behind it, as with a delimiter at their end. */
function widthOf(lines: readonly SplitLine[], width: number): number {
  const rows = lines.filter(({ fields }) => fields?.length === width)
  const first = rows.find(({ fields = [] }) => isData(fields.map(withLongYear)))
  const above = lines.findLast(({ line, text }) => line < (first?.line ?? 0) && text.trim() !== '')
  const names = above?.fields ?? []
  if (names.length < 2 || names.length >= width || !isHeader(names)) return width
  const isEmptyBehind = rows.every(({ fields = [] }) =>
    fields.slice(names.length).every((field) => field.trim() === ''),
  )
  return isEmptyBehind ? names.length : width
}

function withoutEnd(sent: SplitLine, width: number): SplitLine {
  const { fields } = sent
  if (fields === undefined || fields.length <= width) return sent
  const isEmptyBehind = fields.slice(width).every((field) => field.trim() === '')
  return isEmptyBehind ? { ...sent, fields: fields.slice(0, width) } : sent
}

function hasShortYear(text: string): boolean {
  return withLongYear(text) !== text
}

/** Of a column of dates, at least so many fields are one. */
const datesMin = 0.9

/**
 * Places of columns whose dates have years of two digits: none where another column has dates of four. A
 * column that is named as an identifier is one only where no other is.
 */
function shortColumns(
  rows: readonly SplitLine[],
  header: SplitLine | undefined,
): readonly number[] {
  const fieldsAt = (at: number, count: number) =>
    rows.slice(0, count).map(({ fields = [] }) => (fields[at] as string).trim())
  const isDate = (text: string) => hasShortYear(text) || (isTime(text) && !/^\d+$/.test(text))
  const dates = (rows[0]?.fields ?? []).flatMap((_, at) => {
    const texts = fieldsAt(at, shownLines).filter((text) => text !== '')
    if (texts.length === 0 || !texts.slice(0, 10).some(isDate)) return []
    return texts.filter(isDate).length < datesMin * texts.length ? [] : [at]
  })
  const short = dates.filter((at) => fieldsAt(at, rows.length).some(hasShortYear))
  if (short.length < dates.length) return []
  const others = short.filter((at) => !isIdentifier(toWord(header?.fields?.[at] ?? '')))
  return others.length > 0 ? others : short
}

function isIdentifier(word: string): boolean {
  const { meter, account, site } = columnWords
  return [meter, account, site].some((words) => words.test(word))
}

/** The commonest number of columns, and how many lines have it. */
function commonest(
  lines: readonly string[],
  delimiter: Delimiter,
): { readonly width: number; readonly lines: number } {
  const counts = new Map<number, number>()
  for (const line of lines) {
    const width = fieldsOf(line, delimiter)?.length ?? 1
    if (width > 1) counts.set(width, (counts.get(width) ?? 0) + 1)
  }
  let best = { width: 1, lines: 0 }
  for (const [width, count] of counts) if (count > best.lines) best = { width, lines: count }
  return best
}

function fieldsOf(line: string, delimiter: Delimiter): readonly string[] | undefined {
  return splitFields(line, delimiter === 'tab' ? '\t' : delimiter)
}

const number = /^[+\u2212-]?(\d[\d.,'\u2019\s]*|[.,]\d+)$/

export function isNumber(text: string): boolean {
  return number.test(text)
}

/** Digits alone are a date only where they are one of 1900 to 2099: `20260328`, `202603281315`. */
const digitDate = /^(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])(([01]\d|2[0-4])[0-5]\d([0-5]\d)?)?$/

/** Whether a text is a date, with or without a time, as the loader reads it. */
export function isTime(text: string): boolean {
  if (/^\d+$/.test(text) && !digitDate.test(text)) return false
  return detectFormat(normalTime(text)) !== undefined || /^[\d./-]+[T ]24:00(:00)?$/.test(text)
}

function isData(fields: readonly string[]): boolean {
  const texts = fields.map((field) => field.trim())
  const times = texts.filter(isTime)
  return times.length > 0 && texts.filter(isNumber).length > times.filter(isNumber).length
}

function isHeader(fields: readonly string[]): boolean {
  const names = fields.map((field) => field.trim()).filter((name) => name !== '')
  const isText = names.every((name) => !isTime(name) && !/^-?\d+[.,]\d+$/.test(name))
  return names.length > fields.length / 2 && isText && names.some((name) => /\p{L}/u.test(name))
}
