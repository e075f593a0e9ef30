import { trimBlanks } from '../../schemas/field.js'
import type { Measured } from '../../schemas/manifest.js'
import { parseQuantity, parseScaled, type Quantity } from '../../schemas/quantity.js'
import { parseRow } from '../files/csv.js'
import { createDecimalsTally, plainMicros } from '../files/decimals.js'
import { rowSpan } from '../files/rows.js'

const tab = 9
const newline = 10
const carriageReturn = 13
const blank = 32
const quote = 34
const comma = 44

/** The columns of a file that are looked at before its rows are judged. */
export interface MeasuredColumns {
  /** The position of the column by which its feed is proved, or -1. */
  readonly total: number
  /** The position of each column of decimals, and how many decimals of it are kept. */
  readonly decimals: readonly (readonly [position: number, kept: number])[]
  readonly rowBytesMax: number
}

/** Where no text has as many decimals, none is rounded. */
const mayRound = /\.\d{7}/
/** No number is as long. */
const numberBytesMax = 64

/**
 * Counts the rows of a chunk, sums the column by which its feed is proved, and counts the rows of which
 * a value is rounded, from the bytes alone: the judge of rows is held against it.
 */
export function measureRecords(bytes: Buffer, columns: MeasuredColumns): Measured {
  const { total, rowBytesMax } = columns
  const rounding = mayRound.test(bytes.toString('latin1')) ? columns.decimals : []
  const hasQuotes = bytes.includes(quote)
  let lines = 0
  let rows = 0
  let rounded = 0
  let isWhole = true
  const sum = createSum()
  const tally = createDecimalsTally()
  const row: RowPlaces = { end: 0, next: 0, total: [0, 0], last: [0, 0] }
  for (let start = 0; start < bytes.length; start = row.next) {
    const isScanned = scanRow(bytes, { start, total }, row)
    if (isScanned) lines++
    else {
      const span = rowSpan(bytes, start)
      lines += span.lines
      // The engine takes a carriage return at the start of a row for a part of the line end before.
      isWhole &&= !hasQuotes || (span.whole && bytes[start] !== carriageReturn)
      row.end = span.end
      row.next = span.next
    }
    const { end } = row
    if (end === start) continue
    rows++
    const isEnded = end < bytes.length
    const isLong = end - start > rowBytesMax
    isWhole &&= !isLong
    if (!isScanned || isLong || rounding.length > 0) {
      const fields = parseRow(bytes.toString('utf8', start, end))
      sum.addText(fields?.[total])
      tally.seeText(fields?.at(-1), isEnded)
      if (isRounded(fields, rounding)) rounded++
      continue
    }
    const [from, to] = row.total
    const micros = from === -1 ? 0 : plainMicros(bytes, from, to)
    if (micros === undefined) sum.addText(bytes.toString('latin1', from, to))
    else sum.add(micros)
    const [lastFrom, lastTo] = row.last
    if (lastFrom === from && micros !== undefined && lastTo === end) tally.see(bytes, from, to)
    else if (lastTo - lastFrom <= numberBytesMax) {
      tally.seeText(bytes.toString('latin1', lastFrom, lastTo), isEnded)
    }
  }
  const isSplittable = isWhole && (!hasQuotes || rows === lines)
  return {
    lines,
    rows,
    micros: sum.micros().toString(),
    rounded,
    decimals: tally.decimals(),
    format: isSplittable ? (hasQuotes ? 'quoted' : 'lines') : 'unsplittable',
    crlf: false,
    repeats: false,
  }
}

/** Where a row ends, where the next one starts, and where the texts of two of its columns are. */
interface RowPlaces {
  end: number
  next: number
  /** From -1 on where the row does not have it. */
  readonly total: [from: number, to: number]
  readonly last: [from: number, to: number]
}

/**
 * Finds the columns of a row whose quotes enclose whole columns and that is on one line. Any other row needs
 * the parser: false.
 */
function scanRow(
  bytes: Buffer,
  { start, total }: { readonly start: number; readonly total: number },
  row: RowPlaces,
): boolean {
  let hasQuotes = false
  let hasBlanks = false
  row.total[0] = -1
  for (let at = start, column = 0; ; at++, column++) {
    const isQuoted = bytes[at] === quote
    const from = isQuoted ? at + 1 : at
    hasBlanks ||= bytes[at] === blank || bytes[at] === tab
    hasQuotes ||= isQuoted
    const to = isQuoted ? closingQuote(bytes, from) : columnEnd(bytes, from)
    if (to === -1) return false
    at = isQuoted ? to + 1 : to
    if (column === total) {
      row.total[0] = from
      row.total[1] = to
    }
    if (bytes[at] === comma) continue
    row.end = at
    if (bytes[at] === carriageReturn) at++
    if (at < bytes.length && bytes[at] !== newline) return false
    row.next = at + 1
    row.last[0] = from
    row.last[1] = to
    // Blanks beside quotes may be around them.
    return !(hasQuotes && hasBlanks)
  }
}

/** The quote that ends a column from a place on; -1 where the line ends before. */
function closingQuote(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === newline || byte === carriageReturn) return -1
    if (byte !== quote) continue
    if (bytes[at + 1] !== quote) return at
    at++
  }
  return -1
}

/** The end of a column without quotes; -1 where it has one nonetheless. */
function columnEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === comma || byte === newline || byte === carriageReturn) return at
    if (byte === quote) return -1
  }
  return bytes.length
}

/** Whether a row has a decimal with more decimals than are kept. */
function isRounded(
  fields: readonly string[] | undefined,
  decimals: MeasuredColumns['decimals'],
): boolean {
  return decimals.some(([position, kept]) => {
    const text = fields?.[position]
    if (text === undefined || text.length - text.indexOf('.') - 1 <= kept) return false
    return parseScaled(trimBlanks(text), kept)?.rounded
  })
}

const nothing: Quantity = { micros: 0n, rounded: false }

/** What a row counts with in the sums of a receipt, whatever becomes of it. */
export function columnQuantity(fields: readonly string[] | undefined, total: number): Quantity {
  return toQuantity(fields?.[total])
}

function toQuantity(text: string | undefined): Quantity {
  return (text === undefined ? undefined : parseQuantity(trimBlanks(text))) ?? nothing
}

/** Exact integers end at 2^53; the sum goes over into a bigint long before. */
const sumMax = 1e15

function createSum() {
  let micros = 0n
  let small = 0
  return {
    add: (value: number): void => {
      small += value
      if (small < sumMax && small > -sumMax) return
      micros += BigInt(small)
      small = 0
    },
    addText: (text: string | undefined): void => {
      micros += toQuantity(text).micros
    },
    micros: () => micros + BigInt(small),
  }
}
