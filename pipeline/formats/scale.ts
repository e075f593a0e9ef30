import { formatScaled } from '../../schemas/quantity.js'

/** An exact decimal: `value` in units of the last of so many decimals, at least one. */
interface Exact {
  readonly value: bigint
  readonly decimals: number
}

const plain = /^(-?)(\d*)(?:\.(\d+))?$/
/** A binary fraction that is written out has some hundred digits. */
export const decimalCharactersMax = 1_000

function toExact(text: string): Exact | undefined {
  const [, sign, whole = '', fraction = ''] = plain.exec(text) ?? []
  if (sign === undefined || whole + fraction === '' || text.length > decimalCharactersMax)
    return undefined
  const size = BigInt(whole + fraction.padEnd(1, '0'))
  return { value: sign === '-' ? -size : size, decimals: Math.max(1, fraction.length) }
}

/** What a unit measures, and the power of ten that it is of the unit in which that is stored. */
const dimensions = {
  kWh: ['energy', 0],
  Wh: ['energy', -3],
  MWh: ['energy', 3],
  ccf: ['ccf', 0],
  cm: ['cm', 0],
  // The heat of a volume depends on its gas: therms are never made of it.
  therm: ['heat', 0],
} as const satisfies Record<string, readonly [dimension: string, power: number]>

export type Unit = keyof typeof dimensions

function unitOf(text: string): Unit | undefined {
  const units = Object.keys(dimensions) as readonly Unit[]
  return units.find((unit) => unit.toLowerCase() === text.toLowerCase())
}

/**
 * Turns the text of a quantity into another; what is not a plain decimal stays as it is, and one that is too long
 * to be read becomes `?`.
 */
export type Scale = (text: string) => string

/**
 * Turns quantities of a unit, written in any case, exactly into those of another one; undefined where they
 * measure different things.
 */
export function unitScale(from: string, to: Unit): Scale | undefined {
  const unit = unitOf(from)
  if (unit === undefined || dimensions[unit][0] !== dimensions[to][0]) return undefined
  const power = dimensions[unit][1] - dimensions[to][1]
  return multiplier(power < 0 ? `.${'1'.padStart(-power, '0')}` : `1${'0'.repeat(power)}`)
}

/** Multiplies quantities exactly by a plain decimal. */
export function multiplier(factor: string): Scale {
  const by = toExact(factor)
  if (by === undefined || Number(factor) === 1) return (text) => text
  return (text) => {
    const exact = toExact(text)
    if (exact) return formatScaled(exact.value * by.value, exact.decimals + by.decimals)
    return text.length > decimalCharactersMax ? '?' : text
  }
}

/** The sum of those texts that are plain decimals. */
export function sumTexts(texts: readonly string[]): string {
  const exact = texts.map(toExact).filter((one) => one !== undefined)
  const decimals = Math.max(1, ...exact.map((one) => one.decimals))
  const inLast = exact.map((one) => one.value * 10n ** BigInt(decimals - one.decimals))
  return formatScaled(
    inLast.reduce((total, value) => total + value, 0n),
    decimals,
  )
}
