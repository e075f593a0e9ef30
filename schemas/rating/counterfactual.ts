import { daysInForce } from '../lint/seasons.js'
import type { Unpriced } from './kind.js'
import { createPlan, type Plan, type PlanContext, type PlanDays } from './plan.js'
import type { RateBook } from './rate-book.js'

/** The whole days by which a bill's first and last day may have been moved; none, then the nearest. */
export const shifts = [
  [0, 0],
  [0, 1],
  [0, -1],
  [1, 0],
  [-1, 0],
  [1, 1],
  [-1, -1],
  [1, -1],
  [-1, 1],
] as const

/** Prices as they hold day by day; those of the day before the bill, or of its last, all the time. */
const pricings = ['daily', 'before', 'last'] as const

/** The days by which a tier's limit may have been longer or shorter than the bill. */
export const tierDays = [0, 1, -1] as const

/** How a bill may have been computed otherwise: places in `shifts`, `pricings` and `tierDays`. */
export interface Counterfactual {
  readonly shift: number
  readonly pricing: number
  readonly tier: number
}

/** The days of a bill as a variant has them; rate codes that have no day left are gone. */
export function shiftDays(days: PlanDays, shift: number): PlanDays {
  const [start, end] = shifts[shift] ?? shifts[0]
  const [from, to] = [days.from + start, days.to + end]
  const rates = days.rates.map((rate) => ({
    ...rate,
    from: rate.from === days.from ? from : rate.from,
    to: rate.to === days.to ? to : rate.to,
  }))
  return { from, to, rates: rates.filter((rate) => rate.from <= rate.to) }
}

/** Makes the plan of a bill that was computed otherwise. `days` are those of the bill as it is. */
export function createCounterfactual(
  context: PlanContext,
  days: PlanDays,
  { shift, pricing, tier }: Counterfactual,
): Plan | Unpriced {
  const day = pricingDay(days, pricing)
  const book = day === undefined ? context.book : bookOf(context.book, day)
  const moreTierDays = tierDays[tier] ?? 0
  return createPlan({ ...context, book }, { ...shiftDays(days, shift), moreTierDays })
}

/** The variants of price that differ from the bill as it is. */
export function pricingsOf(book: RateBook, days: PlanDays): readonly number[] {
  return pricings.flatMap((_, pricing) => {
    const day = pricingDay(days, pricing)
    return day === undefined || differs(book, days, day) ? [pricing] : []
  })
}

function pricingDay(days: PlanDays, pricing: number): number | undefined {
  if (pricings[pricing] === 'before') return days.from - 1
  return pricings[pricing] === 'last' ? days.to : undefined
}

const feeds = ['RateTou', 'RateTiers', 'RateFlat', 'RateFixed'] as const
type Row = ReturnType<RateBook['rows']>[number]

const isYearly = ({ row }: Row) => (row['RateStartDate'] ?? '').startsWith('--')

function holds(row: Row, from: number, to: number): boolean {
  const days = daysInForce(row)
  return days.from <= to && days.to >= from
}

/** Whether some price of the bill is another than that of a day. */
function differs(book: RateBook, days: PlanDays, day: number): boolean {
  const rows = days.rates.flatMap(({ rateCode }) =>
    feeds.flatMap((feed) => book.rows(feed, rateCode)),
  )
  return rows
    .filter((row) => holds(row, days.from, days.to) || holds(row, day, day))
    .some((row) => ![day, days.from, days.to].every((one) => holds(row, one, one)))
}

/** The rates with the rows that hold on one day, as if they held for ever; those of every year in their seasons. */
function bookOf(book: RateBook, day: number): RateBook {
  return {
    ...book,
    rows: (feed, rateCode) =>
      book.rows(feed, rateCode).flatMap((one) => {
        if (!holds(one, day, day)) return []
        const { during: _, ...always } = one
        if (isYearly(one)) return [always]
        return [{ ...one, row: { ...one.row, RateStartDate: '1970-01-01', RateEndDate: null } }]
      }),
  }
}
