import type { Decimals } from '../../schemas/manifest.js'

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
