/** A quantity in millionths of its unit, exact. `rounded` says that digits were lost. */
export interface Quantity {
  readonly micros: bigint
  readonly rounded: boolean
}

const decimalsMax = 6
const microsInOne = 10n ** BigInt(decimalsMax)
/** Decimal(18,6), the store's type, holds 12 digits before the point: 10^(12 + 6) - 1 micros. */
const microsMax = 10n ** 18n - 1n
const plainDecimal = /^(-?)0*(?!0)(\d*)(?:\.(\d+))?$/
const canonicalDecimal = /^(-?)(0|[1-9]\d{0,31})(?:\.(\d{1,6}))?$/

/** Whether a text is a decimal in digits, of any size: `-?(\d+(\.\d+)?|\.\d+)`. */
export function isPlainDecimal(text: string): boolean {
  return plainDecimal.test(text) && /\d/.test(text)
}

/**
 * Reads a plain decimal, `-?(\d+(\.\d+)?|\.\d+)`, or gives undefined: no exponent, plus sign,
 * blanks, groups, infinity, and nothing beyond Decimal(18,6). Digits beyond the sixth decimal are
 * rounded half to even; `rounded` is true where one of them is not 0.
 */
export function parseQuantity(text: string): Quantity | undefined {
  const match = plainDecimal.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = ''] = match
  if (whole === '' && fraction === '' && !isPlainDecimal(text)) return undefined
  if (whole.length > 12) return undefined
  const kept = BigInt(whole + fraction.slice(0, decimalsMax).padEnd(decimalsMax, '0'))
  const dropped = fraction.slice(decimalsMax)
  const size = isRoundedUp(dropped, kept) ? kept + 1n : kept
  if (size > microsMax) return undefined
  return { micros: sign === '-' ? -size : size, rounded: /[1-9]/.test(dropped) }
}

/** Whether the dropped decimals push the kept ones up: above a half, or a half on an odd digit. */
function isRoundedUp(dropped: string, kept: bigint): boolean {
  const first = dropped.charCodeAt(0) - 48
  if (!(first >= 5)) return false
  return first > 5 || /[1-9]/.test(dropped.slice(1)) || kept % 2n === 1n
}

/**
 * Reads a sum of quantities in micros, as the store and receipts write it: at most 6 decimals and,
 * unlike one quantity, up to 32 digits before the point, which is Decimal(38,6). Else undefined.
 */
export function parseTotal(text: string): bigint | undefined {
  const match = canonicalDecimal.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = ''] = match
  const size = BigInt(whole + fraction.padEnd(decimalsMax, '0'))
  return sign === '-' ? -size : size
}

/** The canonical text of a quantity or total: no trailing zeros, no trailing point, never `-0`. */
export function formatQuantity(micros: bigint): string {
  const size = micros < 0n ? -micros : micros
  const fraction = String(size % microsInOne)
    .padStart(decimalsMax, '0')
    .replace(/0+$/, '')
  const point = fraction === '' ? '' : '.'
  return `${micros < 0n ? '-' : ''}${size / microsInOne}${point}${fraction}`
}
