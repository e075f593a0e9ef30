/** An exact number: a fraction of whole numbers, the lower one above 0. */
export interface Fraction {
  readonly upper: bigint
  readonly lower: bigint
}

export const zero: Fraction = { upper: 0n, lower: 1n }

function reduced(upper: bigint, lower: bigint): Fraction {
  let [a, b] = [upper < 0n ? -upper : upper, lower]
  while (b !== 0n) [a, b] = [b, a % b]
  return a === 0n ? zero : { upper: upper / a, lower: lower / a }
}

export function whole(value: number | bigint): Fraction {
  return { upper: BigInt(value), lower: 1n }
}

/** From a plain decimal, such as `-0.125`. */
export function decimal(text: string): Fraction {
  const [units = '', digits = ''] = text.split('.')
  return reduced(BigInt(units + digits), 10n ** BigInt(digits.length))
}

export function plus(...all: readonly Fraction[]): Fraction {
  return all.reduce(
    (a, b) => reduced(a.upper * b.lower + b.upper * a.lower, a.lower * b.lower),
    zero,
  )
}

export function times(a: Fraction, b: Fraction): Fraction {
  return reduced(a.upper * b.upper, a.lower * b.lower)
}

export function over(a: Fraction, b: Fraction): Fraction {
  const sign = b.upper < 0n ? -1n : 1n
  return reduced(a.upper * b.lower * sign, a.lower * b.upper * sign)
}

export function negated({ upper, lower }: Fraction): Fraction {
  return { upper: -upper, lower }
}

export function minus(a: Fraction, b: Fraction): Fraction {
  return plus(a, negated(b))
}

export function isAbove(a: Fraction, b: Fraction): boolean {
  return a.upper * b.lower > b.upper * a.lower
}

export function isZero({ upper }: Fraction): boolean {
  return upper === 0n
}

/** Rounded half away from zero to so many decimals. */
export function rounded({ upper, lower }: Fraction, decimals: number): Fraction {
  const scale = 10n ** BigInt(decimals)
  const size = (upper < 0n ? -upper : upper) * scale
  const nearest = (2n * size + lower) / (2n * lower)
  return reduced(upper < 0n ? -nearest : nearest, scale)
}

/** As the store spells decimals: at most six decimals, without zeros at the end. */
export function spelled(value: Fraction): string {
  const { upper, lower } = rounded(value, 6)
  const micros = (upper * 1_000_000n) / lower
  const size = (micros < 0n ? -micros : micros).toString().padStart(7, '0')
  const digits = size.slice(-6).replace(/0+$/, '')
  return `${micros < 0n ? '-' : ''}${size.slice(0, -6)}${digits === '' ? '' : `.${digits}`}`
}
