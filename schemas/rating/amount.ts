import { parseQuantity, parseScaled, priceDecimals } from '../quantity.js'

/** Millionths of a decimal of the store; 0 where there is none. */
export function microsOf(text: string | null | undefined): bigint {
  return text == null ? 0n : (parseQuantity(text)?.micros ?? 0n)
}

/** Billionths of a price of the store; 0 where there is none. */
export function nanosOf(text: string | null | undefined): bigint {
  return text == null ? 0n : (parseScaled(text, priceDecimals)?.value ?? 0n)
}

/** A quotient of whole numbers, rounded half away from zero; `divisor` is above 0. */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const size = dividend < 0n ? -dividend : dividend
  const quotient = (2n * size + divisor) / (2n * divisor)
  return dividend < 0n ? -quotient : quotient
}
