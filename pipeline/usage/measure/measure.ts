import type { ChunkFormat, Decimals } from '../../../schemas/manifest.js'
import type { Quantity } from '../../../schemas/quantity.js'
import { parseRow } from '../../files/csv.js'
import { createDecimalsTally, type DecimalsTally, plainMicros } from '../../files/decimals.js'
import { lastQuantity, rowSpan } from '../../files/rows.js'
import type { SeenTimestamps } from '../timestamps.js'
import { countPlain } from './plain-rows.js'

const newline = 10
const carriageReturn = 13
const comma = 44
const quote = 34

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

export interface MeasureRules {
  readonly extraColumns?: number
  /** A chunk with a longer row is judged row by row: the engine does not see how long a row is. */
  readonly rowBytesMax?: number
}

/**
 * Counts rows and energy of a chunk of whole rows, so that what the engine later says it judged
 * can be held against what came in, and shows timestamps to `timestamps`.
 */
export function measure(
  bytes: Buffer,
  timestamps: SeenTimestamps,
  { extraColumns = 0, rowBytesMax = Number.POSITIVE_INFINITY }: MeasureRules = {},
): Measure {
  const rules = { extraColumns, rowBytesMax }
  const plain = measurePlain(bytes, timestamps, rules)
  if (plain !== undefined) return plain
  const measureRows = bytes.includes(quote) ? measureQuoted : measureLines
  return measureRows(bytes, timestamps, rules)
}

/** Fails at the first row that is not plain, which costs no more than the rows before it. */
function measurePlain(
  bytes: Buffer,
  timestamps: SeenTimestamps,
  { extraColumns, rowBytesMax }: Required<MeasureRules>,
): Measure | undefined {
  const rules = { extraColumns, rowBytesMax, firstRows, stride: timestampStride }
  const counted = countPlain(bytes, rules, (start) => {
    const { end } = lineAt(bytes, start)
    seeTimestamp(bytes, { start, end, extraColumns }, timestamps)
  })
  return counted && { ...counted, rounded: 0, format: 'plain' }
}

interface Line {
  /** Without the line end. */
  readonly end: number
  /** Where the next line starts. */
  readonly next: number
}

function lineAt(bytes: Buffer, start: number): Line {
  const found = bytes.indexOf(newline, start)
  const at = found === -1 ? bytes.length : found
  const isTrimmed = at > start && bytes[at - 1] === carriageReturn
  return { end: isTrimmed ? at - 1 : at, next: at + 1 }
}

/** Exact integers end at 2^53; the running sum goes over into a bigint long before. */
const sumMax = 1e15

/** Rows of which each is one line, and some are not plain. */
function measureLines(
  bytes: Buffer,
  timestamps: SeenTimestamps,
  { extraColumns, rowBytesMax }: Required<MeasureRules>,
): Measure {
  let lines = 0
  let rows = 0
  let sum = 0
  let micros = 0n
  let rounded = 0
  const tally = createDecimalsTally()
  let isLong = false
  let crlf = false
  for (let start = 0, next = 0; start < bytes.length; start = next, lines++) {
    const line = lineAt(bytes, start)
    const { end } = line
    next = line.next
    crlf ||= bytes[end] === carriageReturn
    if (end === start) continue
    isLong ||= end - start > rowBytesMax
    let to = end
    for (let passed = 0; passed < extraColumns; passed++) to = lastComma(bytes, start, to)
    const last = lastComma(bytes, start, to)
    const value = last < start ? undefined : plainMicros(bytes, last + 1, to)
    if (value === undefined) {
      const quantity = lastQuantity(bytes.toString('utf8', start, end), extraColumns)
      micros += quantity.micros
      if (quantity.rounded) rounded++
      tally.seeText(bytes.toString('latin1', last + 1, to), to < bytes.length)
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
  const format = isLong ? 'unsplittable' : 'lines'
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

function measureQuoted(
  bytes: Buffer,
  timestamps: SeenTimestamps,
  { extraColumns, rowBytesMax }: Required<MeasureRules>,
): Measure {
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
    isWhole &&= span.whole && bytes[start] !== carriageReturn && end - start <= rowBytesMax
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
