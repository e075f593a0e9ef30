import t from 'tap'
import { renderComparison } from '../../../../infra/commands/compare.js'
import { compare } from '../../../../pipeline/bills/compare/compare.js'
import { findYears } from '../../../../pipeline/bills/period.js'
import { type At, customerAt } from '../../customers/registering.js'
import { billRig, steady } from '../rig.js'

const rig = await billRig(t)
/** The quarter's first midnight in Detroit, and the hours from then on: November has one more. */
const november = { from: '2025-11-01T04:00:00Z', seconds: 3_600 }
const hours = { quarter: 2_209, november: 721 }
const periods = ['2025-11-01,2025-11-30', '2025-12-01,2025-12-31', '2026-01-01,2026-01-31']
const known = (meterId: string, rateCode: string, { cycle = '7', ...more } = none) => {
  const own = { clientId: `c${meterId}`, accountNumber: `A${meterId}`, meterId, rateCode }
  const customer = customerAt({ ...own, ...more })
  const meters = customer.meters.map((one) => ({ ...one, billingCycleId: cycle }))
  return rig.register({ ...customer, meters })
}
const none: Pick<Partial<At>, 'meterType' | 'unitOfMeasure'> & { readonly cycle?: string } = {}

interface Compared {
  readonly rate: string
  readonly own: boolean
  readonly status: string
  readonly reason: string
  readonly total: string | null
}
const found = async (meter: string) =>
  rig.store.rows<Compared>({
    sql: `SELECT rate_code AS rate, is_own AS own, status, reason, toString(total) AS total
      FROM rate_comparison WHERE meter_id = {meter:String} ORDER BY rate_code`,
    parameters: { meter },
  })
const totals = async (meter: string) =>
  Object.fromEntries((await found(meter)).map(({ rate, total }) => [rate, total]))

await rig.publish({
  RateCodes: [
    'FLAT,Flat,Flat,,',
    'TOU,Time of use,TOU,,',
    'TIER,Tiered,Tiered,,',
    'ENDED,Ended,Flat,,',
    'EMPTY,Nothing,TOU,,',
    'GAS,Gas,Flat,Gas,ccf',
    'CUBIC,Gas in cubic metres,Flat,Gas,cm',
  ],
  RateFlat: [
    'FLAT,0.1,2025-01-01,,',
    'ENDED,0.1,2025-01-01,2026-01-10,',
    'GAS,0.9,2025-01-01,,',
    'CUBIC,0.3,2025-01-01,,',
  ],
  RateTou: ['TOU,Peak,0.2,14,19,--01-01,--12-31,,', 'TOU,Off-Peak,0.08,19,14,--01-01,--12-31,,'],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  RateFixed: [
    'TOU,Service charge,Service,PerMonth,8.5,true,2025-01-01,',
    'TOU,Tax,TaxPercent,Percent,4,false,2025-01-01,',
  ],
  Holidays: ['2026-01-01,New Year,'],
})

t.test('without a registered meter or an ended period it says what to do', async (t) => {
  await t.rejects(compare(rig.context()), /no meter is registered: run tieline register first/)
  await known('silent', 'FLAT')
  await known('elsewhere', 'FLAT', { cycle: '8' })
  await t.rejects(
    compare(rig.context()),
    /no period of the cycles .*"7", "8".* has ended: load their BillingCycles/,
  )
})

t.test('a meter is compared under every rate of its commodity, as worked by hand', async (t) => {
  await rig.publish({ BillingCycles: periods.map((days) => `7,${days}`) })
  await known('whole', 'TOU')
  await rig.read({ meter: 'whole', ...november, quantities: steady('1', hours.quarter) })
  const summary = await compare(rig.context())
  t.match(summary, {
    cycles: [{ cycleId: '7', first: '2025-11-01', last: '2026-01-31', periods: 3 }],
    skipped: [{ cycleId: '8', meters: 1 }],
    rateCodes: 7,
    meters: 2,
    comparisons: { compared: 3, noUsage: 3, noPrice: 2, noRate: 2 },
  })
  const text = renderComparison(summary)
  t.match(text, /^2 meters, 7 rate codes: 3 of 10 comparisons are complete/)
  t.match(text, /noUsage +3 +no interval of these days has arrived/)
  t.match(
    text,
    /cycle "8" has no ended period and 1 meters were skipped; load its BillingCycles file/,
  )
  // FLAT 2,209 x 0.10. TIER: 300 or 310 of each month at 0.10, the other 421, 434 and 434 at 0.20.
  // TOU: working days are 20, 23 and, less New Year, 21, of 5 peak hours each; with 8.50 and 4 %
  // they come to 20.00 + 49.68 + 8.50 + 3.13, 23.00 + 50.32 + 8.50 + 3.27, 21.00 + 51.12 + 8.50 + 3.22.
  t.same(await totals('whole'), {
    EMPTY: null,
    ENDED: null,
    FLAT: '220.9',
    TIER: '349.8',
    TOU: '250.24',
  })
  const [own] = await rig.store.rows({
    sql: `SELECT * EXCEPT (run, published_at) FROM rate_comparison WHERE meter_id = 'whole' AND is_own`,
  })
  t.match(own, {
    account_number: 'Awhole',
    client_ids: ['cwhole'],
    billing_cycle_id: '7',
    commodity: 'Electric',
    rate_code: 'TOU',
    start_date: '2025-11-01',
    last_date: '2026-01-31',
    days: 92,
    periods: 3,
    periods_priced: 3,
    intervals_expected: hours.quarter,
    intervals_present: hours.quarter,
    quantity: '2209',
    unit: 'kWh',
  })
})

t.test('where a rate cannot be priced for a meter it says why', async (t) => {
  const all = { ...november, quantities: steady('1', hours.quarter) }
  await known('daily', 'FLAT')
  const days = { meter: 'daily', from: november.from, seconds: 86_400 }
  await rig.read({ ...days, quantities: steady('24', 92) })
  await known('unknown', 'NONE', { unitOfMeasure: 'Wh' })
  await rig.read({ meter: 'unknown', ...all, quantities: steady('1000', hours.quarter) })
  await known('gas', 'GAS', { meterType: 'Gas', unitOfMeasure: 'ccf' })
  await rig.read({ ...days, meter: 'gas', commodity: 'Gas', quantities: steady('2', 92) })
  await known('first', 'FLAT')
  await rig.read({ meter: 'first', ...november, quantities: steady('1', hours.november) })
  await known('half', 'FLAT')
  await rig.read({ meter: 'half', ...november, quantities: steady('1', hours.quarter - 100) })
  await compare(rig.context())
  const of = async (meter: string, rate: string) =>
    (await found(meter)).find((one) => one.rate === rate)
  t.match(await of('whole', 'ENDED'), {
    status: 'noPrice',
    reason: 'rate code ENDED: no price on 2026-01-11',
    total: null,
  })
  t.match(await of('whole', 'EMPTY'), { status: 'noRate', reason: /there is no row of RateTou/ })
  t.match(await of('daily', 'TOU'), {
    status: 'notProjectable',
    reason: /intervals of 86400 seconds are too long for a rate/,
    total: null,
  })
  t.match(await of('daily', 'TIER'), { status: 'compared', total: '349.6' }, '92 days of 24')
  t.match(await of('silent', 'FLAT'), {
    status: 'noUsage',
    reason: 'no interval of these days has arrived',
    total: null,
  })
  t.match(await of('unknown', 'NONE'), {
    own: true,
    status: 'noRate',
    reason: 'rate code "NONE" is not known',
  })
  t.same(
    await rig.store.rows({
      sql: `SELECT DISTINCT commodity, unit, toString(quantity) AS quantity
        FROM rate_comparison WHERE meter_id = 'unknown'`,
    }),
    [{ commodity: 'Electric', unit: 'kWh', quantity: '2209' }],
  )
  t.match(await of('unknown', 'FLAT'), { own: false, status: 'compared', total: '220.9' })
  t.same(
    (await found('gas')).map(({ rate, status, total }) => [rate, status, total]),
    [
      ['CUBIC', 'unit', null],
      ['GAS', 'compared', '165.6'],
    ],
  )
  t.match(await of('gas', 'CUBIC'), {
    reason: 'the meter is read in ccf, the rate is priced in cm',
  })
  t.match(await of('first', 'FLAT'), {
    status: 'incomplete',
    reason: '2 of 3 periods have no interval',
    total: '72.1',
  })
  t.match(await of('half', 'FLAT'), {
    status: 'incomplete',
    reason: '2109 of 2209 intervals have arrived',
    total: '210.9',
  })
})

t.test('who moved in is compared by the own days, who moved out no more', async (t) => {
  const at = { meterId: 'moved', rateCode: 'FLAT' }
  await rig.register(customerAt({ ...at, clientId: '1', accountNumber: 'B1' }))
  await rig.read({
    meter: 'moved',
    account: 'B1',
    ...november,
    quantities: steady('1', hours.november),
  })
  const from = '2025-12-11T05:00:00Z'
  await rig.read({
    meter: 'moved',
    account: 'B2',
    from,
    seconds: 3_600,
    quantities: steady('2', 1_248),
  })
  await rig.register(customerAt({ ...at, clientId: '2', accountNumber: 'B2' }))
  await compare(rig.context())
  t.same(
    await rig.store.rows({
      sql: `SELECT account_number AS account, toString(start_date) AS first, periods, toString(total) AS total
        FROM rate_comparison WHERE meter_id = 'moved' AND is_own`,
    }),
    [{ account: 'B2', first: '2025-12-11', periods: 2, total: '249.6' }],
  )
})

t.test('under the own rate it is the sum of the bills of the same days', async (t) => {
  for (const days of periods) await rig.bill({ start: days.slice(0, 10) })
  const sums = await rig.store.rows<{ meter: string; wanted: string; found: string }>({
    sql: `SELECT c.meter_id AS meter, toString(b.total) AS wanted, toString(c.total) AS found
      FROM (SELECT * FROM rate_comparison WHERE is_own AND total IS NOT NULL) AS c
      INNER JOIN (SELECT meter_id, account_number, sum(total) AS total FROM projected_bill GROUP BY ALL) AS b
        ON b.meter_id = c.meter_id AND b.account_number = c.account_number
      ORDER BY meter`,
  })
  t.same(
    sums.map(({ meter }) => meter),
    ['daily', 'first', 'gas', 'half', 'moved', 'whole'],
  )
  for (const { meter, wanted, found } of sums) t.equal(found, wanted, meter)
})

t.test('readers see the old comparison until the new one is whole, then that alone', async (t) => {
  const shown = () =>
    rig.store.rows<Compared>({ sql: 'SELECT * FROM rate_comparison ORDER BY ALL' })
  const before = await shown()
  await rig.publish({ RateFlat: ['FLAT,0.5,2025-01-01,,'] })
  const context = rig.context()
  let [written, seen]: [unknown, unknown] = [undefined, undefined]
  const store: typeof context.store = {
    ...context.store,
    insert: async (table, ...rest) => {
      if (table === 'publication') {
        seen = await shown()
        written = await context.store.rows({
          sql: 'SELECT toString(uniqExact(run)) AS runs FROM rate_comparison_row',
        })
      }
      return context.store.insert(table, ...rest)
    },
  }
  const { run } = await compare({ ...context, store })
  t.same(written, [{ runs: '2' }], 'all is written, those before the last are gone')
  t.same(seen, before, 'and nothing of it is seen')
  const after = await rig.store.rows<{ run: string }>({
    sql: 'SELECT DISTINCT run FROM rate_comparison',
  })
  t.same(after, [{ run }])
  t.match(await totals('whole'), { FLAT: '1104.5', TOU: '250.24' })
  t.same(
    await rig.store.rows({
      sql: `SELECT name FROM system.tables WHERE match(name, '^bill_[a-z]+_2')`,
    }),
    [],
    'nothing is left behind',
  )
  t.match(await rig.store.rows({ sql: `SELECT * FROM comparison_run WHERE run = '${run}'` }), [
    { cycles: ['7'], rate_codes: ['FLAT', 'TOU', 'TIER', 'ENDED', 'EMPTY', 'GAS', 'CUBIC'] },
  ])
})

t.test('the last 12 months are the periods of the year up to the latest ended one', async (t) => {
  const day = (month: number, of: number) => new Date(Date.UTC(2025, month, of)).toISOString()
  const days = (at: number) => [day(at, 5).slice(0, 10), day(at + 1, 4).slice(0, 10)]
  const months = Array.from({ length: 16 }, (_, at) => `8,${days(at).join(',')}`)
  await rig.publish({ BillingCycles: months })
  const spanOn = async (today: string) => {
    const [seven, eight] = await findYears(rig.store, ['DEMO'], today)
    t.same(seven?.periods, [], 'a cycle that the schedule knows no more')
    return [eight?.periods[0]?.first, eight?.periods.at(-1)?.last, eight?.periods.length]
  }
  t.same(await spanOn('2026-03-05'), ['2025-03-05', '2026-03-04', 12])
  t.same(await spanOn('2026-03-04'), ['2025-02-05', '2026-02-04', 12])
})
