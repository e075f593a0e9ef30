import t from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import { customerAt } from '../customers/registering.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
const customer = (meterId: string, rateCode: string, more: object = {}) =>
  customerAt({ clientId: `c${meterId}`, accountNumber: `A${meterId}`, meterId, rateCode, ...more })

/** January 2026 begins at 5:00 UTC in Detroit and has 2,976 quarter hours. */
const january = { from: '2026-01-01T05:00:00Z', quarters: 2_976 }

await rig.publish({
  RateCodes: [
    'FLAT,Flat,Flat,,',
    'TOU,Time of use,TOU,,',
    'TIER,Tiered,Tiered,,',
    'GAS,Gas,Flat,Gas,ccf',
    'HEAT,Gas in therms,Flat,Gas,therm',
    'EMPTY,Nothing,TOU,,',
    'ENDED,Ended,Flat,,',
    'HOLE,An hour without a price,TOU,,',
  ],
  RateFlat: [
    'FLAT,0.1,2025-01-01,,',
    'GAS,0.9,2025-01-01,,',
    'HEAT,1.1,2025-01-01,,',
    'ENDED,0.1,2025-01-01,2026-01-10,',
  ],
  RateTou: [
    'TOU,Peak,0.2,14,19,--01-01,--12-31,,',
    'TOU,Off-Peak,0.08,19,14,--01-01,--12-31,,',
    'HOLE,Day,0.2,0,23,--01-01,--12-31,All,',
  ],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  RateFixed: [
    'TOU,Service charge,Service,PerMonth,8.5,true,2025-01-01,',
    'TOU,Tax,TaxPercent,Percent,4,false,2025-01-01,',
    'TOU,Least,Minimum,PerPeriod,100,false,2025-01-01,',
  ],
  Holidays: ['2026-01-01,New Year,'],
  BillingCycles: ['7,2026-01-01,2026-01-31', '7,2026-02-01,2026-02-28'],
})

t.test('a whole cycle is billed at once, each customer by the rate of the meter', async (t) => {
  await rig.register(
    customer('flat', 'FLAT'),
    customer('tou', 'TOU'),
    customer('tier', 'TIER'),
    customer('wh', 'FLAT', { unitOfMeasure: 'Wh' }),
    customer('gas', 'GAS', { meterType: 'Gas', unitOfMeasure: 'ccf' }),
    customer('heat', 'HEAT', { meterType: 'Gas', unitOfMeasure: 'therm' }),
  )
  for (const meter of ['flat', 'tou', 'tier']) {
    await rig.read({ meter, ...january, quantities: steady('0.25', january.quarters) })
  }
  await rig.read({ meter: 'wh', ...january, quantities: steady('250', january.quarters) })
  const days = { seconds: 86_400, commodity: 'Gas' as const, from: january.from }
  await rig.read({ ...days, meter: 'gas', quantities: steady('2', 31) })
  await rig.read({ ...days, meter: 'heat', quantities: steady('2', 31) })
  const summary = await rig.bill({ start: '2026-01-01' })
  t.match(summary, { first: '2026-01-01', last: '2026-01-31', bills: { computed: 6 }, reasons: [] })
  t.same(
    await rig.bills(
      'meter_id AS meter, toString(total) AS total, toString(quantity) AS quantity, unit',
    ),
    [
      { meter: 'flat', total: '74.4', quantity: '744', unit: 'kWh' },
      { meter: 'gas', total: '55.8', quantity: '62', unit: 'ccf' },
      { meter: 'heat', total: '68.2', quantity: '62', unit: 'therm' },
      { meter: 'tier', total: '117.8', quantity: '744', unit: 'kWh' },
      { meter: 'tou', total: '100', quantity: '744', unit: 'kWh' },
      { meter: 'wh', total: '74.4', quantity: '744', unit: 'kWh' },
    ],
  )
  t.same(await rig.lines('tier'), [
    ['Tier 1', '310', '31'],
    ['Tier 2', '434', '86.8'],
  ])
  // 21 working days of 5 peak hours; (51.12 + 21.00 + 8.50) x 4 % = 3.2248; 100 - 83.84 = 16.16.
  t.same(await rig.lines('tou'), [
    ['Off-Peak', '639', '51.12'],
    ['Peak', '105', '21'],
    ['Service charge', null, '8.5'],
    ['Tax', null, '3.22'],
    ['Least', null, '16.16'],
  ])
})

t.test('a bill that cannot be computed says why, and harms no other', async (t) => {
  const bad = {
    unknown: 'NONE',
    unnamed: 'EMPTY',
    ended: 'ENDED',
    daily: 'TOU',
    half: 'FLAT',
    gaps: 'FLAT',
    hole: 'HOLE',
    silent: 'FLAT',
    ccf: 'GAS',
  }
  await rig.register(...Object.entries(bad).map(([meter, rate]) => customer(meter, rate)))
  for (const meter of ['unknown', 'unnamed', 'ended', 'ccf', 'hole']) {
    await rig.read({ meter, ...january, quantities: steady('0.25', january.quarters) })
  }
  await rig.read({ meter: 'half', ...january, quantities: steady('0.25', january.quarters / 2) })
  await rig.read({ meter: 'gaps', ...january, quantities: steady('0.25', 2_400) })
  const days = { seconds: 86_400, from: january.from }
  await rig.read({ meter: 'daily', ...days, quantities: steady('24', 31) })
  const summary = await rig.bill({ start: '2026-01-01' })
  t.same(summary.bills, {
    computed: 6,
    incomplete: 1,
    sparse: 1,
    noRate: 2,
    noPrice: 2,
    noUsage: 1,
    unit: 1,
    notProjectable: 1,
  })
  const whole = ['flat', 'tou', 'tier', 'wh', 'gas', 'heat']
  t.match(
    summary.reasons.map(({ status, bills }) => [status, bills]),
    [
      ['noPrice', 1],
      ['noPrice', 1],
      ['noRate', 1],
      ['noRate', 1],
      ['incomplete', 1],
      ['noUsage', 1],
      ['notProjectable', 1],
      ['sparse', 1],
      ['unit', 1],
    ].sort(),
  )
  const found = await rig.bills('meter_id AS meter, status, reason, toString(total) AS total')
  t.same(
    found.filter(({ meter }) => !whole.includes(meter as string)),
    [
      {
        meter: 'ccf',
        status: 'unit',
        reason: 'the meter is read in kWh, the rate is priced in ccf',
        total: null,
      },
      {
        meter: 'daily',
        status: 'notProjectable',
        reason:
          'intervals of 86400 seconds are too long for a rate whose price changes within them',
        total: null,
      },
      {
        meter: 'ended',
        status: 'noPrice',
        reason: 'rate code ENDED: no price on 2026-01-11',
        total: null,
      },
      {
        meter: 'gaps',
        status: 'incomplete',
        reason: '2400 of 2976 intervals have arrived',
        total: '60',
      },
      {
        meter: 'half',
        status: 'sparse',
        reason: '1488 of 2976 intervals have arrived; billing.presentShareMin requires 60 %',
        total: null,
      },
      {
        meter: 'hole',
        status: 'noPrice',
        reason: 'rate code HOLE: no price on 2026-01-01 at 23:00',
        total: null,
      },
      {
        meter: 'silent',
        status: 'noUsage',
        reason: 'no interval of the period has arrived',
        total: null,
      },
      { meter: 'unknown', status: 'noRate', reason: 'rate code "NONE" is not known', total: null },
      {
        meter: 'unnamed',
        status: 'noRate',
        reason: 'rate code EMPTY: there is no row of RateTou',
        total: null,
      },
    ],
  )
  t.same(
    found.filter(({ meter }) => whole.includes(meter as string)).map(({ total }) => total),
    ['74.4', '55.8', '68.2', '117.8', '100', '74.4'],
  )
})

t.test('where there is no bill the quantity is in the unit of the meter', async (t) => {
  await rig.register(customer('watts', 'NONE', { unitOfMeasure: 'Wh' }))
  await rig.read({ meter: 'watts', ...january, quantities: steady('250', january.quarters) })
  await rig.bill({ start: '2026-01-01' })
  const found = await rig.bills('meter_id AS meter, toString(quantity) AS quantity, unit')
  const of = (meter: string) => found.find((one) => one['meter'] === meter)
  for (const meter of ['ccf', 'unknown', 'watts', 'ended']) {
    t.same(of(meter), { meter, quantity: '744', unit: 'kWh' })
  }
})

t.test('a cycle or period not in the schedule is reported, with what it has', async (t) => {
  await t.rejects(rig.bill({ cycleId: '8' }), /cycle 8 .* load its BillingCycles file/)
  await t.rejects(rig.bill({ start: '2026-03-01' }), /covers 2026-01-01 to 2026-02-28/)
})

t.test('a run is repeated to the byte, and says what it was made from', async (t) => {
  const bills = () => rig.bills('* EXCEPT (run, published_at, published_seq)')
  const before = await bills()
  const summary = await rig.bill({ start: '2026-01-01' })
  t.same(await bills(), before)
  t.equal(before.length, 16)
  const rowsOf = (run: string) =>
    rig.store.rows({ sql: `SELECT * EXCEPT run FROM bill_row WHERE run = '${run}'` })
  const known = await rig.bill({ start: '2026-01-01', asOf: new Date(Date.now() + 1_000) })
  t.same(await rowsOf(known.run), await rowsOf(summary.run), 'as it is known now')
  const [run] = await rig.store.rows({
    sql: `SELECT toString(total) AS total, length(rate_file_ids) AS files, cycle_file_id != '' AS cycle,
        usage_version > 0 AS usage FROM bill_run WHERE run = '${summary.run}'`,
  })
  t.match(run, { total: '550.6', cycle: 1, usage: 1 })
  const [sums] = await rig.store.rows({
    sql: `SELECT countIf(b.total != l.amount) AS wrong, count() AS bills FROM projected_bill AS b
      INNER JOIN (SELECT meter_id, sum(amount) AS amount FROM projected_bill_line GROUP BY meter_id) AS l
        ON l.meter_id = b.meter_id`,
  })
  t.same(sums, { wrong: '0', bills: '7' }, 'lines add up to the total')
  t.same(
    await rig.store.rows({ sql: `SELECT name FROM system.tables WHERE match(name, '^bill_.*_2')` }),
    [],
    'nothing is left behind',
  )
})

t.test('readers see the bills before until the new ones are whole', async (t) => {
  const shown = () => rig.bills('meter_id, run, toString(total) AS total')
  const before = await shown()
  const context = rig.context()
  let seen: unknown
  const store: typeof context.store = {
    ...context.store,
    insert: async (table, ...rest) => {
      if (table === 'publication') seen = await shown()
      return context.store.insert(table, ...rest)
    },
  }
  const { run } = await bill({ ...context, store }, { cycleId: '7', start: '2026-01-01' })
  t.same(seen, before)
  t.ok((await shown()).every((one) => one['run'] === run))
})

t.test('a period that the schedule has moved replaces the one that it was', async (t) => {
  const latest = await rig.bill()
  t.match(latest, { first: '2026-02-01', last: '2026-02-28' }, 'the latest that has ended')
  const shown = () => rig.bills(`toString(start_date) AS first, toString(last_date) AS last`)
  const firsts = async () => [...new Set((await shown()).map(({ first }) => first))].sort()
  await rig.publish({ BillingCycles: ['7,2026-01-02,2026-02-01', '7,2026-02-02,2026-02-28'] })
  await rig.bill({ start: '2026-02-02' })
  t.same(await firsts(), ['2026-01-01', '2026-02-02'], 'its neighbour stays')
  await rig.bill({ start: '2026-01-02' })
  t.same(await firsts(), ['2026-01-02', '2026-02-02'])
})

t.test('a period that ends on the day a newer schedule begins stays', async (t) => {
  await rig.publish({ BillingCycles: ['9,2025-12-05,2026-01-05', '9,2026-01-05,2026-02-04'] })
  await rig.publish({ BillingCycles: ['9,2026-01-05,2026-02-04', '9,2026-02-04,2026-03-06'] })
  const periods = await rig.store.rows({
    sql: `SELECT toString(start_date) AS first, toString(last_date) AS last FROM billing_cycle
    WHERE billing_cycle_id = '9' ORDER BY first`,
  })
  t.same(periods, [
    { first: '2025-12-05', last: '2026-01-04' },
    { first: '2026-01-05', last: '2026-02-03' },
    { first: '2026-02-04', last: '2026-03-05' },
  ])
})
