/**
 * Looks at a block of whole rows and stops at the first thing that is not plain. It is compiled to WebAssembly,
 * which compares 16 bytes at a time and adds 64-bit integers: less than half of the time of the same loop in JavaScript.
 */

const lineFeed: u8 = 10
const carriageReturn: u8 = 13
const blank: u8 = 32
const quote: u8 = 34
const comma: u8 = 44
const minus: u8 = 45
const point: u8 = 46
const zero: u8 = 48

/** Where a block is put; a byte before it is read too, and 16 behind it are written. */
export const blockAt: i32 = 65_536
/** Starts of the rows that the caller looks at, from `blockAt` on. */
const starts: usize = 16
const startsMax: i32 = 16_000

let rowBytesMax: i32 = 0
let extraColumns: i32 = 0
let firstRows: i32 = 0
let stride: i32 = 1

/** Of the rows since `begin`. */
export let rows: i32 = 0
/** The same number of decimals in all rows; 0 where they differ, -1 before the first. */
export let decimals: i32 = -1
/** Whether the decimals of a row end with 0, or a whole number does. */
export let padded: bool = false
export let crlf: bool = false

/** Of the last block. */
export let lines: i32 = 0
/** In millionths. */
export let sum: i64 = 0
export let looked: i32 = 0
let returns: i32 = 0

/** The caller looks at the first rows of a chunk, and at one in so many. */
export function lookAt(first: i32, oneIn: i32): void {
  firstRows = first
  stride = oneIn
}

/** Before the first block of a chunk. */
export function begin(rowBytes: i32, columns: i32): void {
  rowBytesMax = rowBytes
  extraColumns = columns
  rows = 0
  decimals = -1
  padded = false
  crlf = false
}

/**
 * Whether all rows of a block are plain: ASCII, each on one line, nothing but a line end below 0x20, no quote, no blank
 * before a comma, nothing that a spreadsheet may take for a formula or rounds, a last column that is exact in 64 bits.
 */
export function scan(length: i32): bool {
  const from: usize = blockAt
  const end = from + length
  lines = 0
  sum = 0
  looked = 0
  returns = 0
  v128.store(end, i8x16.splat(lineFeed))
  let odd = i8x16.splat(0)
  let returnsSeen: i32 = 0
  let start = from
  for (let at = from; at < end; at += 16) {
    const bytes = v128.load(at)
    const before = v128.load(at - 1)
    const isEnd = i8x16.eq(bytes, i8x16.splat(lineFeed))
    const isReturn = i8x16.eq(bytes, i8x16.splat(carriageReturn))
    odd = v128.or(odd, oddIn(bytes, before, v128.or(isEnd, isReturn)))
    returnsSeen += popcnt<i32>(i8x16.bitmask(isReturn))
    for (let mask = i8x16.bitmask(isEnd); mask !== 0; mask &= mask - 1) {
      const lineEnd = at + ctz<i32>(mask)
      if (lineEnd >= end) break
      if (!takeRow(start, lineEnd)) return false
      start = lineEnd + 1
    }
  }
  return !v128.any_true(odd) && returns === returnsSeen && start === end
}

/** Bytes that rows with plain identifiers do not have. As signed numbers those beyond ASCII are below a blank. */
function oddIn(bytes: v128, before: v128, isLineEnd: v128): v128 {
  const isControl = v128.andnot(i8x16.lt_s(bytes, i8x16.splat(blank)), isLineEnd)
  const isQuote = i8x16.eq(bytes, i8x16.splat(quote))
  const isFormula = v128.or(
    v128.or(i8x16.eq(bytes, i8x16.splat(0x2b)), i8x16.eq(bytes, i8x16.splat(0x3d))),
    v128.or(i8x16.eq(bytes, i8x16.splat(0x40)), i8x16.eq(bytes, i8x16.splat(0x7f))),
  )
  const isBlankBefore = v128.and(
    i8x16.eq(bytes, i8x16.splat(comma)),
    i8x16.eq(before, i8x16.splat(blank)),
  )
  const isExponent = v128.and(
    i8x16.eq(bytes, i8x16.splat(minus)),
    i8x16.eq(v128.or(before, i8x16.splat(0x20)), i8x16.splat(0x65)),
  )
  return v128.or(
    v128.or(v128.or(isControl, isQuote), isFormula),
    v128.or(isBlankBefore, isExponent),
  )
}

/** Counts the row of a line; false where it is not plain. */
function takeRow(start: usize, lineEnd: usize): bool {
  lines++
  let end = lineEnd
  if (end > start && load<u8>(end - 1) === carriageReturn) {
    end--
    returns++
    crlf = true
  }
  if (end === start) return true
  const first = load<u8>(start)
  if (first === blank || first === minus) return false
  if (i32(end - start) > rowBytesMax) return false
  if (!takeQuantity(start, end)) return false
  if (rows < firstRows || rows % stride === 0) {
    if (looked === startsMax) return false
    store<i32>(starts + (looked << 2), i32(start - blockAt))
    looked++
  }
  rows++
  return true
}

/** Integer digits of a quantity: the sum of a block stays far below 2^63. */
const digitsMax: i32 = 7
const decimalsMax: i32 = 6

/** Adds the last column of a row, without extra ones. */
function takeQuantity(start: usize, end: usize): bool {
  let to = end
  for (let passed = 0; passed < extraColumns; passed++) {
    to--
    while (to >= start && load<u8>(to) !== comma) to--
    if (to < start) return false
  }
  let value: i64 = 0
  let scale: i64 = 1
  let digits: i32 = 0
  let own: i32 = -1
  let at = to - 1
  for (; at >= start; at--) {
    const byte = load<u8>(at)
    if (byte === point && own < 0) {
      own = digits
      continue
    }
    const digit = u32(byte) - zero
    if (digit > 9) break
    value += i64(digit) * scale
    scale *= 10
    if (++digits > digitsMax + decimalsMax) return false
  }
  if (own === 0 || own > decimalsMax) return false
  const places = own < 0 ? 0 : own
  if (digits === 0 || digits - places > digitsMax) return false
  if (load<u8>(at) === minus) {
    value = -value
    at--
  }
  if (at < start || load<u8>(at) !== comma) return false
  for (let place = places; place < decimalsMax; place++) value *= 10
  sum += value
  decimals = decimals === -1 || decimals === places ? places : 0
  if (load<u8>(to - 1) === zero) padded = true
  return true
}
