import { t } from 'tap'
import { compare } from '../../../pipeline/bills/compare/compare.js'
import { forgetRuns } from '../../../pipeline/bills/forget.js'
import { billRig, steady } from '../../pipeline/bills/rig.js'
import { customerAt, profile } from '../../pipeline/customers/registering.js'
import { lag, synchronize } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { someOf } from '../../rig/sample.js'
import { createMoving, repeat } from './moving.js'

const world = await createReplicas({ ...profile, store: { durability: 'one' } })
t.teardown(() => world.close())
const { r1, r2 } = world.stores

const tables = ['usage_read', 'bill_row', 'bill_variance_row', 'rate_comparison_row']
const start = () =>
  lag(r2, 'replication queues', { to: 'START', tables: [...tables, 'bill_run_row'] })
/** The client moves before this statement, and is back before the next one where it does not stay. */
let move: { readonly before: RegExp; readonly stays: boolean } | undefined
let isAway = false
const client = createMoving(world, (statement, { failOver, current }) => {
  // The other replica goes on when somebody waits for it.
  if (current() === 'r2' && statement.startsWith('SYSTEM SYNC REPLICA')) void start()
  const isDue = move?.before.test(statement) === true
  const isBack = isAway && move?.stays !== true
  if (isDue) move = { stays: move?.stays === true, before: /^$/ }
  if (isDue || isBack) failOver()
  isAway = isDue || (isAway && !isBack)
})
const rig = await billRig(t, client.store)
await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,'],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
})
await rig.register(
  customerAt({ clientId: 'c', accountNumber: 'AM', meterId: 'M', rateCode: 'FLAT' }),
)
const from = '2026-01-01T05:00:00Z'
const read = (quantity: string) =>
  rig.read({ meter: 'M', from, seconds: 3_600, quantities: steady(quantity, 744) })
await read('1')
await rig.publish({ Billing: ['AM,S,M,2026-01-01,2026-01-31,744,744,74.40,,,'] })

/** Runs while the other replica has not the latest reads, nor what the run writes. */
async function runBeside(run: () => Promise<unknown>, before: RegExp, stays: boolean) {
  await synchronize(r2)
  await lag(r2, 'replication queues', { to: 'STOP', tables })
  await read('2')
  move = { before, stays }
  await repeat(async () => void (await run()))
  const isLeft = move.before.source !== '^$'
  move = undefined
  if (client.current() === 'r2') client.failOver()
  isAway = false
  await start()
  await synchronize(r2)
  await read('1')
  return !isLeft
}

const moments: readonly (readonly [RegExp, boolean])[] = [
  [/^CREATE TABLE `bill_vector_/, true],
  [/^CREATE TABLE `bill_member_/, true],
  [/^SELECT run, toString\(status\) AS status, .* AS shortfall,/, false],
]
for (const [before, stays] of someOf(moments)) {
  t.test(`bills are of the files that their run names: ${before}`, async (t) => {
    t.ok(await runBeside(() => rig.bill({ start: '2026-01-01' }), before, stays), 'it has moved')
    const runs = await r1.rows({
      sql: `SELECT toUInt32(sum(b.total)) AS bills, toUInt32(any(r.total)) AS sum,
          any(usage_version) = (SELECT max(arrival) - 1 FROM file_state) AS is_newest
        FROM projected_bill AS b INNER JOIN bill_run AS r ON r.run = b.run`,
    })
    t.same(runs, [{ bills: 148, sum: 148, is_newest: 1 }])
  })
}

t.test('a comparison counts all that it has compared', async (t) => {
  const before = /FROM rate_comparison_row\s+WHERE run = /
  t.ok(await runBeside(() => compare(rig.context()), before, true), 'it has moved')
  const runs = await r1.rows({
    sql: 'SELECT toUInt32(meters) AS meters, comparisons FROM comparison_run',
  })
  t.same(runs, [{ meters: 1, comparisons: { compared: '1' } }])
})

t.test('bills are kept where the row of their run has not come yet', async (t) => {
  await synchronize(r2)
  await lag(r2, 'replication queues', { to: 'STOP', tables: ['bill_run_row'] })
  await rig.bill({ start: '2026-01-01' })
  client.failOver()
  await synchronize(r2, ['bill_row', 'publication'])
  const now = new Date(Date.now() + 25 * 3_600_000)
  await repeat(() => forgetRuns(client.store, { runsKept: 99, now }))
  client.failOver()
  await start()
  await synchronize(r2)
  const left = await r1.rows({
    sql: `SELECT run FROM bill_run WHERE run NOT IN (SELECT run FROM bill_row)`,
  })
  t.same(left, [], 'each run has its bills')
})
