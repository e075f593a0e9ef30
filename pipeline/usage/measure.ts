import { isAscii } from 'node:buffer'
import type { ChunkFormat, Decimals } from '../../schemas/manifest.js'
import type { Quantity } from '../../schemas/quantity.js'
import { parseRow } from '../files/csv.js'
import { createDecimalsTally, type DecimalsTally } from '../files/decimals.js'
import { lastQuantity, rowSpan } from '../files/rows.js'
import type { SeenTimestamps } from './timestamps.js'

const newline = 10
const carriageReturn = 13
const blank = 32
const comma = 44
const quote = 34
const point = 46
const minus = 45
const zero = 48

/** What the bytes themselves say of a chunk, before the engine has seen it. */
export interface Measure {
  readonly lines: number
  /** Rows: lines with something on them, line breaks inside quotes not counted. */
  readonly rows: number
  /** Sum of the last column of every row where it reads as a plain decimal, in millionths. */
  readonly micros: bigint
  /** Rows whose last column has more decimals than are kept. */
  readonly rounded: number
  readonly decimals: Decimals
  readonly format: ChunkFormat
  /** Whether some row ends in CR LF. */
  readonly crlf: boolean
}

/**
 * Counts rows and energy of a chunk of whole rows, so that what the engine later says it judged
 * can be held against what came in, and shows timestamps to `timestamps`.
 */
export function measure(bytes: Buffer, timestamps: SeenTimestamps, extraColumns = 0): Measure {
  const by = bytes.includes(quote) ? measureQuoted : measureLines
  return by(bytes, timestamps, extraColumns)
}

/**
 * Identifiers with blanks around them, of a spreadsheet or a formula, may hold one of these, or a
 * character beyond ASCII.
 */
const finePrint = [' ,', '+', 'E-', 'e-', '=', '@', '\x7f'].map((text) => Buffer.from(text))

/** What a core has in its cache while it looks for one after the other. */
const blockBytes = 262_144

function hasFinePrint(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += blockBytes) {
    // One byte more: a text of two may lie across the end.
    const block = bytes.subarray(at, at + blockBytes + 1)
    if (!isAscii(block) || finePrint.some((text) => block.includes(text))) return true
  }
  return false
}

/**
 * Where the next control character is from a place on, at the latest the end. Four bytes at a time: a
 * word has a byte below 0x20 where subtracting borrows from the high bit. Bytes that are not aligned
 * have no words.
 */
function nextControl(bytes: Buffer, words: Int32Array, from: number): number {
  let at = from
  for (; at % 4 !== 0; at++) if (at >= bytes.length || (bytes[at] as number) < blank) return at
  for (let place = at >> 2; place < words.length; place++, at += 4) {
    const word = words[place] as number
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) break
  }
  while (at < bytes.length && (bytes[at] as number) >= blank) at++
  return at
}

function wordsOf({ buffer, byteOffset, length }: Buffer): Int32Array {
  const isAligned = byteOffset % 4 === 0
  return new Int32Array(buffer, isAligned ? byteOffset : 0, isAligned ? length >> 2 : 0)
}

/** Exact integers end at 2^53; the running sum goes over into a bigint long before. */
const sumMax = 1e15

/**
 * One pass forward and a few steps back for each row: some 30 ns. Identifiers must not have anything but
 * ASCII, nor a control character, which none but a line end may be.
 */
function measureLines(bytes: Buffer, timestamps: SeenTimestamps, extraColumns: number): Measure {
  let lines = 0
  let rows = 0
  let sum = 0
  let micros = 0n
  let rounded = 0
  const tally = createDecimalsTally()
  let isPlain = !hasFinePrint(bytes)
  let crlf = false
  const words = wordsOf(bytes)
  for (let start = 0, at = 0; start < bytes.length; start = at + 1) {
    at = nextControl(bytes, words, start)
    while (at < bytes.length && bytes[at] !== newline) {
      if (bytes[at] !== carriageReturn || bytes[at + 1] !== newline) isPlain = false
      at = nextControl(bytes, words, at + 1)
    }
    lines++
    const isTrimmed = at > start && bytes[at - 1] === carriageReturn
    const end = isTrimmed ? at - 1 : at
    crlf ||= isTrimmed
    if (end === start) continue
    if (bytes[start] === blank || bytes[start] === minus) isPlain = false
    let to = end
    for (let passed = 0; passed < extraColumns; passed++) to = lastComma(bytes, start, to)
    const last = lastComma(bytes, start, to)
    const value = last < start ? undefined : plainMicros(bytes, last + 1, to)
    if (value === undefined) {
      const quantity = lastQuantity(bytes.toString('utf8', start, end), extraColumns)
      micros += quantity.micros
      if (quantity.rounded) rounded++
      tally.seeText(bytes.toString('latin1', last + 1, to), to < bytes.length)
      isPlain = false
    } else {
      sum += value
      tally.see(bytes, last + 1, to)
    }
    if (sum > sumMax || sum < -sumMax) {
      micros += BigInt(sum)
      sum = 0
    }
    if (isLookedAt(rows)) seeTimestamp(bytes, { start, end, extraColumns }, timestamps)
    rows++
  }
  const format = isPlain ? 'plain' : 'lines'
  const decimals = tally.decimals()
  return { lines, rows, micros: micros + BigInt(sum), rounded, decimals, format, crlf }
}

/**
 * The timestamps of the first rows of a chunk are looked at, and those of one row in so many: a prime,
 * so that no rhythm of meters and hours hides any for long. The engine finds those that are left.
 */
const firstRows = 200
const timestampStride = 101

function isLookedAt(row: number): boolean {
  return row < firstRows || row % timestampStride === 0
}

function measureQuoted(bytes: Buffer, timestamps: SeenTimestamps, extraColumns: number): Measure {
  let lines = 0
  let rows = 0
  let micros = 0n
  let rounded = 0
  const tally = createDecimalsTally()
  let isWhole = true
  let crlf = false
  for (let start = 0; start < bytes.length; ) {
    const span = rowSpan(bytes, start)
    const { end } = span
    lines += span.lines
    // The engine takes a carriage return at the start of a row for a part of the line end before.
    isWhole &&= span.whole && bytes[start] !== carriageReturn
    crlf ||= bytes[end] === carriageReturn
    if (end > start) {
      const quantity =
        quotedQuantity(bytes, { start, end, extraColumns }, tally) ??
        lastOf(bytes, { start, end, extraColumns }, tally)
      micros += quantity.micros
      if (quantity.rounded) rounded++
      if (isLookedAt(rows)) seeTimestamp(bytes, { start, end, extraColumns }, timestamps)
      rows++
    }
    start = span.next
  }
  const format = isWhole && rows === lines ? 'quoted' : 'unsplittable'
  return { lines, rows, micros, rounded, decimals: tally.decimals(), format, crlf }
}

interface Bounds {
  readonly start: number
  readonly end: number
  readonly extraColumns: number
}

function quotedQuantity(
  bytes: Buffer,
  { start, end, extraColumns }: Bounds,
  tally: DecimalsTally,
): Quantity | undefined {
  if (extraColumns > 0) return undefined
  const from = lastComma(bytes, start, end) + 1
  if (from === start) return undefined
  const inner = end - from > 2 && bytes[from] === quote && bytes[end - 1] === quote ? 1 : 0
  const micros = plainMicros(bytes, from + inner, end - inner)
  if (micros === undefined) return undefined
  tally.see(bytes, from + inner, end - inner)
  return { micros: BigInt(micros), rounded: false }
}

function lastOf(
  bytes: Buffer,
  { start, end, extraColumns }: Bounds,
  tally: DecimalsTally,
): Quantity {
  const raw = bytes.toString('utf8', start, end)
  tally.seeText(parseRow(raw)?.at(-1), end < bytes.length)
  return lastQuantity(raw, extraColumns)
}

/** Shows the timestamp of a row, if it has the five columns. */
function seeTimestamp(
  bytes: Buffer,
  { start, end, extraColumns }: Bounds,
  timestamps: SeenTimestamps,
): void {
  const fields = parseRow(bytes.toString('utf8', start, end))
  if (fields?.length === 5 + extraColumns) timestamps.see(fields[3] as string)
}

/** The last comma of a row; the place before its start where it has none. */
function lastComma(bytes: Buffer, start: number, end: number): number {
  let at = end - 1
  while (at >= start && bytes[at] !== comma) at--
  return at
}

/** What millionths one unit of a number with so many decimals is. */
const scales = [1e6, 1e5, 1e4, 1e3, 100, 10, 1] as const
const microsMax = 1e15
const digitsMax = 15

/**
 * Millionths of a decimal; undefined where it is not as plain as `-12.345678`, or not small enough
 * to be exact.
 */
function plainMicros(bytes: Buffer, start: number, end: number): number | undefined {
  const from = bytes[start] === minus ? start + 1 : start
  let value = 0
  let pointAt = end
  for (let at = from; at < end; at++) {
    const digit = (bytes[at] as number) - zero
    if (digit >= 0 && digit <= 9) value = value * 10 + digit
    else if (bytes[at] === point && pointAt === end) pointAt = at
    else return undefined
  }
  const isWhole = pointAt === end
  const digits = end - from - (isWhole ? 0 : 1)
  const decimals = isWhole ? 0 : end - 1 - pointAt
  if (digits === 0 || digits > digitsMax || decimals > 6) return undefined
  if (!isWhole && decimals === 0) return undefined
  const micros = value * (scales[decimals] as number)
  if (micros > microsMax) return undefined
  return from > start ? -micros : micros
}
