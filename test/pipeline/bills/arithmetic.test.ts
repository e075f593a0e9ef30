import fc from 'fast-check'
import t from 'tap'
import { planOf, price, type RateFiles } from '../../schemas/rating/bills.js'
import { customerAt } from '../customers/registering.js'
import { costsAddUp } from './costs.js'
import { billRig } from './rig.js'

/** March 2026 begins at 5:00 UTC in Detroit and lacks an hour on the 8th. */
const period = { first: '2026-03-01', last: '2026-03-31' }
const quarters = 31 * 96 - 4
const seed = Date.now() % 2 ** 31
const meters = 3

/** So many numbers from 0 up to a most, by the seed. */
function numbers(of: string, count: number, max: number): readonly number[] {
  const own = seed + [...of].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 0)
  const [found = []] = fc.sample(
    fc.array(fc.nat({ max }), { minLength: count, maxLength: count }),
    { seed: own % 2 ** 31, numRuns: 1 },
  )
  return found
}

const micros = (value: number) => (value / 1e6).toFixed(6)
const nanos = (value: number) => (value / 1e9).toFixed(9)
const [a, b, c, d, e, f, g] = numbers('prices', 7, 900_000_000).map(nanos)

/** All that a rate may have, with prices by the seed; the codes are those of the customers. */
const files: RateFiles = {
  RateCodes: ['WINDOWS,x,TOU,,', 'STEPS,x,Tiered,,', 'EVEN,x,Flat,,'],
  RateTou: [
    `WINDOWS,Peak,${a},14,19,--01-01,--12-31,Weekday,`,
    `WINDOWS,Off-Peak,${b},19,14,--01-01,--12-31,Weekday,`,
  ],
  RateTiers: [
    `WINDOWS,1,12,0,2025-01-01,,,Baseline`,
    `WINDOWS,2,,${c},2025-01-01,,,Baseline`,
    `STEPS,1,7.5,${a},2025-01-01,2026-03-12,,`,
    `STEPS,2,15,${b},2025-01-01,2026-03-12,,`,
    `STEPS,3,,${c},2025-01-01,2026-03-12,,`,
    `STEPS,1,9,${d},2026-03-13,,,`,
    `STEPS,2,14.333333,${e},2026-03-13,,,`,
    `STEPS,3,,${f},2026-03-13,,,`,
  ],
  RateFlat: [
    `EVEN,${d},2025-01-01,2026-03-20,`,
    `EVEN,${e},2026-03-21,,`,
    `EVEN,${f},2025-01-01,,Delivery`,
  ],
  RateFixed: [
    'WINDOWS,Service charge,Service,PerMonth,8.515000001,true,2025-01-01,',
    `WINDOWS,Fund,Program,PerUnit,${g},true,2025-01-01,`,
    'WINDOWS,State,TaxPercent,Percent,4.225000001,false,2025-01-01,',
    'WINDOWS,City,TaxPercent,Percent,1.1,false,2025-01-01,',
    'STEPS,Customer,Service,PerDay,0.3335,true,2025-01-01,2026-03-05',
    'STEPS,Customer,Service,PerDay,0.4445,true,2026-03-06,',
    'STEPS,Rebate,Credit,PerPeriod,3.335,true,2025-01-01,',
    'STEPS,Tax,TaxPercent,Percent,6.875,false,2025-01-01,',
    'STEPS,Minimum,Minimum,PerPeriod,150.005,false,2025-01-01,',
    'EVEN,Tax,TaxPercent,Percent,9.75,false,2025-01-01,',
  ],
  Holidays: ['2026-03-17,Holiday,'],
}
const bookFiles = { ...files, Holidays: ['2026-03-17'] }
const rateCodes = ['WINDOWS', 'STEPS', 'EVEN']

/** The first meter of each rate feeds in as much as it takes, the second little, the third much. */
function readsOf(meter: string, at: number): readonly number[] {
  const [low, high] = [
    [-500_000, 500_000],
    [0, 90_000],
    [0, 2_000_000],
  ][at] as [number, number]
  return numbers(meter, quarters, high - low).map((value) => value + low)
}

const rig = await billRig(t)
const known = rateCodes.flatMap((rate) =>
  Array.from({ length: meters }, (_, at) => {
    const meter = `${rate}-${at}`
    return { rate, meter, reads: readsOf(meter, at) }
  }),
)
await rig.publish({ ...files, BillingCycles: [`7,${period.first},${period.last}`] })
await rig.register(
  ...known.map(({ meter, rate }) =>
    customerAt({ clientId: meter, accountNumber: `A${meter}`, meterId: meter, rateCode: rate }),
  ),
)
for (const { meter, reads } of known) {
  await rig.read({ meter, from: '2026-03-01T05:00:00Z', quantities: reads.map(micros) })
}

for (const rules of [
  { rounding: 'line' },
  { rounding: 'total', untaxed: ['Delivery', 'Baseline'] },
  { rounding: 'none' },
] as const) {
  t.test(`the store prices as big integers do, rounding ${rules.rounding}`, async (t) => {
    t.comment(`seed ${seed}`)
    const { bills } = await rig.bill({ start: period.first }, rules)
    t.same(bills, { computed: known.length })
    await costsAddUp(t, rig.store)
    const found = await rig.bills('meter_id AS meter, toFloat64(total) AS total, nem')
    for (const { meter, rate, reads } of known) {
      const rates = [{ rateCode: rate, first: period.first }]
      const made = planOf({ files: bookFiles, ...period, rates, rules })
      if ('reason' in made.plan) throw new Error(made.plan.reason)
      const from = made.slots.periodDay.indexOf(made.slots.periodDay[96] as number)
      const microsAt = (slot: number) => BigInt(reads[slot - from] ?? 0)
      const wanted = price(made.plan, made.slots, { rules: made.rules, microsAt })
      const lines = (await rig.lines(meter)).map(([name, quantity, amount]) => [
        name,
        quantity === null ? undefined : Number(quantity),
        Number(amount),
      ])
      t.same(lines, wanted.lines, `${meter}, seed ${seed}`)
      const own = { meter, total: wanted.total, nem: reads.some((value) => value < 0) }
      t.same(
        found.find((one) => one['meter'] === meter),
        own,
      )
    }
  })
}
