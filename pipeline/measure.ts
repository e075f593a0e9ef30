import { lastMicros, rowSpan } from './rows.js'
import type { ChunkShape } from './stores/file-state.js'

const newline = 10
const carriageReturn = 13
const comma = 44
const quote = 34
const point = 46
const minus = 45
const zero = 48

/** What the bytes themselves say of a chunk, before anything has parsed it. */
export interface Measure {
  readonly lines: number
  /** Rows: lines with something on them, line breaks inside quotes not counted. */
  readonly rows: number
  /** Sum of the last column of every row where it reads as a plain decimal, in millionths. */
  readonly micros: bigint
  readonly shape: ChunkShape
}

/**
 * Counts rows and energy of a chunk of whole rows, so that what the engine later says it judged
 * can be held against what came in.
 */
export function measure(bytes: Buffer): Measure {
  return bytes.includes(quote) ? measureQuoted(bytes) : measureLines(bytes)
}

/** Exact integers end at 2^53; the running sum goes over into a bigint long before. */
const sumMax = 1e15

/** One search for a line end and a few steps back for each row: some 40 ns. */
function measureLines(bytes: Buffer): Measure {
  let lines = 0
  let rows = 0
  let sum = 0
  let micros = 0n
  for (let start = 0; start < bytes.length; lines++) {
    const found = bytes.indexOf(newline, start)
    const next = found === -1 ? bytes.length : found
    const end = next > start && bytes[next - 1] === carriageReturn ? next - 1 : next
    if (end > start) {
      rows++
      const value = plainMicros(bytes, start, end)
      if (value === undefined) micros += lastMicros(bytes.toString('utf8', start, end))
      else sum += value
      if (sum > sumMax || sum < -sumMax) {
        micros += BigInt(sum)
        sum = 0
      }
    }
    start = next + 1
  }
  return { lines, rows, micros: micros + BigInt(sum), shape: 'lines' }
}

function measureQuoted(bytes: Buffer): Measure {
  let lines = 0
  let rows = 0
  let micros = 0n
  let isWhole = true
  for (let start = 0; start < bytes.length; ) {
    const span = rowSpan(bytes, start)
    lines += span.lines
    isWhole &&= span.whole
    if (span.end > span.start) {
      rows++
      const value = plainMicros(bytes, span.start, span.end)
      micros +=
        value === undefined
          ? lastMicros(bytes.toString('utf8', span.start, span.end))
          : BigInt(value)
    }
    start = span.next
  }
  return { lines, rows, micros, shape: isWhole && rows === lines ? 'quoted' : 'odd' }
}

/** What millionths one unit of a number with so many decimals is. */
const scales = [1e6, 1e5, 1e4, 1e3, 100, 10, 1] as const
const microsMax = 1e15

/**
 * Millionths of the decimal that ends at `end` and starts behind a comma; undefined where it is
 * not as plain as that, or not small enough to be exact: hundreds of digits are no number at all.
 */
function plainMicros(bytes: Buffer, start: number, end: number): number | undefined {
  let at = end - 1
  let value = 0
  let factor = 1
  let decimals = 0
  for (; at >= start; at--) {
    const byte = bytes[at] as number
    if (byte >= zero && byte <= zero + 9) {
      value += (byte - zero) * factor
      factor *= 10
    } else if (byte === point && decimals === 0) {
      decimals = end - 1 - at
      if (decimals === 0 || decimals > 6) return undefined
    } else break
  }
  const negative = bytes[at] === minus
  if (negative) at--
  if (at < start || bytes[at] !== comma || factor === 1) return undefined
  const micros = value * (scales[decimals] as number)
  if (!(micros <= microsMax)) return undefined
  return negative ? -micros : micros
}
