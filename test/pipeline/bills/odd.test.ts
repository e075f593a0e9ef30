import t from 'tap'
import { forgetRuns } from '../../../pipeline/bills/forget.js'
import { bill } from '../../../pipeline/bills/run.js'
import { register } from '../../../pipeline/customers/registrations.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { statementText } from '../../rig/statement-text.js'
import { customerAt } from '../customers/registering.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,', 'DEAR,Dear,Flat,,', 'TIER,Tiered,Tiered,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,', 'DEAR,0.2,2025-01-01,,'],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
})
const january = '2026-01-01T05:00:00Z'
const totals = () =>
  rig.bills(`account_number AS account, toString(start_date) AS first, toString(last_date) AS last,
    status, toString(quantity) AS quantity, toString(total) AS total`)

t.test('of a daily and a finer series of one meter the finer one counts', async (t) => {
  await rig.register(
    customerAt({ clientId: '1', accountNumber: 'Atwo', meterId: 'two', rateCode: 'FLAT' }),
  )
  await rig.read({ meter: 'two', from: january, seconds: 86_400, quantities: steady('24', 31) })
  await rig.read({ meter: 'two', from: january, quantities: steady('0.25', 2_976) })
  await rig.bill({ start: '2026-01-01' })
  t.match(await totals(), [{ account: 'Atwo', status: 'computed', quantity: '744', total: '74.4' }])
})

t.test(
  'who moves in is billed for the own days, and for no read of who was there before',
  async (t) => {
    const at = { meterId: 'moved', rateCode: 'FLAT' }
    await rig.register(customerAt({ ...at, clientId: '2', accountNumber: 'B1' }))
    await rig.read({ meter: 'moved', account: 'B1', from: january, quantities: steady('1', 960) })
    const from = '2026-01-11T05:00:00Z'
    await rig.read({ meter: 'moved', account: 'B2', from, quantities: steady('0.5', 2_016) })
    await rig.register(customerAt({ ...at, clientId: '3', accountNumber: 'B2' }))
    await rig.bill({ start: '2026-01-01' })
    t.match((await totals()).slice(0, 2), [
      { account: 'B1', first: '2026-01-01', last: '2026-01-10', quantity: '960', total: '96' },
      { account: 'B2', first: '2026-01-11', last: '2026-01-31', quantity: '1008', total: '100.8' },
    ])
  },
)

t.test(
  'reads without an account, or with one that nobody knows, are of who has the meter alone',
  async (t) => {
    for (const [at, name] of ['mixed', 'unnamed', 'unknown', 'elsewhere'].entries()) {
      const customer = { clientId: `1${at}`, accountNumber: `C-${name}`, meterId: name }
      await rig.register(customerAt({ ...customer, rateCode: 'FLAT' }))
    }
    const tenDays = { quantities: steady('1', 960) }
    const from = { first: january, second: '2026-01-11T05:00:00Z', third: '2026-01-21T05:00:00Z' }
    const mixed = { meter: 'mixed', ...tenDays }
    await rig.read({ ...mixed, account: 'C-mixed', from: from.first })
    await rig.read({ ...mixed, account: 'nobody', from: from.second })
    await rig.read({ ...mixed, account: 'C-elsewhere', from: from.third })
    await rig.read({ meter: 'unnamed', account: '', from: from.first, ...tenDays })
    const premises = { meter: 'unknown', account: 'nobody', ...tenDays }
    await rig.read({ ...premises, from: from.first })
    await rig.read({ ...premises, site: 'another', from: from.second })
    await rig.bill({ start: '2026-01-01' })
    t.same(
      (await rig.bills('account_number, status, toString(quantity) AS quantity')).filter((one) =>
        (one as { account_number: string }).account_number.startsWith('C-'),
      ),
      [
        { account_number: 'C-elsewhere', status: 'noUsage', quantity: '0' },
        { account_number: 'C-mixed', status: 'incomplete', quantity: '1920' },
        { account_number: 'C-unknown', status: 'sparse', quantity: '960' },
        { account_number: 'C-unnamed', status: 'sparse', quantity: '960' },
      ],
    )
  },
)

t.test('meters whose numbers begin alike keep their reads apart', async (t) => {
  const [alike] = await rig.store.rows<{ meters: readonly [string, string] }>({
    sql: `SELECT groupArray(2)(toString(number)) AS meters FROM numbers(300000)
      GROUP BY bitShiftRight(cityHash64(toString(number)), 32) HAVING count() > 1
      ORDER BY meters LIMIT 1`,
  })
  const meters = alike?.meters ?? []
  t.equal(meters.length, 2, 'such meters are found')
  for (const [at, meterId] of meters.entries()) {
    const customer = { clientId: `2${at}`, accountNumber: `F${at}`, meterId }
    await rig.register(customerAt({ ...customer, rateCode: 'FLAT' }))
    const quantities = steady(`${at + 1}`, 2_976)
    await rig.read({ meter: meterId, account: '', from: january, quantities })
  }
  await rig.bill({ start: '2026-01-01' })
  const bills = await rig.bills('account_number AS account, toString(quantity) AS quantity')
  t.same(
    bills.filter((one) => (one as { account: string }).account.startsWith('F')),
    [
      { account: 'F0', quantity: '2976' },
      { account: 'F1', quantity: '5952' },
    ],
  )
})

t.test('a rate code that changes inside the period prices its own days', async (t) => {
  const at = { clientId: '4', accountNumber: 'D1', meterId: 'changed' }
  for (const [day, rateCode] of [
    ['2025-12-01', 'FLAT'],
    ['2026-01-16', 'DEAR'],
  ] as const) {
    const now = () => new Date(`${day}T05:00:00Z`)
    await register({ store: rig.store, now }, [customerAt({ ...at, rateCode })])
  }
  await rig.read({
    meter: 'changed',
    account: 'D1',
    from: january,
    quantities: steady('0.25', 2_976),
  })
  await rig.bill({ start: '2026-01-01' })
  const [found] = await rig.store.rows({
    sql: `SELECT status, toString(total) AS total FROM projected_bill WHERE meter_id = 'changed'`,
  })
  t.same(found, { status: 'computed', total: '112.8' })
  t.same(await rig.lines('changed'), [
    ['Flat', '360', '36'],
    ['Flat', '384', '76.8'],
  ])
})

t.test(
  'the meters of an account fill their tiers together where the utility says so',
  async (t) => {
    const at = { clientId: '5', accountNumber: 'E1', rateCode: 'TIER' }
    for (const meterId of ['first', 'second', 'third']) {
      await rig.register(customerAt({ ...at, meterId }))
      if (meterId === 'third') continue
      const quantities = steady('0.075', 2_976)
      await rig.read({ meter: meterId, account: 'E1', from: january, quantities })
    }
    const billed = (meter: string, cost: string) =>
      `E1,S,${meter},2026-01-01,2026-01-31,223.2,223.2,${cost},,`
    await rig.publish({ Billing: [billed('first', '25.32'), billed('second', '35.96')] })
    await rig.bill({ start: '2026-01-01' }, { tierScope: 'account' })
    // 223.2 kWh each; the limit of 310 is met with 86.8 of the second meter.
    t.same(await rig.lines('first'), [
      ['Tier 1', '223.2', '22.32'],
      ['Tier 2', '0', '0'],
    ])
    t.same(await rig.lines('second'), [
      ['Tier 1', '86.8', '8.68'],
      ['Tier 2', '136.4', '27.28'],
    ])
    const variances = await rig.store.rows({
      sql: `SELECT meter_id AS meter, cost_status AS status,
          mapApply((k, v) -> (k, toString(v)), cost_causes) AS causes
        FROM bill_variance ORDER BY meter`,
    })
    t.same(variances, [
      { meter: 'first', status: 'differs', causes: { unexplained: '-3' } },
      { meter: 'second', status: 'match', causes: {} },
    ])
    await rig.bill({ start: '2026-01-01' })
    t.same(await rig.lines('second'), [
      ['Tier 1', '223.2', '22.32'],
      ['Tier 2', '0', '0'],
    ])
  },
)

const customer = (meterId: string, rateCode: string, more: object = {}) =>
  customerAt({ clientId: `c${meterId}`, accountNumber: `A${meterId}`, meterId, rateCode, ...more })

async function billsOf(...meters: readonly string[]) {
  const found = await rig.bills('meter_id AS meter, status, reason, nem, toString(total) AS total')
  return found.filter(({ meter }) => meters.includes(meter as string))
}

t.test('of the rate codes of one day the last one seen counts', async (t) => {
  const seen = (at: string, rateCode: string) =>
    register({ store: rig.store, now: () => new Date(at) }, [customer('typo', rateCode)])
  await seen('2025-12-01T15:00:00Z', 'DEAR')
  await seen('2026-01-01T15:00:00Z', 'NONE')
  await seen('2026-01-01T18:00:00Z', 'FLAT')
  await rig.read({ meter: 'typo', from: january, quantities: steady('0.25', 2_976) })
  await rig.bill({ start: '2026-01-01' })
  t.match(await billsOf('typo'), [{ status: 'computed', total: '74.4' }])
})

t.test('an absurd quantity spoils only its own bill', async (t) => {
  await rig.publish({
    RateCodes: [
      'WIDE,Wide,Tiered,,',
      'WIDER,Wider,Tiered,,',
      'DEARER,Dearer,Flat,,',
      'FLAT,Flat,Flat,,',
    ],
    RateFlat: ['DEARER,999999999999,2025-01-01,,', 'FLAT,0.1,2025-01-01,,'],
    RateTiers: [
      'WIDE,1,999999999,0.1,2025-01-01,,,',
      'WIDE,2,,0.2,2025-01-01,,,',
      'WIDER,1,999999999999,0.1,2025-01-01,,,',
      'WIDER,2,,0.2,2025-01-01,,,',
    ],
  })
  await rig.register(
    customer('wide', 'WIDE', { unitOfMeasure: 'Wh' }),
    customer('wider', 'WIDER'),
    customer('dear', 'DEARER'),
    customer('stuck', 'FLAT'),
  )
  const quantities = { wide: '250', wider: '0.25', dear: '0.25', stuck: '999999999' }
  for (const [meter, quantity] of Object.entries(quantities)) {
    await rig.read({ meter, from: january, quantities: steady(quantity, 2_976) })
  }
  await rig.bill({ start: '2026-01-01' })
  const beyond = /^the energy or the prices exceed the limit of a bill/
  t.match(await billsOf(...Object.keys(quantities)), [
    { meter: 'dear', status: 'notProjectable', reason: beyond, total: null },
    { meter: 'stuck', status: 'notProjectable', reason: beyond, total: null },
    { meter: 'wide', status: 'computed', total: '74.4' },
    { meter: 'wider', status: 'computed', total: '74.4' },
  ])
})

t.test('what is fed in on the day before makes no bill one of net metering', async (t) => {
  await rig.read({ meter: 'wider', from: '2025-12-31T05:00:00Z', quantities: ['-1'] })
  await rig.bill({ start: '2026-01-01' })
  t.match(await billsOf('wider'), [{ nem: false }])
})

/** A store whose process is killed when it comes to a write: nothing is heard of it again. */
function dyingStore(aim: RegExp) {
  let die: (end: 'dead') => void = () => undefined
  const dead = new Promise<'dead'>((resolve) => {
    die = resolve
  })
  const last = async (text: string, write: () => Promise<void>) => {
    if (!aim.test(text)) return write()
    die('dead')
    return new Promise<void>(() => undefined)
  }
  const store: Store = {
    ...rig.store,
    command: (statement) => last(statementText(statement), () => rig.store.command(statement)),
    insert: (table, values) => last(`INSERT INTO ${table}`, () => rig.store.insert(table, values)),
  }
  return { store, dead }
}

const writes = [
  'bill_plan$',
  'bill_vector_',
  'bill_row',
  'bill_step_',
  'bill_variance_row',
  'bill_run$',
]

t.test('a run that is killed at any step shows nothing, and the next one ends it', async (t) => {
  await rig.publish({ Billing: ['Atypo,S,typo,2026-01-01,2026-01-31,744,744,60.00,,'] })
  await rig.bill({ start: '2026-01-01' })
  const seen = () =>
    rig.store.rows({
      sql: `SELECT count() AS bills, sum(b.total) AS total, uniqExact(b.run) AS runs,
          (SELECT (count(), sum(amount)) FROM projected_bill_line) AS lines,
          (SELECT (count(), sum(cost_computed), uniqExact(run)) FROM bill_variance) AS variances
        FROM projected_bill AS b`,
    })
  const before = await seen()
  await rig.read({ meter: 'typo', from: january, quantities: ['100.25'] })
  for (const write of writes) {
    const { store, dead } = dyingStore(new RegExp(`INTO .?${write}`))
    const running = bill({ ...rig.context(), store }, { cycleId: '7', start: '2026-01-01' })
    t.equal(await Promise.race([dead, running]), 'dead')
    t.same(await seen(), before, `killed ahead of ${write}`)
  }
  await rig.bill({ start: '2026-01-01' })
  t.match(await billsOf('typo'), [{ total: '84.4' }])
  const ofOthers = Array.from({ length: 250 }, (_, at) => ({
    run: `2026010100000${at + 1_000}_00000000`,
    billing_cycle_id: '6',
  }))
  await rig.store.insert('bill_run', ofOthers)
  await forgetRuns(rig.store, { runsKept: 1, now: new Date(Date.now() + 25 * 3_600_000) })
  const dead = await rig.store.rows({
    sql: `SELECT DISTINCT run FROM (SELECT run FROM bill_row UNION ALL SELECT run FROM bill_plan)
      WHERE run NOT IN (SELECT run FROM bill_run)`,
  })
  t.same(dead, [], 'what the dead have left goes after a day')
  t.match(await rig.store.rows({ sql: 'SELECT count() AS runs FROM bill_run' }), [{ runs: '2' }])
})
