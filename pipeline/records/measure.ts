import { trimBlanks } from '../../schemas/field.js'
import type { Measured } from '../../schemas/manifest.js'
import { parseQuantity, parseScaled, type Quantity } from '../../schemas/quantity.js'
import { parseRow, rowCharactersMax } from '../files/csv.js'
import { createDecimalsTally } from '../files/decimals.js'
import { rowSpan } from '../files/rows.js'

const newline = 10
const carriageReturn = 13
const comma = 44
const quote = 34

/** The columns of a file that are looked at before its rows are judged. */
export interface MeasuredColumns {
  /** The position of the column by which its feed is proved, or -1. */
  readonly total: number
  /** The position of each column of decimals, and how many decimals of it are kept. */
  readonly decimals: readonly (readonly [position: number, kept: number])[]
}

/** Where no text has as many decimals, none is rounded. */
const mayRound = /\.\d{7}/

/**
 * Counts the rows of a chunk, sums the column by which its feed is proved, and counts the rows of which
 * a value is rounded, from the bytes alone: the judge of rows is held against it.
 */
export function measureRecords(bytes: Buffer, { total, decimals }: MeasuredColumns): Measured {
  const rounding = decimals.length > 0 && mayRound.test(bytes.toString('latin1')) ? decimals : []
  const measure = bytes.includes(quote) ? measureQuoted : measureLines
  const counted = measure(bytes, { total, decimals: rounding })
  return { ...counted, micros: counted.micros.toString(), crlf: false, repeats: false }
}

/** Whether a row has a decimal with more decimals than are kept. */
function isRounded(
  fields: readonly string[] | undefined,
  decimals: MeasuredColumns['decimals'],
): boolean {
  return decimals.some(([position, kept]) => {
    const text = fields?.[position]
    return text !== undefined && parseScaled(trimBlanks(text), kept)?.rounded
  })
}

function measureLines(bytes: Buffer, { total, decimals }: MeasuredColumns) {
  let lines = 0
  let rows = 0
  const sum = createSum()
  const tally = createDecimalsTally()
  for (let start = 0, at = 0; start < bytes.length; start = at + 1) {
    const found = bytes.indexOf(newline, start)
    at = found === -1 ? bytes.length : found
    lines++
    const end = at > start && bytes[at - 1] === carriageReturn ? at - 1 : at
    if (end === start) continue
    rows++
    if (total >= 0) sum.add(fieldOf(bytes, { start, end }, total))
    if (decimals.length > 0) {
      sum.round(isRounded(parseRow(bytes.toString('utf8', start, end)), decimals))
    }
    tally.seeText(lastOf(bytes, start, end), end < bytes.length)
  }
  return { lines, rows, ...sum.ended(), decimals: tally.decimals(), format: 'lines' as const }
}

function measureQuoted(bytes: Buffer, { total, decimals }: MeasuredColumns) {
  let lines = 0
  let rows = 0
  const sum = createSum()
  const tally = createDecimalsTally()
  for (let start = 0; start < bytes.length; ) {
    const span = rowSpan(bytes, start)
    lines += span.lines
    if (span.end > start) {
      rows++
      const fields = parseRow(bytes.toString('utf8', start, span.end))
      if (total >= 0) sum.add(fields?.[total])
      sum.round(isRounded(fields, decimals))
      tally.seeText(fields?.at(-1), span.end < bytes.length)
    }
    start = span.next
  }
  const written = tally.decimals()
  return { lines, rows, ...sum.ended(), decimals: written, format: 'unsplittable' as const }
}

/** No number is as long as what is cut off here. */
const numberCharactersMax = 64

function lastOf(bytes: Buffer, start: number, end: number): string | undefined {
  const from = Math.max(start, end - numberCharactersMax)
  const at = bytes.subarray(from, end).lastIndexOf(comma)
  return at === -1 ? undefined : bytes.toString('latin1', from + at + 1, end)
}

const nothing: Quantity = { micros: 0n, rounded: false }

/** What a row counts with in the sums of a receipt, whatever becomes of it. */
export function columnQuantity(fields: readonly string[] | undefined, total: number): Quantity {
  return toQuantity(fields?.[total])
}

function toQuantity(text: string | undefined): Quantity {
  return (text === undefined ? undefined : parseQuantity(trimBlanks(text))) ?? nothing
}

function createSum() {
  const sum = { micros: 0n, rounded: 0 }
  return {
    add: (text: string | undefined): void => {
      sum.micros += toQuantity(text).micros
    },
    round: (rounded: boolean): void => {
      if (rounded) sum.rounded++
    },
    ended: () => sum,
  }
}

/**
 * The text between two commas of a row without quotes; undefined where it has fewer columns. A row
 * that may be too long is taken apart as its judge does it.
 */
function fieldOf(
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  column: number,
): string | undefined {
  if (end - start > rowCharactersMax) return parseRow(bytes.toString('utf8', start, end))?.[column]
  let from = start
  for (let passed = 0; passed < column; passed++) {
    const found = bytes.indexOf(comma, from)
    if (found === -1 || found >= end) return undefined
    from = found + 1
  }
  const to = bytes.indexOf(comma, from)
  return bytes.toString('latin1', from, to === -1 || to > end ? end : to)
}
