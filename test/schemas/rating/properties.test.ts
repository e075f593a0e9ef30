import fc from 'fast-check'
import t from 'tap'
import { sampled } from '../sampled.js'
import { type BillOf, planOf, price } from './bills.js'

/** A month with a clock change in it, of a rate of any kind, used by any quarter hours. */
const days = { first: '2026-03-01', last: '2026-03-31' }
const prices = fc.integer({ min: 1, max: 900_000 }).map((micros) => (micros / 1e6).toFixed(6))
const usage = fc.array(fc.integer({ min: 0, max: 5_000_000 }), { minLength: 1, maxLength: 50 })

function billOf(bill: BillOf, quarters: readonly number[]) {
  const { plan, slots, rules } = planOf({ rules: { rounding: 'none' }, ...bill })
  if ('reason' in plan) throw new Error(plan.reason)
  const microsAt = (slot: number) => BigInt(quarters[slot % quarters.length] ?? 0)
  return price(plan, slots, { rules, microsAt })
}

const flatAt = (amount: string): BillOf => ({
  ...days,
  files: { RateCodes: ['R,x,Flat,,'], RateFlat: [`R,${amount},2025-01-01,,`] },
})
/** A plan of a month takes some milliseconds. */
const runs = 100
/** Lines are rounded to millionths of a dollar each. */
const near = (own: number, other: number) => Math.abs(own - other) < 0.00001

t.test('time of use with one price everywhere is the flat rate', async (t) => {
  const hours = fc.integer({ min: 0, max: 23 })
  sampled(
    t,
    fc.property(prices, usage, hours, hours, (amount, quarters, start, end) => {
      fc.pre(start !== end)
      const own: BillOf = {
        ...days,
        files: {
          RateCodes: ['R,x,TOU,,'],
          RateTou: [
            `R,Peak,${amount},${start},${end},--01-01,--12-31,,`,
            `R,Off-Peak,${amount},${end},${start},--01-01,--12-31,,`,
          ],
        },
      }
      return near(billOf(own, quarters).total, billOf(flatAt(amount), quarters).total)
    }),
    runs,
  )
})

t.test('tiers of one price are the flat rate', async (t) => {
  const factor = fc.integer({ min: 1, max: 60 })
  sampled(
    t,
    fc.property(prices, usage, factor, (amount, quarters, limit) => {
      const own: BillOf = {
        ...days,
        files: {
          RateCodes: ['R,x,Tiered,,'],
          RateTiers: [
            `R,1,${limit},${amount},2025-01-01,,,`,
            `R,2,${limit * 3},${amount},2025-01-01,,,`,
            `R,3,,${amount},2025-01-01,,,`,
          ],
        },
      }
      return near(billOf(own, quarters).total, billOf(flatAt(amount), quarters).total)
    }),
    runs,
  )
})

t.test('the bills of the days add up to the bill of the period', async (t) => {
  sampled(
    t,
    fc.property(prices, prices, usage, (peak, low, quarters) => {
      const files = {
        RateCodes: ['R,x,TOU,,'],
        RateTou: [
          `R,Peak,${peak},14,19,--01-01,--12-31,,`,
          `R,Off-Peak,${low},19,14,--01-01,--12-31,,`,
        ],
      }
      const { plan, slots, rules } = planOf({ ...days, files, rules: { rounding: 'none' } })
      if ('reason' in plan) throw new Error(plan.reason)
      const microsAt = (slot: number) => BigInt(quarters[slot % quarters.length] ?? 0)
      let sum = 0
      for (
        let day = slots.periodDay[0] as number;
        day <= (slots.periodDay.at(-1) as number);
        day++
      ) {
        const ofDay = (slot: number) => (slots.periodDay[slot] === day ? microsAt(slot) : 0n)
        sum += price(plan, slots, { rules, microsAt: ofDay }).total
      }
      return near(sum / 31, price(plan, slots, { rules, microsAt }).total / 31)
    }),
    runs / 4,
  )
})
