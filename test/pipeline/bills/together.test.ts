import t from 'tap'
import { bill, billTogether } from '../../../pipeline/bills/run.js'
import { billWhenDue, queueDue } from '../../../pipeline/bills/when-due.js'
import { type At, customerAt } from '../customers/registering.js'
import { later, lineAt, pattern } from './due.js'
import { billRig, steady } from './rig.js'
import { seenOf } from './together/seen.js'

/** What cycles of the same days come to must not depend on whether they are computed together. */
const rig = await billRig(t)
const cycles = ['7', '8', '9', 'none']
const days = { first: '2026-01-01', last: '2026-01-31' }
const january = '2026-01-01T05:00:00Z'
/** 223.2 kWh, of which the first tier of an account has 310. */
const whole = steady('0.075', 2_976)
const open = { first: '2026-05-01', last: '2026-05-31' }
const jobOf = (cycleId: string) => ({ name: 'bill', v: 1, cycleId, start: days.first })

/** The jobs of January that are queued in some minutes. */
async function dueAt(minutes: number) {
  const { line, queued } = lineAt(rig, later(minutes))
  await queueDue(line)
  return queued.filter((one) => (one as { start: string }).start === days.first)
}

await rig.publish({
  RateCodes: ['TIER,Tiered,Tiered,,', 'TOU,Time of use,TOU,,'],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  RateTou: ['TOU,Peak,0.2,14,19,--01-01,--12-31,,', 'TOU,Off-Peak,0.08,19,14,--01-01,--12-31,,'],
  BillingCycles: [days, open].flatMap(({ first, last }) =>
    cycles.map((cycle) => `${cycle},${first},${last}`),
  ),
})

const meterOf = (billingCycleId: string, at: At) =>
  customerAt(at).meters.map((one) => ({ ...one, billingCycleId }))
/** One account has a meter in each of two cycles; another has moved from one to the other. */
const shared = { clientId: '1', accountNumber: 'A1', rateCode: 'TIER' }
const moved = { clientId: '2', accountNumber: 'A2', meterId: 'moved', rateCode: 'TIER' }
const single = { clientId: '3', accountNumber: 'A3', meterId: 'single', rateCode: 'TOU' }
const registered = (meters: ReturnType<typeof meterOf>, clientId: string) => ({
  clientId,
  acctStatus: 'A',
  meters,
})
await rig.registerAt('2025-12-01', registered(meterOf('7', moved), '2'))
await rig.registerAt('2026-01-11', registered(meterOf('8', moved), '2'))
await rig.register(
  registered(
    [
      ...meterOf('7', { ...shared, meterId: 'one' }),
      ...meterOf('8', { ...shared, meterId: 'two' }),
      ...meterOf('8', { ...shared, meterId: 'three' }),
    ],
    '1',
  ),
  registered(meterOf('9', single), '3'),
)
for (const [meter, account] of [
  ['one', 'A1'],
  ['two', 'A1'],
  ['three', 'A1'],
  ['moved', 'A2'],
  ['single', 'A3'],
] as const) {
  await rig.read({ meter, account, from: january, quantities: whole })
}
await rig.publish({
  Billing: ['one', 'two'].map((meter) => `A1,S,${meter},2026-01-01,2026-01-31,223.2,223.2,30,,`),
})
// The reads of one cycle end two days before those of the others.
await rig.read({ meter: 'one', account: 'A1', ...pattern('2026-04-20', 20) })
await rig.read({ meter: 'two', account: 'A1', ...pattern('2026-04-20', 22) })
await rig.read({ meter: 'single', account: 'A3', ...pattern('2026-04-20', 22) })

/** All that readers see of the bills of a period, without what names runs. */
const seen = ({ first }: typeof days) => seenOf(rig.store, `start_date = '${first}'`)

for (const [name, period, at] of [
  ['that has ended', days, '2026-02-10T17:00:00Z'],
  ['that is open', open, '2026-05-15T16:00:00Z'],
] as const) {
  for (const tierScope of ['meter', 'account']) {
    t.test(`a period ${name}, tiers by ${tierScope}: together as apart`, async (t) => {
      const context = { ...rig.context({ tierScope }), now: () => new Date(at) }
      for (const cycleId of cycles) await bill(context, { cycleId, start: period.first })
      const apart = await seen(period)
      const periods = cycles.map((cycleId) => ({ ...period, cycleId, fileId: 'f' }))
      const summaries = await billTogether(context, periods)
      t.same(summaries.map(({ cycleId }) => cycleId).sort(), cycles)
      t.equal(new Set(summaries.map(({ run }) => run)).size, cycles.length, 'a run each')
      t.match(summaries.find(({ cycleId }) => cycleId === 'none')?.bills, {})
      t.strictSame(await seen(period), apart)
      t.ok(
        apart['projected_bill']?.some((row) => row.includes('"A3"')),
        'something was compared',
      )
    })
  }
}

t.test('periods of the same days are one job, which computes all that are due', async (t) => {
  const today = lineAt(rig, later(0)).line
  for (const cycleId of cycles) await bill(today, { cycleId, start: days.first })
  await rig.read({ meter: 'two', account: 'A1', from: january, quantities: ['1'] })
  await rig.read({ meter: 'single', account: 'A3', from: january, quantities: ['1'] })
  t.same(await dueAt(11), [jobOf('8')], 'the first that is due is queued for the others')
  const runs = () =>
    rig.store.rows<{ cycle: string; run: string }>({
      sql: `SELECT billing_cycle_id AS cycle, max(run) AS run FROM bill_run
        WHERE start_date = '${days.first}' GROUP BY cycle ORDER BY cycle`,
    })
  const before = new Map((await runs()).map(({ cycle, run }) => [cycle, run]))
  await billWhenDue(lineAt(rig, later(11)).line, { cycleId: '8', start: days.first })
  const changed = (await runs()).filter(({ cycle, run }) => before.get(cycle) !== run)
  t.same(
    changed.map(({ cycle }) => cycle),
    ['8', '9'],
    'and no cycle that no file has touched',
  )
})

t.test('a period that cannot be computed holds no other up, and is then tried alone', async (t) => {
  for (const meter of ['one', 'two', 'single']) {
    await rig.read({
      meter,
      account: meter === 'single' ? 'A3' : 'A1',
      from: january,
      quantities: ['2'],
    })
  }
  const { line } = lineAt(rig, later(11))
  const store = {
    ...line.store,
    insert: async (...all: Parameters<typeof line.store.insert>) => {
      if (JSON.stringify(all).includes('"cycle_id":"8"')) throw new Error('no')
      return rig.store.insert(...all)
    },
  }
  await t.rejects(billWhenDue({ ...line, store }, { cycleId: '7', start: days.first }), /no/)
  const failed = await rig.store.rows({
    sql: `SELECT billing_cycle_id AS cycle FROM bill_state FINAL WHERE failures > 0`,
  })
  t.same(failed, [{ cycle: '8' }])
  const total = await rig.bills('meter_id, toString(quantity) AS quantity')
  t.match(
    total.filter(({ quantity }) => quantity === '225.125'),
    [{ meter_id: 'one' }, { meter_id: 'single' }],
  )
  t.same(await dueAt(13), [jobOf('8')])
  await billWhenDue(lineAt(rig, later(13)).line, { cycleId: '8', start: days.first })
  t.same(await dueAt(14), [])
})
