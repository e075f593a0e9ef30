import { type ChargeRules, chargesOf } from './charges.js'
import { type Line, type MeterUse, type Pricing, priceEnergy } from './energy.js'
import {
  decimal,
  type Fraction,
  isAbove,
  minus,
  negated,
  over,
  plus,
  rounded,
  times,
  whole,
} from './fraction.js'

export interface BillingTerms extends Pricing, ChargeRules {
  readonly rounding: 'line' | 'total' | 'none'
}

export interface ComputedBill {
  readonly meter: string
  readonly lines: readonly Line[]
  readonly total: Fraction
}

/** Decimals to which lines and totals are rounded; the store holds six. */
const decimalsOf = { line: [2, 2], total: [6, 2], none: [6, 6] } as const

/** The bills of meters that share their tiers; a meter alone has its own. */
export function computeBills(
  terms: BillingTerms,
  meters: readonly MeterUse[],
): readonly ComputedBill[] {
  const energy = priceEnergy(terms, meters)
  return meters.map((one, at) => finish(terms, one, [...(energy[at]?.values() ?? [])]))
}

const sum = (lines: readonly Line[]) => plus(...lines.map(({ amount }) => amount))

function finish(terms: BillingTerms, meter: MeterUse, energy: readonly Line[]): ComputedBill {
  const [lineDecimals, totalDecimals] = decimalsOf[terms.rounding]
  const round = (line: Line): Line => ({ ...line, amount: rounded(line.amount, lineDecimals) })
  const { calendar, tariffs } = terms
  const days = meter.uses.map((use) => ({ ...use, day: calendar.toWall(use.instant).day }))
  const charges = chargesOf(tariffs, {
    ...terms,
    days: meter.days,
    rateOn: meter.rateOn,
    usedOn: (isCounted) =>
      plus(...days.filter(({ day }) => isCounted(day)).map(({ quantity }) => quantity)),
  })
  const before = [...energy, ...charges.lines].map(round)
  const taxed = sum(before.filter(({ taxable }) => taxable))
  const percents = charges.percents.map(({ name, kind, amount }) => {
    const share = over(times(taxed, decimal(amount)), whole(100))
    const signed = kind === 'Credit' ? negated(share) : share
    return round({ kind, component: '', name, tier: 0, amount: signed, taxable: false })
  })
  const lines = [...before, ...percents]
  const missing = minus(charges.minimum, sum(lines))
  if (charges.minimumName !== undefined && isAbove(missing, whole(0))) {
    const least = { kind: 'Minimum', component: '', name: charges.minimumName, tier: 0 }
    lines.push(round({ ...least, amount: missing, taxable: false }))
  }
  return { meter: meter.meter, lines, total: rounded(sum(lines), totalDecimals) }
}
