import { parseQuantity } from '../schemas/quantity.js'

const newline = 10
const carriageReturn = 13
const quote = 34

/** The end of a row that goes over several lines is looked for within so many bytes. */
export const spanBytesMax = 65_536

/** One row of a file, as it stands in it. */
export interface RawRow {
  /** Physical line on which it starts; the header is line 1. */
  readonly line: number
  /** Its text without the line end. */
  readonly raw: string
}

/** Where a row lies in a piece of a file: from `start` to `end`, its line end not included. */
export interface RowSpan {
  readonly start: number
  readonly end: number
  /** Where the next row starts. */
  readonly next: number
  /** Physical lines that it covers, one unless a line break stands inside quotes. */
  readonly lines: number
}

/**
 * The row that starts at `start`. A line break inside quotes belongs to its row; a quote that is
 * not closed within `spanBytesMax` ends with its line, so that one bad row does not swallow the rest.
 */
export function rowSpan(bytes: Buffer, start: number): RowSpan {
  const first = lineEnd(bytes, start)
  if (isClosed(bytes, start, first)) return toSpan(bytes, { start, end: first, lines: 1 })
  const limit = Math.min(bytes.length, start + spanBytesMax)
  let closed = false
  let lines = 1
  for (let from = first + 1, end = first; end < limit; from = end + 1) {
    end = lineEnd(bytes, from)
    lines++
    if (!isClosed(bytes, from, end)) closed = true
    if (closed) return toSpan(bytes, { start, end, lines })
  }
  return toSpan(bytes, { start, end: first, lines: 1 })
}

function toSpan(bytes: Buffer, span: { start: number; end: number; lines: number }): RowSpan {
  const { start, end, lines } = span
  const trimmed = end > start && bytes[end - 1] === carriageReturn ? end - 1 : end
  return { start, end: trimmed, next: end + 1, lines }
}

function lineEnd(bytes: Buffer, start: number): number {
  const found = bytes.indexOf(newline, start)
  return found === -1 ? bytes.length : found
}

/** Whether an even number of quotes stands between `start` and `end`. */
function isClosed(bytes: Buffer, start: number, end: number): boolean {
  let quotes = 0
  for (let at = bytes.indexOf(quote, start); at !== -1 && at < end; ) {
    quotes++
    at = bytes.indexOf(quote, at + 1)
  }
  return quotes % 2 === 0
}

/** The rows of a piece of a file that starts at `line`, a row's first byte; blank lines are none. */
export function* splitRows(bytes: Buffer, line: number): Generator<RawRow> {
  let at = line
  for (let start = 0; start < bytes.length; ) {
    const span = rowSpan(bytes, start)
    if (span.end > span.start) yield { line: at, raw: bytes.toString('utf8', start, span.end) }
    at += span.lines
    start = span.next
  }
}

/** The rows on the given physical lines, ascending, of a piece in which no row has several. */
export function* pickLines(
  bytes: Buffer,
  first: number,
  wanted: readonly number[],
): Generator<RawRow> {
  let line = first
  let start = 0
  for (const target of wanted) {
    for (; line < target; line++) start = lineEnd(bytes, start) + 1
    const { end } = toSpan(bytes, { start, end: lineEnd(bytes, start), lines: 1 })
    if (end > start) yield { line, raw: bytes.toString('utf8', start, end) }
  }
}

/**
 * Where a piece may be cut: behind its last row that no further bytes can change; behind its last
 * line end where quotes leave no such row; 0 where there is no line end.
 */
export function cutPoint(bytes: Buffer): number {
  const lastLineEnd = bytes.lastIndexOf(newline) + 1
  if (!bytes.includes(quote)) return lastLineEnd
  let cut = 0
  for (let start = 0; start + spanBytesMax < bytes.length; ) {
    start = rowSpan(bytes, start).next
    if (start <= bytes.length) cut = start
  }
  return cut === 0 ? lastLineEnd : cut
}

const lastColumn = /(?:^|,)[ \t]*(?:"[ \t]*([0-9.-]+)[ \t]*"|([0-9.-]+))[ \t]*$/

/**
 * The quantity that a row counts with in the sums of a receipt, whatever becomes of it: its last
 * column in millionths, 0 where that does not read as a plain decimal.
 */
export function lastMicros(raw: string): bigint {
  const found = lastColumn.exec(raw)
  return parseQuantity(found?.[1] ?? found?.[2] ?? '')?.micros ?? 0n
}
