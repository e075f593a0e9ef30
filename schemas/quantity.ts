/** A quantity in millionths of its unit, exact. `rounded` says that digits were lost. */
export interface Quantity {
  readonly micros: bigint
  readonly rounded: boolean
}

/** A decimal as a whole number of its smallest unit. `rounded` says that digits were lost. */
interface Scaled {
  readonly value: bigint
  readonly rounded: boolean
}

/** Decimals that are kept of quantities and amounts, and of prices. */
export const quantityDecimals = 6
export const priceDecimals = 9
/** Digits before the point that the store's types hold. */
const wholeDigitsMax = 12
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
  const found = parseScaled(text, quantityDecimals)
  return found && { micros: found.value, rounded: found.rounded }
}

/** Reads a decimal in the same way with so many decimals, in units of the last one. */
export function parseScaled(text: string, decimals: number): Scaled | undefined {
  const match = plainDecimal.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = ''] = match
  if (whole === '' && fraction === '' && !isPlainDecimal(text)) return undefined
  if (whole.length > wholeDigitsMax) return undefined
  const kept = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
  const dropped = fraction.slice(decimals)
  const size = isRoundedUp(dropped, kept) ? kept + 1n : kept
  if (size >= 10n ** BigInt(wholeDigitsMax + decimals)) return undefined
  return { value: sign === '-' ? -size : size, rounded: /[1-9]/.test(dropped) }
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
  const size = BigInt(whole + fraction.padEnd(quantityDecimals, '0'))
  return sign === '-' ? -size : size
}

/** The canonical text of a quantity or total: no trailing zeros, no trailing point, never `-0`. */
export function formatQuantity(micros: bigint): string {
  return formatScaled(micros, quantityDecimals)
}

/** The same of a number with so many decimals, in units of the last one. */
export function formatScaled(value: bigint, decimals: number): string {
  const digits = String(value < 0n ? -value : value).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  const point = fraction === '' ? '' : '.'
  return `${value < 0n ? '-' : ''}${digits.slice(0, -decimals)}${point}${fraction}`
}

/** What the sender may say of a quantity: `asSent` where it says nothing. */
export const readQualities = ['asSent', 'estimated', 'substituted'] as const
export type ReadQuality = (typeof readQualities)[number]

/** The column that a usage file may have behind those of its feed: a quality, or nothing. */
export const qualityColumn = 'Quality'
