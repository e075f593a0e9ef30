import t from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import { customerAt } from '../customers/registering.js'
import { costsAddUp } from './costs.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
const january = '2026-01-01T05:00:00Z'

await rig.publish({
  RateCodes: ['TOU,TOU,TOU,,', 'TIER,Tiered,Tiered,,'],
  RateTou: [
    'TOU,Peak,1,14,19,--01-01,--12-31,Weekday,',
    'TOU,Off-Peak,0.1,19,14,--01-01,--12-31,Weekday,',
  ],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  RateFixed: [
    'TOU,Service,Service,PerDay,0.96,true,2025-01-01,',
    'TOU,Tax,TaxPercent,Percent,10,false,2025-01-01,',
    'TIER,Credit,Credit,PerPeriod,3.1,false,2025-01-01,',
    'TIER,Least,Minimum,PerPeriod,60,false,2025-01-01,',
  ],
  BillingCycles: [
    '7,2026-01-01,2026-01-31',
    '8,2025-10-20,2025-11-18',
    '9,2026-01-01,2026-01-31',
    '10,2026-01-01,2026-01-31',
    '11,2026-07-01,2026-07-31',
    '12,2026-01-01,2026-01-31',
    '13,2026-07-01,2026-07-31',
  ],
})
const customer = (meterId: string, rateCode: string, billingCycleId = '7') => {
  const unitOfMeasure = meterId === 'fine' ? 'Wh' : 'kWh'
  const at = { clientId: meterId, accountNumber: `A${meterId}`, meterId, rateCode, unitOfMeasure }
  const one = customerAt(at)
  return { ...one, meters: one.meters.map((meter) => ({ ...meter, billingCycleId })) }
}
await rig.register(
  customer('tou', 'TOU'),
  customer('tier', 'TIER'),
  customer('nem', 'TIER'),
  customer('some', 'TOU'),
  customer('none', 'TOU'),
  customer('unknown', 'NOWHERE'),
  customer('autumn', 'TOU', '8'),
  customer('fine', 'TOU', '9'),
  customer('mixed', 'TOU', '10'),
  customer('summer', 'TOU', '11'),
  customer('finer', 'TOU', '12'),
  customer('five', 'TOU', '13'),
)
const whole = steady('0.25', 2_976)
await rig.read({ meter: 'tou', from: january, quantities: whole })
// 24 kWh a day: the limit of 310 kWh is reached on the 13th, after 22 kWh.
await rig.read({ meter: 'tier', from: january, quantities: whole })
await rig.read({ meter: 'unknown', from: january, quantities: whole })
await rig.read({ meter: 'some', from: january, quantities: steady('0.25', 20 * 96) })
// A kWh is taken at noon of each day and fed in an hour later.
const sunny = Array.from({ length: 744 }, (_, hour) => ['1', '-1'][(hour % 24) - 12] ?? '0')
await rig.read({ meter: 'nem', from: january, seconds: 3_600, quantities: sunny })
await rig.read({ meter: 'fine', from: january, quantities: steady('0.250999', 2_976) })
await rig.read({ meter: 'autumn', from: '2025-10-20T04:00:00Z', quantities: steady('1', 2_884) })
await rig.bill({ start: '2026-01-01' }, { presentShareMin: 0.6 })

/** Starts, quantities, costs, and costs by line of a meter's intervals. */
const costs = (meter: string, where: string) =>
  rig.store.rows<Readonly<Record<string, unknown>>>({
    sql: `SELECT formatDateTime(local_start, '%d %H:%i') AS at, toString(quantity) AS quantity, toString(cost) AS cost,
        arrayMap(one -> toString(one), line_costs) AS lines
      FROM interval_cost AS c WHERE meter_id = {meter:String} AND (${where}) ORDER BY starts_at`,
    parameters: { meter },
  })

t.test('each interval costs its window, its share of the day, and tax on both', async (t) => {
  const at = `local_start >= '2026-01-05 13:45:00' AND local_start <= '2026-01-05 14:00:00'`
  t.same(await costs('tou', at), [
    {
      at: '05 13:45',
      quantity: '0.25',
      cost: '0.0385',
      lines: ['0.025', '0', '0.01', '0.0035', '0'],
    },
    { at: '05 14:00', quantity: '0.25', cost: '0.286', lines: ['0', '0.25', '0.01', '0.026', '0'] },
  ])
})

t.test('an interval is in the tier that the period had reached, or is split', async (t) => {
  const at = `local_start >= '2026-01-13 21:45:00' AND local_start <= '2026-01-13 22:00:00'`
  const [last, first] = await costs('tier', at)
  t.same(
    [last?.['lines'], first?.['lines']].map((lines) => (lines as string[]).slice(0, 2)),
    [
      ['0.025', '0'],
      ['0', '0.05'],
    ],
  )
})

t.test('what is fed in counts against what is used', async (t) => {
  const found = await costs('nem', `local_day = '2026-01-05' AND c.quantity != 0`)
  const energy = found.map(({ quantity, lines }) => [quantity, (lines as string[])[0]])
  t.same(energy, [
    ['1', '0.1'],
    ['-1', '-0.1'],
  ])
})

t.test(
  'days without reads, and bills that cannot be computed, have rows that say so',
  async (t) => {
    const reasons = await rig.store.rows({
      sql: `SELECT meter_id, status, reason != '' AS has_reason, count() AS rows, countIf(cost IS NULL) AS unknown, countIf(quantity IS NULL) AS unread,
        max(seconds) AS seconds
      FROM interval_cost WHERE billing_cycle_id = '7' GROUP BY meter_id, status, has_reason ORDER BY meter_id`,
    })
    const toRow = (one: object) => Object.values(one).map(String).join(' ')
    t.same((reasons as object[]).map(toRow), [
      'nem computed 0 744 0 0 3600',
      'none noUsage 1 1 1 1 2678400',
      'some incomplete 1 1931 0 11 86400',
      'tier computed 0 2976 0 0 900',
      'tou computed 0 2976 0 0 900',
      'unknown noRate 1 2976 2976 0 900',
    ])
    await costsAddUp(t, rig.store)
  },
)

t.test('intervals in Wh lose nothing that was sent', async (t) => {
  await rig.bill({ cycleId: '9', start: '2026-01-01' })
  for (const view of ['interval_cost', 'hour_cost']) {
    const [found] = await rig.store.rows({
      sql: `SELECT toString(sum(quantity)) AS quantity FROM ${view} WHERE meter_id = 'fine'`,
    })
    t.same(found, { quantity: '0.746973024' }, view)
  }
})

t.test('finer reads of an account that nobody has hide no read of the customer', async (t) => {
  await rig.read({ meter: 'mixed', from: january, seconds: 3_600, quantities: steady('1', 744) })
  const foreign = { meter: 'mixed', account: 'NOBODY', from: '2026-01-05T05:00:00Z' }
  await rig.read({ ...foreign, quantities: steady('9', 96) })
  const quantities = async () => {
    await rig.bill({ cycleId: '10', start: '2026-01-01' })
    await costsAddUp(t, rig.store)
    const rows = await rig.store.rows<Readonly<Record<string, string>>>({
      sql: `SELECT toString(any(b.quantity)) AS bill, toString(sum(c.quantity)) AS intervals
        FROM interval_cost AS c INNER JOIN projected_bill AS b ON b.run = c.run AND b.meter_id = c.meter_id WHERE c.meter_id = 'mixed'`,
    })
    return Object.values(rows[0] ?? {})
  }
  t.same(await quantities(), ['744', '744'])
  // Reads of two lengths of his own: they are assigned one by one.
  await rig.read({ meter: 'mixed', from: '2026-01-07T05:00:00Z', quantities: steady('0.5', 96) })
  t.same(await quantities(), ['768', '768'])
})

t.test('both hours of a clock change have their own costs', async (t) => {
  await rig.bill({ cycleId: '8', start: '2025-10-20' })
  const hours = await rig.store.rows({
    sql: `SELECT toString(local_start) AS at, toString(quantity) AS quantity FROM hour_cost
      WHERE meter_id = 'autumn' AND local_day = '2025-11-02' AND toHour(local_start) < 3 ORDER BY starts_at`,
  })
  t.same(hours, [
    { at: '2025-11-02 00:00:00', quantity: '4' },
    { at: '2025-11-02 01:00:00', quantity: '4' },
    { at: '2025-11-02 01:00:00', quantity: '4' },
    { at: '2025-11-02 02:00:00', quantity: '4' },
  ])
})

t.test('an open period has the costs of its days so far, and one row for the rest', async (t) => {
  const now = () => new Date('2026-01-21T17:00:00Z')
  await bill({ ...rig.context(), now }, { cycleId: '7', start: '2026-01-01' })
  const rest = await rig.store.rows({
    sql: `SELECT toString(local_day) AS day, days FROM day_cost WHERE meter_id = 'some' AND is_projected`,
  })
  t.same(rest, [{ day: '2026-01-21', days: 11 }])
  const months = await rig.store.rows({
    sql: `SELECT m.days AS days, m.cost = b.total AS is_whole FROM month_cost AS m
      INNER JOIN projected_bill AS b ON b.meter_id = m.meter_id WHERE m.meter_id = 'some'`,
  })
  t.same(months, [{ days: '31', is_whole: 1 }])
  await costsAddUp(t, rig.store)
})

t.test('only reads of the period decide how long its intervals are', async (t) => {
  const day = { meter: 'finer', from: '2025-12-31T05:00:00Z', seconds: 86_400 }
  await rig.read({ ...day, quantities: ['24'] })
  await rig.read({ meter: 'finer', from: january, quantities: steady('0.25', 60) })
  const bills = async () => {
    await rig.bill({ cycleId: '12', start: '2026-01-01' })
    await costsAddUp(t, rig.store)
    const rows = await rig.bills(
      `meter_id, status, toString(quantity) AS quantity, intervals_present, interval_seconds`,
    )
    return rows.find((row) => row['meter_id'] === 'finer')
  }
  const found = {
    status: 'sparse',
    quantity: '15',
    intervals_present: '60',
    interval_seconds: '900',
  }
  t.match(await bills(), found, 'some have arrived')
  await rig.read({ meter: 'finer', from: january, quantities: whole })
  t.match(await bills(), { status: 'computed', quantity: '744' }, 'none is too long')
})

t.test('an open period that ends by standard time counts no read after its last day', async (t) => {
  // 37 days and a half, from midnight: the period's day of 8 July begins at 1:00.
  const from = '2026-06-01T04:00:00Z'
  await rig.read({ meter: 'summer', from, quantities: steady('1', 37.5 * 96) })
  const now = () => new Date('2026-07-08T17:00:00Z')
  const context = { ...rig.context({ periodClock: 'standard' }), now }
  await bill(context, { cycleId: '11', start: '2026-07-01' })
  const days = await rig.store.rows({
    sql: `SELECT is_projected, toString(quantity) AS quantity FROM day_cost
      WHERE meter_id = 'summer' AND local_day >= '2026-07-07' ORDER BY local_day, is_projected`,
  })
  t.same(days[1], { is_projected: false, quantity: '4' }, 'the hour before 1:00')
})

t.test('reads of five minutes have the prices of their time, however many there are', async (t) => {
  // Monday, 6 July: only from 16:00 on, so as many reads as a day has quarter hours.
  const read = { meter: 'five', seconds: 300 }
  await rig.readAll([
    { ...read, from: '2026-06-30T04:00:00Z', quantities: steady('0.1', 6 * 288) },
    { ...read, from: '2026-07-06T20:00:00Z', quantities: steady('0.1', 27 * 288 + 96) },
  ])
  for (const periodClock of ['wall', 'standard'] as const) {
    await rig.bill({ cycleId: '13', start: '2026-07-01' }, { periodClock })
    const at = `local_start IN ('2026-07-06 18:55:00', '2026-07-06 19:00:00')`
    const energy = (await costs('five', at)).map(({ lines }) => (lines as string[]).slice(0, 2))
    const expected = [
      ['0', '0.1'],
      ['0.01', '0'],
    ]
    t.same(energy, expected, periodClock)
    await costsAddUp(t, rig.store)
  }
})

t.test('a correction changes costs when the bill is computed again', async (t) => {
  const sums = () =>
    rig.store.rows({
      sql: `SELECT toString(sum(cost)) AS cost, toString(sum(quantity)) AS quantity FROM interval_cost WHERE meter_id = 'tou'`,
    })
  const [before] = await sums()
  await rig.read({ meter: 'tou', from: '2026-01-05T19:00:00Z', quantities: ['100'] })
  const [between] = await sums()
  t.same((between as { cost: string }).cost, (before as { cost: string }).cost)
  await rig.bill({ start: '2026-01-01' })
  const [after] = await sums()
  t.not((after as { cost: string }).cost, (before as { cost: string }).cost)
  await costsAddUp(t, rig.store)
})
