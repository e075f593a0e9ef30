import { groupRows } from '../lint/finding.js'
import { toSeasons } from '../lint/seasons.js'
import { divideRounded, microsOf } from './amount.js'
import type { BillingRules, RateRow } from './rate-book.js'

/** A charge that does not depend on when energy was used; amounts in 10^-12 dollars. */
export interface Charge {
  readonly name: string
  readonly kind: string
  readonly taxable: boolean
  readonly fileId: string
  readonly from: number
  readonly to: number
  readonly amount: bigint
}

export interface FixedCharges {
  readonly amounts: readonly Charge[]
  /** Amounts for each unit of energy, in 10^-6 dollars. */
  readonly perUnit: readonly Charge[]
  /** Percents of the taxable lines, in 10^-6 percent. */
  readonly percents: readonly Charge[]
  /** The least that a bill comes to; compared, never added. */
  readonly minimums: readonly Charge[]
}

/** The days of a rate code, and of the bill that they are part of; since 1970, both inclusive. */
export interface FixedDays {
  readonly from: number
  readonly to: number
  readonly period: { readonly from: number; readonly to: number }
}

type Rules = Pick<BillingRules, 'monthDays' | 'prorateMonths'>

/** Months of so many days are charged whole. */
const wholeMonthDays = { min: 26, max: 35 }
const micro = 1_000_000n

/** Computes what the rows of `RateFixed` of one rate code charge for some days of a bill. */
export function compileFixed(
  rows: readonly RateRow[],
  days: FixedDays,
  rules: Rules,
): FixedCharges {
  const charges = groupRows(rows, 'Name').flatMap((own) => versionsOf(own, days))
  const of = (isIn: (row: RateRow) => boolean, scale: Scale) =>
    charges.filter(({ row }) => isIn(row)).map((one) => toCharge(one, scale))
  const isMinimum = ({ row }: RateRow) => row['Kind'] === 'Minimum'
  const hasBasis = (basis: string) => (row: RateRow) =>
    !isMinimum(row) && row.row['Basis'] === basis
  const isAmount = (row: RateRow) => /^Per(Period|Day|Month)$/.test(row.row['Basis'] ?? '')
  const scale: Scale = (version) => amountOf(version, days, rules)
  const asIs: Scale = ({ row }) => microsOf(row.row['Amount'])
  return {
    amounts: of((row) => !isMinimum(row) && isAmount(row), scale),
    perUnit: of(hasBasis('PerUnit'), asIs),
    percents: of(hasBasis('Percent'), asIs),
    minimums: of(isMinimum, scale),
  }
}

interface VersionDays {
  readonly row: RateRow
  readonly from: number
  readonly to: number
}
type Scale = (version: VersionDays) => bigint

/** The versions of one charge in the days: those for each day and month by days, others the last. */
function versionsOf(
  rows: readonly RateRow[],
  { from, to, period }: FixedDays,
): readonly VersionDays[] {
  return toSeasons(rows).flatMap((season) => {
    const [row] = season.rows
    if (row === undefined || season.from > to || season.to < from) return []
    const own = { row, from: Math.max(from, season.from), to: Math.min(to, season.to) }
    if (/^Per(Day|Month|Unit)$/.test(row.row['Basis'] ?? '')) return [own]
    return own.to === period.to ? [{ ...own, from }] : []
  })
}

function amountOf({ row, from, to }: VersionDays, { period }: FixedDays, rules: Rules): bigint {
  const price = microsOf(row.row['Amount']) * micro
  const days = BigInt(to - from + 1)
  const basis = row.row['Basis']
  if (basis === 'PerDay') return price * days
  if (basis !== 'PerMonth') return price
  const all = period.to - period.from + 1
  const isWhole = all >= wholeMonthDays.min && all <= wholeMonthDays.max
  if (isWhole && rules.prorateMonths !== 'always') return divideRounded(price * days, BigInt(all))
  const monthMicros = BigInt(Math.round(rules.monthDays * 1e6))
  return divideRounded(price * days * micro, monthMicros)
}

function toCharge(version: VersionDays, scale: Scale): Charge {
  const { row, fileId } = version.row
  const kind = row['Kind'] ?? ''
  const amount = scale(version)
  const isCredit = kind === 'Credit' && amount > 0n
  return {
    name: row['Name'] ?? '',
    kind,
    taxable: row['Taxable'] === 'true',
    fileId,
    from: version.from,
    to: version.to,
    amount: isCredit ? -amount : amount,
  }
}
