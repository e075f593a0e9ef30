import t from 'tap'
import { forgetRuns } from '../../../pipeline/bills/forget.js'
import { bill } from '../../../pipeline/bills/run.js'
import { publishSubjects } from '../../../pipeline/ledger/publication.js'
import { sql } from '../../../pipeline/store/sql.js'
import type { Registration } from '../../../schemas/gateway/registration.js'
import { customerAt } from '../customers/registering.js'
import { aroundWrites } from '../dying.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
const january = '2026-01-01T05:00:00Z'
const second = '2026-01-11T05:00:00Z'
const whole = (quantity: string) => steady(quantity, 2_976)
const customer = (meterId: string, rateCode: string, more: object = {}) =>
  customerAt({ clientId: `c${meterId}`, accountNumber: `A${meterId}`, meterId, rateCode, ...more })

await rig.publish({
  RateCodes: [
    ...['FLAT,Flat,Flat,,', 'DEAR,Dear,Flat,,', 'TIER,Tiered,Tiered,,'],
    ...['WIDE,Wide,Tiered,,', 'WIDER,Wider,Tiered,,', 'DEARER,Dearer,Flat,,'],
  ],
  RateFlat: [
    ...['FLAT,0.1,2025-01-01,,', 'DEAR,0.2,2025-01-01,,'],
    'DEARER,999999999999,2025-01-01,,',
  ],
  RateTiers: [
    ...['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
    ...['WIDE,1,999999999,0.1,2025-01-01,,,', 'WIDE,2,,0.2,2025-01-01,,,'],
    ...['WIDER,1,999999999999,0.1,2025-01-01,,,', 'WIDER,2,,0.2,2025-01-01,,,'],
  ],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
})

// Two series of one meter.
await rig.register(customer('two', 'FLAT'))
await rig.readAll([
  { meter: 'two', from: january, seconds: 86_400, quantities: steady('24', 31) },
  { meter: 'two', from: january, quantities: whole('0.25') },
])

// One who moves in.
await rig.register(customer('moved', 'FLAT', { clientId: '2', accountNumber: 'B1' }))
await rig.read({ meter: 'moved', account: 'B1', from: january, quantities: steady('1', 960) })
await rig.read({ meter: 'moved', account: 'B2', from: second, quantities: steady('0.5', 2_016) })
await rig.register(customer('moved', 'FLAT', { clientId: '3', accountNumber: 'B2' }))

// One who moves in at noon of the fifth day.
const hours = { meter: 'noon', seconds: 3_600 }
await rig.register(customer('noon', 'FLAT', { clientId: '6', accountNumber: 'G1' }))
await rig.read({ ...hours, account: 'G1', from: january, quantities: steady('1', 108) })
const noon = '2026-01-05T17:00:00Z'
await rig.read({ ...hours, account: 'G2', from: noon, quantities: steady('1', 636) })
await rig.register(customer('noon', 'FLAT', { clientId: '7', accountNumber: 'G2' }))

// Reads without an account, or with one that nobody knows.
for (const meter of ['mixed', 'unnamed', 'unknown', 'elsewhere']) {
  await rig.registerAt(
    '2025-12-01T05:00:00Z',
    customer(meter, 'FLAT', { accountNumber: `C-${meter}` }),
  )
}
const tenDays = { quantities: steady('1', 960) }
const mixed = { meter: 'mixed', ...tenDays }
const premises = { meter: 'unknown', account: 'nobody', ...tenDays }
await rig.readAll([
  { ...mixed, account: 'C-mixed', from: january },
  { ...mixed, account: 'nobody', from: second },
  { ...mixed, account: 'C-elsewhere', from: '2026-01-21T05:00:00Z' },
  { meter: 'unnamed', account: '', from: january, ...tenDays },
  { ...premises, from: january },
  { ...premises, site: 'another', from: second },
])

// Meters whose numbers have the same first half of a hash.
const [alike] = await rig.store.rows<{ meters: readonly [string, string] }>({
  sql: sql`SELECT groupArray(2)(toString(number)) AS meters FROM numbers(300000)
    GROUP BY bitShiftRight(cityHash64(toString(number)), 32) HAVING count() > 1
    ORDER BY meters LIMIT 1`,
})
const alikeMeters = alike?.meters ?? []
for (const [at, meter] of alikeMeters.entries()) {
  await rig.registerAt('2025-12-01T05:00:00Z', customer(meter, 'FLAT', { accountNumber: `F${at}` }))
  await rig.read({ meter, account: '', from: january, quantities: whole(`${at + 1}`) })
}

// Rate codes that change, inside the period and on its first day.
const changed = { clientId: '4', accountNumber: 'D1' }
await rig.registerAt('2025-12-01T05:00:00Z', customer('changed', 'FLAT', changed))
await rig.registerAt('2026-01-16T05:00:00Z', customer('changed', 'DEAR', changed))
await rig.read({ meter: 'changed', account: 'D1', from: january, quantities: whole('0.25') })
await rig.registerAt('2025-12-01T15:00:00Z', customer('typo', 'DEAR'))
await rig.registerAt('2026-01-01T15:00:00Z', customer('typo', 'NONE'))
await rig.registerAt('2026-01-01T18:00:00Z', customer('typo', 'FLAT'))
await rig.read({ meter: 'typo', from: january, quantities: whole('0.25') })

// Meters of one account.
const tiered = ['first', 'second', 'third'].map((meter) =>
  customer(meter, 'TIER', { clientId: '5', accountNumber: 'E1' }),
)
await rig.register({ ...tiered[0], meters: tiered.flatMap(({ meters }) => meters) } as Registration)
const tieredReads = { account: 'E1', from: january, quantities: whole('0.075') }
await rig.readAll(['first', 'second'].map((meter) => ({ meter, ...tieredReads })))

// Absurd quantities and prices.
await rig.register(
  customer('wide', 'WIDE', { unitOfMeasure: 'Wh' }),
  customer('wider', 'WIDER'),
  customer('dear', 'DEARER'),
  customer('stuck', 'FLAT'),
)
const absurd = { wide: '250', wider: '0.25', dear: '0.25', stuck: '999999999' }
await rig.readAll([
  ...Object.entries(absurd).map(([meter, quantity]) => {
    return { meter, from: january, quantities: whole(quantity) }
  }),
  { meter: 'wider', from: '2025-12-31T05:00:00Z', quantities: ['-1'] },
])

const billed = (account: string, meter: string, kwh: string, cost: string) =>
  `${account},S,${meter},2026-01-01,2026-01-31,${kwh},${kwh},${cost},,`
await rig.publish({
  Billing: [
    billed('E1', 'first', '223.2', '25.32'),
    billed('E1', 'second', '223.2', '35.96'),
    billed('Atypo', 'typo', '744', '60.00'),
  ],
})
await rig.bill({ start: '2026-01-01' }, { tierScope: 'account' })

/** Columns of the bills of some meters, by meter and first day. */
async function billsOf(columns: string, ...meters: readonly string[]) {
  const found = await rig.bills(`meter_id AS meter, ${columns}`)
  return found
    .filter(({ meter }) => meters.includes(meter as string))
    .map(({ meter: _, ...more }) => more)
}
const total = 'toString(total) AS total'
const quantity = 'toString(quantity) AS quantity'

t.test('of a daily and a finer series of one meter the finer one counts', async (t) => {
  t.same(await billsOf(`account_number AS account, status, ${quantity}, ${total}`, 'two'), [
    { account: 'Atwo', status: 'computed', quantity: '744', total: '74.4' },
  ])
})

t.test(
  'a tenant who moves in is billed for his own days, without the reads of the one before',
  async (t) => {
    const days = 'toString(start_date) AS first, toString(last_date) AS last'
    t.same(await billsOf(`account_number AS account, ${days}, ${quantity}, ${total}`, 'moved'), [
      { account: 'B1', first: '2026-01-01', last: '2026-01-10', quantity: '960', total: '96' },
      { account: 'B2', first: '2026-01-11', last: '2026-01-31', quantity: '1008', total: '100.8' },
    ])
  },
)

t.test('who has a meter for a part of a day lacks no intervals of the rest', async (t) => {
  const counts = 'status, intervals_expected AS expected, intervals_present AS present'
  t.same(await billsOf(`account_number AS account, ${counts}, completeness`, 'noon'), [
    { account: 'G1', status: 'computed', expected: 108, present: 108, completeness: 1 },
    { account: 'G2', status: 'computed', expected: 636, present: 636, completeness: 1 },
  ])
})

t.test('reads without an account are of who has the meter, unknown ones of nobody', async (t) => {
  const meters = ['elsewhere', 'mixed', 'unknown', 'unnamed']
  t.same(await billsOf(`account_number, status, ${quantity}`, ...meters), [
    { account_number: 'C-elsewhere', status: 'noUsage', quantity: '0' },
    { account_number: 'C-mixed', status: 'sparse', quantity: '960' },
    { account_number: 'C-elsewhere', status: 'incomplete', quantity: '960' },
    { account_number: 'C-unknown', status: 'noUsage', quantity: '0' },
    { account_number: 'C-unnamed', status: 'sparse', quantity: '960' },
  ])
})

t.test('meters whose numbers begin alike keep their reads apart', async (t) => {
  t.equal(alikeMeters.length, 2, 'such meters are found')
  t.same(await billsOf(`account_number AS account, ${quantity}`, ...alikeMeters), [
    { account: 'F0', quantity: '2976' },
    { account: 'F1', quantity: '5952' },
  ])
})

t.test('a rate code that changes inside the period prices its own days', async (t) => {
  t.same(await billsOf(`status, ${total}`, 'changed'), [{ status: 'computed', total: '112.8' }])
  t.same(await rig.lines('changed'), [
    ['Flat', '360', '36'],
    ['Flat', '384', '76.8'],
  ])
})

t.test('of the rate codes of one day the last one seen counts', async (t) => {
  t.same(await billsOf(`status, ${total}`, 'typo'), [{ status: 'computed', total: '74.4' }])
})

t.test('an absurd quantity spoils only its own bill', async (t) => {
  const beyond = /^the energy or the prices exceed the limit of a bill/
  t.match(await billsOf(`account_number, status, reason, ${total}`, ...Object.keys(absurd)), [
    { account_number: 'Adear', status: 'notProjectable', reason: beyond, total: null },
    { account_number: 'Astuck', status: 'notProjectable', reason: beyond, total: null },
    { account_number: 'Awide', status: 'computed', total: '74.4' },
    { account_number: 'Awider', status: 'computed', total: '74.4' },
  ])
})

t.test('what is fed in on the day before makes no bill one of net metering', async (t) => {
  t.same(await billsOf('nem', 'wider'), [{ nem: false }])
})

t.test('the meters of an account fill their tiers together if the profile says so', async (t) => {
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
    sql: sql`SELECT meter_id AS meter, cost_status AS status,
        mapApply((k, v) -> (k, toString(v)), cost_causes) AS causes
      FROM bill_variance WHERE account_number = 'E1' ORDER BY meter`,
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
})

/** A store whose process is killed when it comes to a write: nothing is heard of it again. */
function deadBefore(aim: RegExp) {
  let die: (end: 'dead') => void = () => undefined
  const dead = new Promise<'dead'>((resolve) => {
    die = resolve
  })
  const store = aroundWrites(rig.store, (write, text) => {
    if (!aim.test(text)) return write()
    die('dead')
    return new Promise(() => undefined)
  })
  return { store, dead }
}

const writes = [
  'bill_plan$',
  'bill_vector_',
  'bill_row',
  'bill_step_',
  'bill_variance_row',
  'bill_run_row$',
  'publication$',
]

t.test('a run that is killed at any step shows nothing, and the next one ends it', async (t) => {
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
    const { store, dead } = deadBefore(new RegExp(`INTO .?${write}`))
    const running = bill({ ...rig.context(), store }, { cycleId: '7', start: '2026-01-01' })
    t.equal(await Promise.race([dead, running]), 'dead')
    t.same(await seen(), before, `killed ahead of ${write}`)
  }
  await rig.bill({ start: '2026-01-01' })
  t.same(await billsOf(total, 'typo'), [{ total: '84.4' }])
  const ofOthers = Array.from({ length: 250 }, (_, at) => ({
    run: `2026010100000${at + 1_000}_00000000`,
    billing_cycle_id: '6',
  }))
  await rig.store.insert('bill_run_row', ofOthers)
  await publishSubjects(
    rig.context(),
    ofOthers.map(({ run }) => ({ kind: 'bills', run }) as const),
  )
  await forgetRuns(rig.store, { runsKept: 1, now: new Date(Date.now() + 25 * 3_600_000) })
  const dead = await rig.store.rows({
    sql: `SELECT DISTINCT run FROM (SELECT run FROM bill_row UNION ALL SELECT run FROM bill_plan)
      WHERE run NOT IN (SELECT run FROM bill_run)`,
  })
  t.same(dead, [], 'what the dead have left goes after a day')
  t.match(await rig.store.rows({ sql: 'SELECT count() AS runs FROM bill_run' }), [{ runs: '2' }])
})
