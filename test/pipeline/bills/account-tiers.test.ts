import t from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import { customerAt } from '../customers/registering.js'
import { costsAddUp } from './costs.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
/** January 2026 in Detroit; the first tier of an account has 310 kWh, of which such reads are 223.2. */
const january = '2026-01-01T05:00:00Z'
const whole = (quantity = '0.075') => steady(quantity, 2_976)

await rig.publish({
  RateCodes: ['TIER,Tiered,Tiered,,'],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
})

/** Registers an account with its meters, and publishes their reads. */
async function load(accountNumber: string, reads: Readonly<Record<string, readonly string[]>>) {
  const [first, ...others] = Object.keys(reads).map((meterId) => {
    const unitOfMeasure = meterId.endsWith('Wh') && !meterId.endsWith('kWh') ? 'Wh' : 'kWh'
    const more = { clientId: accountNumber, rateCode: 'TIER', unitOfMeasure }
    return customerAt({ accountNumber, meterId, ...more })
  })
  if (first === undefined) return
  await rig.register({ ...first, meters: [first, ...others].flatMap(({ meters }) => meters) })
  await rig.readAll(
    Object.entries(reads)
      .filter(([, quantities]) => quantities.length > 0)
      .map(([meter, quantities]) => ({ meter, account: accountNumber, from: january, quantities })),
  )
}

/** Bills an account, and returns the statuses and totals by meter. */
async function totalsOf(account: string) {
  await rig.bill({ start: '2026-01-01' }, { tierScope: 'account' })
  const found = await rig.bills('account_number, meter_id, status, toString(total) AS total')
  return found
    .filter((one) => one['account_number'] === account)
    .map(({ meter_id: meter, status, total }) => [meter, status, total])
}

t.test('meters that are read in Wh and in kWh share the tiers of their account', async (t) => {
  // 86.8 of the second meter are in the first tier.
  await load('M', { 'a-Wh': whole('75'), 'b-kWh': whole(), 'c-none': [] })
  t.same(await totalsOf('M'), [
    ['a-Wh', 'computed', '22.32'],
    ['b-kWh', 'computed', '35.96'],
    ['c-none', 'noUsage', null],
  ])
  await load('N', { 'd-kWh': whole(), 'e-Wh': whole('75') })
  t.same(await totalsOf('N'), [
    ['d-kWh', 'computed', '22.32'],
    ['e-Wh', 'computed', '35.96'],
  ])
  await costsAddUp(t, rig.store)
})

t.test(
  'reads beyond the limit of a bill fill no tiers of others, those of a sparse one do',
  async (t) => {
    const stuck = whole('999999999')
    await load('S', { 'f-stuck': stuck, 'g-stuck': stuck, 'h-good': whole(), 'i-stuck': stuck })
    t.same(await totalsOf('S'), [
      ['f-stuck', 'notProjectable', null],
      ['g-stuck', 'notProjectable', null],
      ['h-good', 'computed', '22.32'],
      ['i-stuck', 'notProjectable', null],
    ])
    await load('T', { 'j-half': steady('0.15', 1_488), 'k-whole': whole() })
    t.same(await totalsOf('T'), [
      ['j-half', 'sparse', null],
      ['k-whole', 'computed', '35.96'],
    ])
  },
)

t.test('a variance counts what the other meters of the account used, billed or not', async (t) => {
  await load('V', { 'l-unbilled': whole(), 'm-billed': whole() })
  await load('W', { 'n-later': [...whole(), ...steady('0.075', 96)], 'o-billed': whole() })
  const document = (account: string, meter: string, more = '2026-01-31,223.2,223.2,40.00') =>
    `${account},S,${meter},2026-01-01,${more},,`
  await rig.publish({
    Billing: [
      document('V', 'm-billed'),
      document('W', 'n-later', '2026-02-01,230.4,230.4,23.04'),
      document('W', 'o-billed'),
    ],
  })
  t.same(await totalsOf('V'), [
    ['l-unbilled', 'computed', '22.32'],
    ['m-billed', 'computed', '35.96'],
  ])
  const variances = await rig.store.rows<object>({
    sql: `SELECT meter_id, mapApply((k, v) -> (k, toString(v)), cost_causes) FROM bill_variance ORDER BY meter_id`,
  })
  t.same(variances.map(Object.values), [
    ['m-billed', { unexplained: '-4.04' }],
    ['n-later', { periodBoundary: '-0.72' }],
    ['o-billed', { unexplained: '-4.04' }],
  ])
})

t.test('the bills are the same however the engine plans their statements', async (t) => {
  const columns = 'run, account_number, meter_id, status, toString(total) AS total'
  await rig.bill({ start: '2026-01-01' }, { tierScope: 'account' })
  const before = await rig.bills(columns)
  const { store } = rig
  const unplanned: typeof store = {
    ...store,
    command: (one, body) => {
      const settings = { ...one.settings, query_plan_enable_optimizations: 0 }
      return store.command({ ...one, settings }, body)
    },
  }
  const context = { ...rig.context({ tierScope: 'account' }), store: unplanned }
  await bill(context, { cycleId: '7', start: '2026-01-01' })
  const after = await rig.bills(columns)
  t.not(after[0]?.['run'], before[0]?.['run'])
  t.same(
    after.map((one) => ({ ...one, run: before[0]?.['run'] })),
    before,
  )
})
