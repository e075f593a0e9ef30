import { trimBlanks } from '../../schemas/field.js'
import { parseQuantity, type Quantity } from '../../schemas/quantity.js'
import { parseRow } from './csv.js'

const newline = 10
const carriageReturn = 13
const quote = 34
const comma = 44
const blank = 32
const tab = 9

/** A row of several lines must end within this many bytes. */
const spanBytesMax = 65_536

/** One row of a file as text. */
export interface RawRow {
  /** Physical line on which it starts; the header is line 1. */
  readonly line: number
  /** Its text without the line end. */
  readonly raw: string
}

/** The position of a row in a block of a file: from `start` to `end`, without its line end. */
export interface RowSpan {
  readonly start: number
  readonly end: number
  /** Where the next row starts. */
  readonly next: number
  /** Physical lines that it covers, more than one if a line break is inside quotes. */
  readonly lines: number
  /** Whether its quotes match by RFC 4180; otherwise the row is one line. */
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

/** The position after the quote that closes a field; undefined if it is not closed. */
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

/** The rows of a block that starts with a row on `line`; blank lines are skipped. */
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
 * Picks the rows on the given physical lines of a block in which each row has one line. Lines ascend
 * over all calls: each call continues where the one before ended.
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

/** The last row of a file that does not end with a line feed. */
export interface UnendedRow extends RawRow {
  /** Whether it ends with a carriage return, so that only the line feed is missing. */
  readonly hasReturn: boolean
}

/** The last row of a block that starts with a row; `nextLine` is the physical line behind the block. */
export function lastRow(bytes: Buffer, nextLine: number): UnendedRow {
  let start = bytes.lastIndexOf(newline, bytes.length - 2) + 1
  if (bytes.includes(quote)) {
    start = 0
    for (let next = 0; next < bytes.length; next = rowSpan(bytes, next).next) start = next
  }
  const { end, lines } = rowSpan(bytes, start)
  const raw = bytes.toString('utf8', start, end)
  return { line: nextLine - lines, raw, hasReturn: bytes[bytes.length - 1] === carriageReturn }
}

/**
 * Where a block may be cut: after its last row that further bytes cannot change; after its last line
 * end if quotes leave no such row; 0 if there is no line end.
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
 * The quantity of a row in the sums of a receipt, accepted or not: its last column, 0 if that is not a
 * plain decimal; extra columns behind it are passed over. A carriage return at the end is ignored as in
 * the CSV parser: a good row counts with the quantity that is stored.
 */
export function lastQuantity(raw: string, extraColumns = 0): Quantity {
  const text = extraColumns === 0 ? lastNumber(raw) : parseRow(raw)?.at(-1 - extraColumns)
  return parseQuantity(trimBlanks(text ?? '')) ?? { micros: 0n, rounded: false }
}

function lastNumber(raw: string): string | undefined {
  const found = lastColumn.exec(raw)
  return found?.[1] ?? found?.[2]
}
