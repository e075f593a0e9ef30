import { parseQuantity, type Quantity } from '../../schemas/quantity.js'

const newline = 10
const carriageReturn = 13
const quote = 34
const comma = 44
const blank = 32
const tab = 9

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
  /** Whether its quotes match, as RFC 4180 has them; a row of which they do not is one line. */
  readonly whole: boolean
}

/**
 * The row that starts at `start`. A quote opens a field only where the field begins. A line break
 * inside quotes belongs to its row; quotes that do not match within `spanBytesMax` end with their
 * line, so that one bad row does not swallow the rest.
 */
export function rowSpan(bytes: Buffer, start: number): RowSpan {
  let at = start
  let lines = 1
  for (;;) {
    at = skipBlanks(bytes, at)
    if (bytes[at] === quote) {
      const closed = closeQuote(bytes, at + 1, start)
      if (closed === undefined) break
      lines += closed.breaks
      at = skipBlanks(bytes, closed.next)
      if (bytes[at] === carriageReturn) at++
      if (at < bytes.length && bytes[at] !== comma && bytes[at] !== newline) break
    } else {
      while (at < bytes.length && bytes[at] !== comma && bytes[at] !== newline) at++
    }
    if (bytes[at] !== comma) return toSpan(bytes, { start, end: at, lines, whole: true })
    at++
  }
  return toSpan(bytes, { start, end: lineEnd(bytes, start), lines: 1, whole: false })
}

/** The place behind the quote that closes a field; undefined where none does. */
function closeQuote(
  bytes: Buffer,
  from: number,
  rowStart: number,
): { next: number; breaks: number } | undefined {
  let breaks = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === newline) breaks++
    if (breaks > 0 && at - rowStart > spanBytesMax) return undefined
    if (byte !== quote) continue
    if (bytes[at + 1] !== quote) return { next: at + 1, breaks }
    at++
  }
  return undefined
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === blank || bytes[at] === tab) at++
  return at
}

function toSpan(bytes: Buffer, span: Omit<RowSpan, 'next'>): RowSpan {
  const { start, end, lines, whole } = span
  const trimmed = end > start && bytes[end - 1] === carriageReturn ? end - 1 : end
  return { start, end: trimmed, next: end + 1, lines, whole }
}

function lineEnd(bytes: Buffer, start: number): number {
  const found = bytes.indexOf(newline, start)
  return found === -1 ? bytes.length : found
}

/** The rows of a piece of a file that starts at `line`, a row's first byte; blank lines are none. */
export function* splitRows(bytes: Buffer, line: number): Generator<RawRow> {
  if (!bytes.includes(quote)) return yield* splitLines(bytes, line)
  let at = line
  for (let start = 0; start < bytes.length; ) {
    const span = rowSpan(bytes, start)
    if (span.end > span.start) yield { line: at, raw: bytes.toString('utf8', start, span.end) }
    at += span.lines
    start = span.next
  }
}

/** Without quotes a line is a row. */
function* splitLines(bytes: Buffer, line: number): Generator<RawRow> {
  let at = line
  for (let start = 0; start < bytes.length; at++) {
    const found = lineEnd(bytes, start)
    const end = found > start && bytes[found - 1] === carriageReturn ? found - 1 : found
    if (end > start) yield { line: at, raw: bytes.toString('utf8', start, end) }
    start = found + 1
  }
}

/**
 * Picks the rows on the given physical lines of a piece in which no row has several. Lines ascend,
 * over all calls: each goes on where the one before has ended.
 */
export function linePicker(
  bytes: Buffer,
  first: number,
): (wanted: Iterable<number>) => Generator<RawRow> {
  let line = first
  let start = 0
  return function* pick(wanted) {
    for (const target of wanted) {
      for (; line < target; line++) start = lineEnd(bytes, start) + 1
      const span = { start, end: lineEnd(bytes, start), lines: 1, whole: true }
      const { end } = toSpan(bytes, span)
      if (end > start) yield { line, raw: bytes.toString('utf8', start, end) }
    }
  }
}

/** The last row of a piece that starts with a row; empty where nothing stands on the last line. */
export function lastRow(bytes: Buffer): string {
  let start = bytes.lastIndexOf(newline, bytes.length - 2) + 1
  if (bytes.includes(quote)) {
    start = 0
    for (let next = 0; next < bytes.length; next = rowSpan(bytes, next).next) start = next
  }
  return bytes.toString('utf8', start, rowSpan(bytes, start).end)
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

const lastColumn = /(?:^|,)[ \t]*(?:"[ \t]*([0-9.-]+)[ \t]*"|([0-9.-]+))[ \t]*\r?$/

/**
 * The quantity that a row counts with in the sums of a receipt, whatever becomes of it: its last
 * column, 0 where that does not read as a plain decimal. A carriage return at the end is let stand
 * as the CSV parser lets it: a good row counts with the quantity it is stored with.
 */
export function lastQuantity(raw: string): Quantity {
  const found = lastColumn.exec(raw)
  return parseQuantity(found?.[1] ?? found?.[2] ?? '') ?? { micros: 0n, rounded: false }
}
