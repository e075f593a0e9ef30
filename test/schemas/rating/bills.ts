import { toDays } from '../../../schemas/lint/finding.js'
import { divideRounded } from '../../../schemas/rating/amount.js'
import type { EnergyLine } from '../../../schemas/rating/kind.js'
import { createPlan, type Plan } from '../../../schemas/rating/plan.js'
import type { RateBook, RateRow } from '../../../schemas/rating/rate-book.js'
import { createSlots, type PeriodClock, type Slots } from '../../../schemas/rating/slots.js'
import { type BillingRules, billingSettings } from '../../../schemas/settings/billing.js'
import { createZone } from '../../../schemas/time/zone.js'
import { placed } from '../lint/placed.js'

export const rules = billingSettings.parse({})

/** Rows of rate files by feed, as the files have them. */
export type RateFiles = Readonly<Record<string, readonly string[]>>

export function bookOf(files: RateFiles): RateBook {
  const rowsOf = (feed: string): readonly RateRow[] =>
    placed(feed, ...(files[feed] ?? [])).map((row) => ({ ...row, fileId: `file of ${feed}` }))
  const holidays = new Set((files['Holidays'] ?? []).map((date) => toDays(date)))
  return {
    codes: new Map(rowsOf('RateCodes').map((one) => [one.row['RateCode'] ?? '', one])),
    rows: (feed, code) => rowsOf(feed).filter(({ row }) => row['RateCode'] === code),
    holidays: () => holidays,
  }
}

export interface BillOf {
  readonly files: RateFiles
  readonly first: string
  readonly last: string
  readonly timeZone?: string
  readonly periodClock?: PeriodClock
  readonly rules?: Partial<BillingRules>
  /** Rate codes with the day on which each begins to hold; `R` all the time where not given. */
  readonly rates?: readonly { readonly rateCode: string; readonly first: string }[]
}

export function planOf(bill: BillOf) {
  const [from, to] = [toDays(bill.first), toDays(bill.last)]
  const zone = createZone(bill.timeZone ?? 'America/Detroit')
  const slots = createSlots(zone, { from: from - 1, to: to + 1 }, bill.periodClock ?? 'wall')
  const codes = bill.rates ?? [{ rateCode: 'R', first: bill.first }]
  const rates = codes.map(({ rateCode, first }, at) => {
    const next = codes[at + 1]?.first
    return { rateCode, from: toDays(first), to: next === undefined ? to : toDays(next) - 1 }
  })
  const context = { book: bookOf(bill.files), slots, rules: { ...rules, ...bill.rules } }
  return { plan: createPlan(context, { from, to, rates }), slots, rules: context.rules }
}

export type PricedLine = readonly [name: string, quantity: number | undefined, amount: number]

const cent = 10n ** 10n

/** Prices a plan by big integers, slot by slot: what the store's statement must come to. */
export function price(
  plan: Plan,
  slots: Slots,
  usage: { readonly rules: BillingRules; readonly microsAt: (slot: number) => bigint },
): { readonly lines: readonly PricedLine[]; readonly total: number } {
  const toLine = usage.rules.rounding === 'line' ? cent : 10n ** 6n
  const round = (amount: bigint) => divideRounded(amount, toLine) * toLine
  const sumOf = (segmentOf: Uint16Array, segments: readonly number[]) => {
    let sum = 0n
    for (let slot = 0; slot < slots.count; slot++) {
      if (segments.includes(segmentOf[slot] as number)) sum += usage.microsAt(slot)
    }
    return sum
  }
  const clip = (sum: bigint, { lower, upper }: EnergyLine) => {
    const above = lower !== undefined && sum < lower ? lower : sum
    return upper !== undefined && above > upper ? upper : above
  }
  const energy = plan.components.flatMap(({ segmentOf, lines }) =>
    lines.map((line) => {
      const through = clip(sumOf(segmentOf, line.through), line)
      const quantity = through - clip(sumOf(segmentOf, line.before), line)
      return {
        ...line,
        quantity,
        amount: divideRounded(quantity * line.price, 1_000n * toLine) * toLine,
      }
    }),
  )
  const fixed = plan.fixed.amounts.map((one) => ({ ...one, amount: round(one.amount) }))
  const taxed = sum([...energy, ...fixed].filter(({ taxable }) => taxable))
  const taxes = plan.fixed.percents.map((one) => ({
    ...one,
    amount: divideRounded(taxed * one.amount, 100_000_000_000n * toLine) * toLine,
  }))
  const before = sum([...energy, ...fixed, ...taxes])
  const least = sum(plan.fixed.minimums)
  const isShort = plan.fixed.minimums.length > 0 && least > before
  const missing = isShort ? round(least - before) : 0n
  const minimum = missing > 0n ? [{ name: 'Minimum', amount: missing }] : []
  const toTotal = usage.rules.rounding === 'none' ? 10n ** 6n : cent
  return {
    lines: [...energy, ...fixed, ...taxes, ...minimum].map((line) => [
      line.name,
      'quantity' in line ? Number(line.quantity) / 1e6 : undefined,
      Number(line.amount) / 1e12,
    ]),
    total: Number(divideRounded(before + missing, toTotal) * toTotal) / 1e12,
  }
}

function sum(lines: readonly { readonly amount: bigint }[]): bigint {
  return lines.reduce((total, { amount }) => total + amount, 0n)
}

/** The bill of a meter that uses the same in every quarter hour of the period. */
export function steadyBill(bill: BillOf, kwhEachQuarter: number) {
  const { plan, slots, rules } = planOf(bill)
  if ('reason' in plan) throw new Error(plan.reason)
  const micros = BigInt(Math.round(kwhEachQuarter * 1e6))
  return price(plan, slots, { rules, microsAt: () => micros })
}
