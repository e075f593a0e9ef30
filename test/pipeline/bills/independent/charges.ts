import type { Line } from './energy.js'
import { decimal, type Fraction, negated, over, plus, times, whole, zero } from './fraction.js'
import { type ChargeRow, isInForce, type Tariffs } from './tariff.js'

export interface ChargeRules {
  readonly monthDays: number
  readonly prorateMonths: 'odd' | 'always'
}

export interface ChargedDays {
  readonly days: readonly number[]
  readonly rateOn: (day: number) => string
  /** Used on the days of which this is true, in the unit of the rate. */
  readonly usedOn: (isCounted: (day: number) => boolean) => Fraction
}

/** What each day adds to an amount for a month: one whole for 26 to 35 days. */
function monthShare(days: number, of: number, rules: ChargeRules): Fraction {
  const isWhole = rules.prorateMonths === 'odd' && of >= 26 && of <= 35
  return over(whole(days), isWhole ? whole(of) : decimal(String(rules.monthDays)))
}

function amountOf(
  row: ChargeRow,
  days: readonly number[],
  at: ChargedDays & ChargeRules,
): Fraction {
  const price = row.kind === 'Credit' ? negated(decimal(row.amount)) : decimal(row.amount)
  const isCounted = (day: number) => days.includes(day)
  if (row.basis === 'PerPeriod') return isCounted(at.days.at(-1) ?? 0) ? price : zero
  if (row.basis === 'PerDay') return times(price, whole(days.length))
  if (row.basis === 'PerMonth') return times(price, monthShare(days.length, at.days.length, at))
  return times(price, at.usedOn(isCounted))
}

/** The charges of a bill by row, but for percents; those of a minimum are apart. */
export function chargesOf(tariffs: Tariffs, bill: ChargedDays & ChargeRules) {
  const isHeld = (row: ChargeRow, day: number) =>
    bill.rateOn(day) === row.rate && isInForce(row, day)
  const last = bill.days.at(-1) ?? 0
  const rows = tariffs.charges.map((row) => ({
    row,
    days: bill.days.filter((day) => isHeld(row, day)),
  }))
  const amounts = rows.filter(({ row, days }) =>
    row.basis === 'PerPeriod' ? isHeld(row, last) : row.basis !== 'Percent' && days.length > 0,
  )
  const lines = amounts.map(({ row, days }): Line & { isMinimum: boolean } => ({
    kind: row.kind,
    component: '',
    name: row.name,
    tier: 0,
    ...(row.basis === 'PerUnit' && { quantity: bill.usedOn((day) => days.includes(day)) }),
    amount: amountOf(row, days, bill),
    taxable: row.taxable,
    isMinimum: row.kind === 'Minimum',
  }))
  return {
    lines: lines.filter(({ isMinimum }) => !isMinimum),
    minimum: plus(...lines.filter(({ isMinimum }) => isMinimum).map(({ amount }) => amount)),
    minimumName: lines.find(({ isMinimum }) => isMinimum)?.name,
    percents: rows
      .filter(({ row }) => row.basis === 'Percent' && isHeld(row, last))
      .map(({ row }) => row),
  }
}
