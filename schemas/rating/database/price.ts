import { formatScaled, parseScaled, priceDecimals } from '../../quantity.js'
import { wrong } from './tariff.js'

/** A number of the database in billionths. Throws `CONFIG` where it is too large. */
export function toNanos(value: number, place: string): bigint {
  const found = parseScaled(plainText(value), priceDecimals)
  if (found !== undefined) return found.value
  throw wrong(place, value, 'expected at most 12 digits before the point. Correct it in the file')
}

export function nanosText(nanos: bigint): string {
  return formatScaled(nanos, priceDecimals)
}

/** Whether a price has more decimals than are kept. */
export function isRounded(value: number): boolean {
  return parseScaled(plainText(value), priceDecimals)?.rounded ?? false
}

/** The shortest decimal of a number, without an exponent. */
export function plainText(value: number): string {
  const [digits = '', exponent] = String(value).split('e')
  if (exponent === undefined) return digits
  const sign = digits.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = digits.replace('-', '').split('.')
  const shift = Number(exponent)
  if (shift > 0) return `${sign}${whole}${fraction.padEnd(shift, '0')}`
  return `${sign}0.${'0'.repeat(-shift - whole.length)}${whole}${fraction}`
}
