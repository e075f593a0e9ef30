import t from 'tap'
import { readRates } from '../../../pipeline/bills/rates.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { fromDays, toDays } from '../../../schemas/lint/finding.js'
import { createCounterfactual, pricingsOf } from '../../../schemas/rating/counterfactual.js'
import { createSlots } from '../../../schemas/rating/slots.js'
import { billingSettings } from '../../../schemas/settings/billing.js'
import { createLineByHand } from '../by-hand.js'

const line = await createLineByHand(t)
const { store, ledger } = line.context

/** Loads files by feed, each with its header first, one after the other. */
async function load(date: string, files: Readonly<Record<string, readonly string[]>>) {
  const arrivals: number[] = []
  for (const [feed, [header, ...rows]] of Object.entries(files)) {
    arrivals.push(await line.takeIn(`DEMO_${date}_${feed}.csv`, rows, header))
  }
  for (const arrival of arrivals) await reconcile(line.context, arrival)
  const states = await Promise.all(arrivals.map((arrival) => ledger.state(arrival)))
  t.same(
    states.map((state) => state?.reason || state?.status),
    arrivals.map(() => 'published'),
  )
  return states
}

const texts = async (sql: string) =>
  (await store.rows<{ text: string }>({ sql })).map((row) => row.text)

const codes = (...all: readonly string[]) => ['RateCode,Description,RateType', ...all]
const fixed = (...rows: readonly string[]) => [
  'RateCode,Name,Kind,Basis,Amount,Taxable,RateStartDate,RateEndDate',
  ...rows,
]
const flat = (...rows: readonly string[]) => ['RateCode,Amount,RateStartDate,RateEndDate', ...rows]
const tou = (amount: string) => [
  'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate,DayType',
  `T,Summer,${amount},0,24,--06-01,--09-30,All`,
  `T,Winter,${amount},0,24,--10-01,--05-31,All`,
]

t.test('a period stays until the first one of its cycle in a later version', async (t) => {
  const cycles = (...rows: readonly string[]) => ['BillingCycleID,StartDate,EndDate', ...rows]
  await load('15112025', {
    BillingCycles: cycles(
      ...['1,2025-11-04,2025-12-02', '1,2025-12-03,2026-01-02'],
      ...['20,2025-11-29,2025-12-30', '30,2025-11-20,2025-12-19', '30,2025-12-20,2026-01-19'],
    ),
  })
  const [state] = await load('31122025', {
    BillingCycles: cycles('1,2025-12-03,2026-01-04', '20,2026-01-02,2026-01-30'),
  })
  t.equal(
    state?.notes.warnings?.at(-1),
    'cycle 20 has no period from 2025-12-31 to 2026-01-01: it ends in DEMO_15112025_BillingCycles.csv before it starts here',
  )
  t.same(
    await texts(`SELECT concat(billing_cycle_id, ' ', toString(start_date), ' ', toString(last_date)) AS text
      FROM billing_cycle ORDER BY text`),
    [
      ...['1 2025-11-04 2025-12-02', '1 2025-12-03 2026-01-04'],
      ...['20 2025-11-29 2025-12-30', '20 2026-01-02 2026-01-30'],
      '30 2025-11-20 2025-12-19',
    ],
    'of a cycle that is gone, the periods that ended before the day of the file',
  )
})

t.test('a price applies until its rate code begins in a later version', async (t) => {
  await load('05012025', {
    RateCodes: codes('R1,One,Flat', 'R2,Two,Flat', 'R3,Three,Flat', 'T,Windows,TOU'),
    RateFlat: flat('R1,0.1,2020-01-01,', 'R2,0.2,2020-01-01,', 'R3,0.3,2020-01-01,'),
    RateFixed: fixed(
      'R1,Customer,Service,PerMonth,10,true,2025-01-01,2025-12-31',
      'R2,Customer,Service,PerMonth,8,true,2020-01-01,',
      'R3,Customer,Service,PerMonth,7,true,2020-01-01,',
    ),
    RateTou: tou('0.5'),
  })
  await load('15122025', {
    RateFlat: flat('R1,0.12,2026-01-01,', 'R2,0.2,2020-01-01,'),
    RateFixed: fixed(
      'R1,Customer,Service,PerMonth,12,true,2026-01-01,',
      'R2,Customer,Service,PerMonth,8,true,2020-01-01,',
    ),
    RateCodes: codes('R1,One,Flat', 'R2,Two,Flat', 'T,Windows,TOU'),
  })
  const rowsOf = (view: string) =>
    texts(`SELECT concat(rate_code, ' ', toString(toFloat64(amount)), ' ', toString(rate_start_date), ' ',
        ifNull(toString(rate_end_date), '')) AS text FROM ${view} ORDER BY text`)
  t.same(await rowsOf('rate_flat'), [
    ...['R1 0.1 2020-01-01 2025-12-31', 'R1 0.12 2026-01-01 ', 'R2 0.2 2020-01-01 '],
    'R3 0.3 2020-01-01 2025-12-14',
  ])
  t.same(await rowsOf('rate_fixed'), [
    ...['R1 10 2025-01-01 2025-12-31', 'R1 12 2026-01-01 ', 'R2 8 2020-01-01 '],
    'R3 7 2020-01-01 2025-12-14',
  ])
})

t.test(
  'a row of every year applies from the day of its file, behind an earlier version',
  async (t) => {
    const [state] = await load('15032026', { RateTou: tou('0.6') })
    t.match(state?.notes.warnings?.at(-1), /RateTou.* of T .*2026-03-15.*DEMO_05012025_RateTou.csv/)
    await load('20042026', { RateTou: tou('0.7') })
    const { book } = await readRates(store, ['DEMO'])
    t.same(
      book.rows('RateTou', 'T').map(({ row, during }) => {
        const { from, to } = during ?? { from: 0, to: 0 }
        return [row['Name'], Number(row['Amount']), from && fromDays(from), fromDays(to)].join(' ')
      }),
      [
        ...['Summer 0.5 0 2026-03-14', 'Winter 0.5 0 2026-03-14'],
        ...['Summer 0.6 2026-03-15 2026-04-19', 'Winter 0.6 2026-03-15 2026-04-19'],
        ...['Summer 0.7 2026-04-20 2149-06-06', 'Winter 0.7 2026-04-20 2149-06-06'],
      ],
    )
    const pricedIn = (first: string, last: string, pricing: number) => {
      const [from, to] = [toDays(first), toDays(last)]
      const slots = createSlots(line.context.zone, { from: from - 1, to: to + 1 }, 'wall')
      const days = { from, to, rates: [{ rateCode: 'T', from, to }] }
      const context = { book, slots, rules: billingSettings.parse({}) }
      const plan = createCounterfactual(context, days, { shift: 0, pricing, tier: 0 })
      if ('reason' in plan) throw new Error(plan.reason)
      const lines = plan.components.flatMap((component) => component.lines)
      return {
        pricings: pricingsOf(book, days),
        lines: lines.map((one) =>
          [Number(one.price) / 1e9, fromDays(one.from), fromDays(one.to)].join(' '),
        ),
      }
    }
    t.same(pricedIn('2026-03-01', '2026-03-31', 0), {
      pricings: [0, 1, 2],
      lines: ['0.5 2026-03-01 2026-03-14', '0.6 2026-03-15 2026-03-31'],
    })
    t.match(pricedIn('2026-03-01', '2026-03-31', 1), { lines: ['0.5 2026-03-01 2026-03-31'] })
    t.match(pricedIn('2026-03-01', '2026-03-31', 2), { lines: ['0.6 2026-03-01 2026-03-31'] })
    t.same(pricedIn('2024-03-01', '2024-03-31', 0), {
      pricings: [0],
      lines: ['0.5 2024-03-01 2024-03-31'],
    })
    const [holidays] = await load('21042026', {
      Holidays: ['Date,Name', '2026-07-03,Independence Day'],
    })
    t.notOk(
      /HOUR/.test(JSON.stringify(holidays?.notes)),
      'versions that are replaced are not judged again',
    )
  },
)
