import type { Decimals } from '../../schemas/manifest.js'

const minus = 45
const point = 46
const zero = 48

export const noDecimals: Decimals = { count: undefined, padded: false }

/** The decimals of the parts of a file together. */
export function joinDecimals(one: Decimals, other: Decimals): Decimals {
  const padded = one.padded || other.padded
  if (one.count === undefined || other.count === undefined) {
    return { count: one.count ?? other.count, padded }
  }
  return { count: one.count === other.count ? one.count : 0, padded }
}

export interface DecimalsTally {
  /** Counts a plain decimal that is a part of a block; at the end of the block it may be cut. */
  see(bytes: Buffer, from: number, to: number): void
  /** Counts the last column of a row, which may be cut unless it is ended; only numbers count. */
  seeText(text: string | undefined, ended: boolean): void
  decimals(): Decimals
}

const numberText = /^[ \t]*-?\d*(?:\.(\d+))?[ \t]*$/

/** Counts the decimals of a part of a file, row by row. */
export function createDecimalsTally(): DecimalsTally {
  let count: number | undefined
  let padded = false
  return {
    see: (bytes, from, to) => {
      if (count === undefined) {
        const at = bytes.subarray(from, to).indexOf(point)
        count = at === -1 ? 0 : to - from - at - 1
      } else if (to - 1 - count < from || bytes[to - 1 - count] !== point) count = 0
      if (to < bytes.length && bytes[to - 1] === zero) padded = true
    },
    seeText: (text, ended) => {
      const found = text === undefined ? null : numberText.exec(text)
      if (found === null || text?.trim() === '') return
      const decimals = found[1] ?? ''
      count = count === undefined || count === decimals.length ? decimals.length : 0
      if (ended && decimals.endsWith('0')) padded = true
    },
    decimals: () => ({ count, padded }),
  }
}

/** What millionths one unit of a number with so many decimals is. */
const scales = [1e6, 1e5, 1e4, 1e3, 100, 10, 1] as const
const microsMax = 1e15
const digitsMax = 15

/**
 * Millionths of a decimal; undefined where it is not as plain as `-12.345678`, or not small enough
 * to be exact.
 */
export function plainMicros(bytes: Buffer, start: number, end: number): number | undefined {
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
