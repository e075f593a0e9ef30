import { parseScaled } from '../../schemas/quantity.js'

/** How ESPI names a commodity: codes of ServiceKind, CommodityKind and MeasurementKind. */
export interface ServiceCodes {
  readonly service: number
  readonly commodity: number
  readonly kind: number
  readonly title: string
}

const services: Readonly<Record<string, ServiceCodes>> = {
  Electric: { service: 0, commodity: 1, kind: 12, title: 'Electricity' },
  Gas: { service: 1, commodity: 7, kind: 58, title: 'Natural gas' },
}

/** A unit as code of UnitSymbolKind. `finest` is the power of ten that writes a millionth exactly. */
interface UnitCodes {
  readonly uom: number
  /** What a millionth of the unit is in units of `finest`. */
  readonly factor: bigint
  readonly finest: number
}

const units: Readonly<Record<string, UnitCodes>> = {
  kWh: { uom: 72, factor: 1n, finest: -3 },
  // A hundred cubic feet: a millionth is 100 millionths of a cubic foot.
  ccf: { uom: 119, factor: 100n, finest: -6 },
  cm: { uom: 42, factor: 1n, finest: -6 },
  therm: { uom: 169, factor: 1n, finest: -6 },
}

/** A quantity as ESPI writes it: `value` times 10 to the power of `multiplier`, in `uom`. */
export interface EspiMeasure {
  readonly uom: number
  readonly multiplier: number
}

/** The most that ESPI's Int48 holds. */
const int48Max = 2n ** 47n - 1n

export function serviceOf(commodity: string): ServiceCodes {
  const found = services[commodity]
  if (found === undefined) throw new RangeError(`no ESPI code for the commodity ${commodity}`)
  return found
}

/**
 * The finest measure of a unit in which the largest quantity fits into 48 bits: of millionths, or of
 * billionths where reads have them (`isFine`).
 */
export function measureOf(unit: string, largest: string, isFine = false): EspiMeasure {
  const { uom, finest } = unitOf(unit)
  for (let multiplier = isFine ? finest - 3 : finest; ; multiplier += 3) {
    const size = toValue(largest, { unit, multiplier })
    if (size <= int48Max && size >= -int48Max) return { uom, multiplier }
  }
}

/** The value of a decimal in a measure of its unit, rounded half away from zero where it is coarse. */
export function toValue(
  quantity: string,
  { unit, multiplier }: { readonly unit: string; readonly multiplier: number },
): bigint {
  const { factor, finest } = unitOf(unit)
  return divide(nanosOf(quantity) * factor, 10n ** BigInt(multiplier - finest + 3))
}

/** Dollars in hundred-thousandths, as ESPI has amounts. */
export function toAmount(dollars: string): bigint {
  return divide(nanosOf(dollars), 10_000n)
}

/** The same of several, rounded so that they add up to their sum as `toAmount` has it. */
export function toAmounts(dollars: readonly string[]): readonly bigint[] {
  let nanos = 0n
  return dollars.map((one) => {
    const before = divide(nanos, 10_000n)
    nanos += nanosOf(one)
    return divide(nanos, 10_000n) - before
  })
}

function unitOf(unit: string): UnitCodes {
  const found = units[unit]
  if (found === undefined) throw new RangeError(`no ESPI code for the unit ${unit}`)
  return found
}

function nanosOf(decimal: string): bigint {
  const found = parseScaled(decimal, 9)
  if (found === undefined) throw new RangeError(`${decimal} is not a decimal of the store`)
  return found.value
}

function divide(value: bigint, by: bigint): bigint {
  const half = value < 0n ? -(by / 2n) : by / 2n
  return (value + half) / by
}
