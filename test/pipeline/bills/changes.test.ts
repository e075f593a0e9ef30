import t from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import { customerAt } from '../customers/registering.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
const january = '2026-01-01T05:00:00Z'
const whole = steady('0.25', 2_976)

await rig.publish({
  RateCodes: [
    'FLAT,Flat,Flat,,',
    'TIER,Tiered,Tiered,,',
    'BLOCK,Limit for a period,Tiered,,',
    'TOU,TOU,TOU,,',
    'GAS,Gas,Flat,Gas,ccf',
  ],
  RateFlat: ['FLAT,0.1,2018-01-01,,', 'GAS,0.9,2018-01-01,,'],
  RateTou: ['TOU,Peak,1,14,19,--01-01,--12-31,All,', 'TOU,Off-Peak,0.1,19,14,--01-01,--12-31,All,'],
  RateTiers: [
    ...['TIER,1,10,0.1,2025-01-01,2026-01-15,,', 'TIER,2,,0.2,2025-01-01,2026-01-15,,'],
    ...['TIER,1,10,0.15,2026-01-16,,,', 'TIER,2,,0.25,2026-01-16,,,'],
    ...['BLOCK,1,,0.1,2025-01-01,,310,', 'BLOCK,2,,0.2,2025-01-01,,,'],
  ],
  BillingCycles: [
    '7,2026-01-01,2026-01-31',
    '8,2026-01-11,2026-02-10',
    '9,2021-03-06,2021-03-10',
    '13,2025-07-01,2025-07-31',
  ],
})

const customer = (
  meterId: string,
  rateCode: string,
  billingCycleId = '7',
  account = `A${meterId}`,
) => {
  const one = customerAt({ clientId: `c${account}`, accountNumber: account, meterId, rateCode })
  return { ...one, meters: one.meters.map((meter) => ({ ...meter, billingCycleId })) }
}
const amounts = async (meter: string) => (await rig.lines(meter)).filter(([, kwh]) => kwh !== '0')

t.test('tiers that an account shares count on when their prices change', async (t) => {
  await rig.register(customer('alone', 'TIER'))
  await rig.read({ meter: 'alone', from: january, quantities: whole })
  const lines = [
    ['Tier 1', '310', '31'],
    ['Tier 2', '50', '10'],
    ['Tier 2', '384', '96'],
  ]
  for (const tierScope of ['meter', 'account']) {
    await rig.bill({ start: '2026-01-01' }, { tierScope })
    t.same(await amounts('alone'), lines, tierScope)
  }
})

t.test('a limit for the period counts for its share of the days', async (t) => {
  await rig.registerAt('2025-12-01T15:00:00Z', customer('block', 'BLOCK'))
  await rig.registerAt('2026-01-11T15:00:00Z', customer('block', 'FLAT'))
  await rig.registerAt('2026-01-21T15:00:00Z', customer('block', 'BLOCK'))
  await rig.read({ meter: 'block', from: january, quantities: whole })
  await rig.bill({ start: '2026-01-01' })
  // 310 x 10 / 31 and 310 x 11 / 31 of 24 kWh a day.
  t.same(await amounts('block'), [
    ['Tier 1', '100', '10'],
    ['Tier 2', '140', '28'],
    ['Flat', '240', '24'],
    ['Tier 1', '110', '11'],
    ['Tier 2', '154', '30.8'],
  ])
})

t.test('a day is billed in the cycle that held on it, and in no other', async (t) => {
  const cycles = ['7', '8', '7', '8']
  for (const [at, cycleId] of cycles.entries()) {
    const day = ['2025-12-01', '2026-01-16', '2026-01-21', '2026-01-26'][at]
    await rig.registerAt(`${day}T15:00:00Z`, customer('turns', 'FLAT', cycleId))
  }
  await rig.registerAt('2025-12-01T15:00:00Z', customer('earlier', 'FLAT', '8'))
  await rig.registerAt('2026-01-16T15:00:00Z', customer('earlier', 'FLAT', '7'))
  for (const meter of ['turns', 'earlier']) {
    await rig.read({ meter, from: january, quantities: steady('0.25', 41 * 96) })
  }
  await rig.bill({ start: '2026-01-01' })
  await rig.bill({ cycleId: '8', start: '2026-01-11' })
  const bills = await rig.bills(
    'meter_id AS meter, billing_cycle_id AS cycle, toString(start_date) AS first, toString(last_date) AS last, toString(quantity) AS kwh',
  )
  const of = (wanted: string) =>
    bills
      .filter(({ meter }) => meter === wanted)
      .map(({ cycle, first, last, kwh }) => [cycle, first, last, kwh])
  t.same(of('turns'), [
    ['7', '2026-01-01', '2026-01-15', '360'],
    ['8', '2026-01-16', '2026-01-20', '120'],
    ['7', '2026-01-21', '2026-01-25', '120'],
    ['8', '2026-01-26', '2026-02-10', '384'],
  ])
  t.same(of('earlier'), [
    ['8', '2026-01-11', '2026-01-15', '120'],
    ['7', '2026-01-16', '2026-01-31', '384'],
  ])
})

t.test('reads and bills of a past period keep the rate and cycle of their time', async (t) => {
  await rig.registerAt('2025-12-01T15:00:00Z', customer('past', 'FLAT', '7'))
  await rig.read({ meter: 'past', from: january, quantities: steady('0.25', 41 * 96) })
  const codes = () =>
    rig.store.rows({
      sql: `SELECT rate_code AS rate, billing_cycle_id AS cycle, toString(min(local_day)) AS first,
          toString(max(local_day)) AS last
        FROM registered_usage WHERE meter_id = 'past' GROUP BY rate, cycle ORDER BY first`,
    })
  const bills = async () =>
    (await rig.bills('meter_id AS meter, billing_cycle_id AS cycle, rate_codes AS rates, total'))
      .filter(({ meter }) => meter === 'past')
      .map(({ cycle, rates, total }) => [cycle, rates, String(total)])
  await rig.bill({ start: '2026-01-01' })
  t.same(await codes(), [{ rate: 'FLAT', cycle: '7', first: '2026-01-01', last: '2026-02-10' }])
  t.same(await bills(), [['7', ['FLAT'], '74.4']])
  await rig.registerAt('2026-02-01T15:00:00Z', customer('past', 'TOU', '8'))
  t.same(await codes(), [
    { rate: 'FLAT', cycle: '7', first: '2026-01-01', last: '2026-01-31' },
    { rate: 'TOU', cycle: '8', first: '2026-02-01', last: '2026-02-10' },
  ])
  await rig.bill({ start: '2026-01-01' })
  await rig.bill({ cycleId: '8', start: '2026-01-11' })
  // Of 24 kWh a day in the new cycle, 5 are at peak.
  t.same(await bills(), [
    ['7', ['FLAT'], '74.4'],
    ['8', ['TOU'], '69'],
  ])
})

t.test('a meter whose unit changes inside a period has no bill', async (t) => {
  const gas = (meterId: string, unitOfMeasure: 'ccf' | 'cm') => {
    const more = { meterType: 'Gas', unitOfMeasure, rateCode: 'GAS' } as const
    return customerAt({ clientId: meterId, accountNumber: `A${meterId}`, meterId, ...more })
  }
  const days = { midst: '2026-01-16', first: '2026-01-01', next: '2026-02-01' }
  for (const [meter, day] of Object.entries(days)) {
    await rig.registerAt('2025-12-01T15:00:00Z', gas(meter, 'cm'))
    await rig.registerAt(`${day}T15:00:00Z`, gas(meter, 'ccf'))
    const daily = { commodity: 'Gas', seconds: 86_400, quantities: steady('2', 31) } as const
    await rig.read({ meter, from: january, ...daily })
  }
  await rig.bill({ start: '2026-01-01' })
  const bills = await rig.bills('meter_id AS meter, status, reason, toString(total) AS total')
  const of = (wanted: string) => bills.find(({ meter }) => meter === wanted)
  const reason = (unit: string) => `the meter is read in ${unit}, the rate is priced in ccf`
  t.match(of('midst'), { status: 'unit', reason: reason('cm and ccf'), total: null })
  t.match(of('first'), { status: 'computed', total: '55.8' })
  t.match(of('next'), { status: 'unit', reason: reason('cm'), total: null })
})

t.test(
  'last year counts by the clock on the wall, where the clocks changed otherwise',
  async (t) => {
    // On 9 and 10 March clocks were ahead in 2020 and not yet in 2021; 52 weeks lie in between.
    await rig.register(customer('spring', 'TOU', '9'))
    const quarters = (from: number, to: number) =>
      Array.from({ length: 96 }, (_, at) => (at >= from * 4 && at < to * 4 ? '1' : '0'))
    const peak = quarters(14, 19)
    await rig.read({
      meter: 'spring',
      from: '2020-03-09T04:00:00Z',
      quantities: [...peak, ...peak, ...peak],
    })
    await rig.read({
      meter: 'spring',
      from: '2021-03-06T05:00:00Z',
      quantities: [...peak, ...peak],
    })
    const now = () => new Date('2021-03-08T17:00:00Z')
    await bill({ ...rig.context(), now }, { cycleId: '9', start: '2021-03-06' })
    t.same(await amounts('spring'), [['Peak', '100', '100']])
  },
)

t.test(
  'an open bill is not projected from what someone used before the customer came',
  async (t) => {
    const came = { enough: '2025-06-20', late: '2025-06-28', mixed: '2025-06-28' }
    for (const [meter, day] of Object.entries(came)) {
      await rig.registerAt(`${day}T04:00:00Z`, customer(meter, 'FLAT', '13'))
      const before = (Date.parse(day) - Date.parse('2025-06-01')) / 864e5
      const all = [...steady('0.5', before * 96), ...steady('0.0625', (33 - before) * 96)]
      const reads = { meter, from: '2025-06-01T04:00:00Z', account: '' }
      const july = { from: '2025-07-01T04:00:00Z', quantities: all.slice(30 * 96) }
      await rig.read({ ...reads, quantities: meter === 'mixed' ? all.slice(0, 30 * 96) : all })
      if (meter === 'mixed') await rig.read({ ...reads, ...july, account: `A${meter}` })
    }
    const now = () => new Date('2025-07-04T17:00:00Z')
    await bill({ ...rig.context(), now }, { cycleId: '13', start: '2025-07-01' })
    const bills = await rig.bills(
      'meter_id AS meter, billing_cycle_id AS cycle, status, method, toString(quantity) AS kwh',
    )
    t.same(
      bills.filter(({ cycle }) => cycle === '13').map((one) => Object.values(one).slice(2)),
      [
        ['projected', 'recent', '186'],
        ['notProjectable', 'none', '18'],
        ['notProjectable', 'none', '18'],
      ],
    )
  },
)

t.test('a cycle with one period in a file ends as the other cycles do', async (t) => {
  const one = '10,2026-06-05,2026-07-04'
  const exclusive = ['11,2026-06-05,2026-07-04', '11,2026-07-04,2026-08-03']
  const inclusive = ['12,2026-06-05,2026-07-04', '12,2026-07-05,2026-08-03']
  for (const [others, last] of [
    [exclusive, '2026-07-03'],
    [inclusive, '2026-07-04'],
    [[...exclusive, ...inclusive], '2026-07-04'],
    [[], '2026-07-04'],
  ] as const) {
    await rig.publish({ BillingCycles: [one, ...others] })
    const found = await rig.store.rows({
      sql: `SELECT toString(last_date) AS last FROM billing_cycle
        WHERE billing_cycle_id = '10' AND start_date = '2026-06-05'`,
    })
    t.same(found, [{ last }], others.join())
  }
})
