import { groupRows } from '../lint/finding.js'
import { toSeasons } from '../lint/seasons.js'
import type { BillingRules } from '../settings/billing.js'
import { divideRounded, nanosOf } from './amount.js'
import { cutDays } from './cut-days.js'
import type { Component, RateInterval } from './kind.js'
import type { RateRow } from './rate-book.js'

/** A charge that does not depend on how much energy was used; amounts in 10^-12 dollars. */
export interface Charge {
  readonly name: string
  readonly kind: string
  readonly taxable: boolean
  readonly fileId: string
  readonly from: number
  readonly to: number
  /** Of a percent 10^-9 percent, of a charge for each unit 10^-9 dollars. */
  readonly amount: bigint
}

export interface FixedCharges {
  readonly amounts: readonly Charge[]
  /** Percents of the taxable lines, in 10^-9 percent. */
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
  const of = (isIn: (row: RateRow['row']) => boolean, scale: Scale) =>
    charges.filter(({ row }) => isIn(row.row)).map((one) => toCharge(one, scale(one)))
  const isMinimum = (row: RateRow['row']) => row['Kind'] === 'Minimum'
  const isAmount = (row: RateRow['row']) => /^Per(Period|Day|Month)$/.test(row['Basis'] ?? '')
  const scale: Scale = (version) => amountOf(version, days, rules)
  return {
    amounts: of((row) => !isMinimum(row) && isAmount(row), scale),
    percents: of(
      (row) => !isMinimum(row) && row['Basis'] === 'Percent',
      ({ row }) => nanosOf(row.row['Amount']),
    ),
    minimums: of(isMinimum, scale),
  }
}

/** Charges for each unit of energy are priced as a flat rate is, a line for each of their versions. */
export function compilePerUnit(
  rows: readonly RateRow[],
  interval: RateInterval,
): readonly Component[] {
  const own = rows.filter(({ row }) => row['Basis'] === 'PerUnit' && row['Kind'] !== 'Minimum')
  return groupRows(own, 'Name').map((versions) => {
    const { seasons, segmentOf } = cutDays(toSeasons(versions, interval), interval)
    const name = versions[0]?.row['Name'] ?? ''
    return {
      name,
      segmentOf,
      lines: seasons.flatMap(({ rows: [row], from, to }, at) => {
        if (row === undefined) return []
        const { amount, ...charge } = toCharge({ row, from, to }, nanosOf(row.row['Amount']))
        const line = { component: name, tier: 0, price: amount, through: [at + 1], before: [] }
        return [{ ...charge, ...line }]
      }),
    }
  })
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
  return toSeasons(rows, { from, to }).flatMap((season) => {
    const [row] = season.rows
    if (row === undefined || season.from > to || season.to < from) return []
    const own = { row, from: Math.max(from, season.from), to: Math.min(to, season.to) }
    if (/^Per(Day|Month)$/.test(row.row['Basis'] ?? '')) return [own]
    return own.to === period.to ? [{ ...own, from }] : []
  })
}

function amountOf({ row, from, to }: VersionDays, { period }: FixedDays, rules: Rules): bigint {
  const price = nanosOf(row.row['Amount']) * 1_000n
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

function toCharge({ row: { row, fileId }, from, to }: VersionDays, amount: bigint): Charge {
  const kind = row['Kind'] ?? ''
  return {
    name: row['Name'] ?? '',
    kind,
    taxable: row['Taxable'] === 'true',
    fileId,
    from,
    to,
    amount: kind === 'Credit' && amount > 0n ? -amount : amount,
  }
}
