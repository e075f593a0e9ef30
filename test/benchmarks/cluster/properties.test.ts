import t from 'tap'
import { createWatch, type Property } from '../../../benchmarks/cluster/properties.js'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { profile, publishFile, toReadRows } from '../../pipeline/customers/registering.js'
import { lag, synchronize } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'

/** The watch of the cluster's schedules reports each thing that must never happen. */
const world = await createReplicas(profile)
t.teardown(world.close)
const { r1, r2 } = world.stores

const reads = (arrival: number, account: string) =>
  toReadRows(arrival, [
    { accountNumber: account, meterId: `S${arrival}-M`, startsAt: '2026-03-04 05:00:00' },
  ])
const each = (property: Property, what: string) =>
  ['r1', 'r2'].map((replica) => ({ property, what: `${replica}: ${what}` }))

t.test('published reads that are gone are reported once', async (t) => {
  const watch = createWatch(world, 'S1-')
  await publishFile(r1, { arrival: 1, feed: 'Electric' })
  await r1.insert('usage_read', reads(1, 'A'))
  t.same(await watch.look(), [])
  t.same(await watch.lookAtEnd(), [])
  await r2.command({
    sql: "ALTER TABLE usage_read DELETE WHERE meter_id = 'S1-M'",
    settings: { mutations_sync: 2 },
  })
  const gone = each('published reads vanished', 'S1-M 2026-03-04 05:00:00')
  t.same(await watch.look(), gone)
  t.same(await watch.look(), [])
})

t.test('reads of a file without a verdict are reported', async (t) => {
  const watch = createWatch(world, 'S2-')
  await r1.insert('usage_read', reads(2, 'A'))
  t.same(await watch.look(), each('unpublished reads seen', 'arrival 2'))
})

t.test('what is left of an erased account is reported in whatever table', async (t) => {
  const watch = createWatch(world, 'S3-')
  await publishFile(r1, { arrival: 3, feed: 'Electric' })
  await r1.insert('usage_read', reads(3, 'S3-A1'))
  await r1.insert('reject', [{ arrival: 3, line: 2, code: 'X', raw: 'S3-A1,S,S3-M,now,1' }])
  watch.erased('S3-A1')
  t.same(await watch.look(), each('erased rows seen', 'account S3-A1'))
  const left = await watch.lookAtEnd()
  t.same(
    left.map(({ what }) => what).sort(),
    ['reject', 'usage_read']
      .flatMap((table) => [`r1: 1 rows of ${table}`, `r2: 1 rows of ${table}`])
      .sort(),
  )
  t.ok(left.every(({ property }) => property === 'erased accounts stored'))
})

t.test('a number that two have is reported', async (t) => {
  const watch = createWatch(world, 'S4-')
  await r1.insert('arrival', [{ arrival: 4, claim: 'first' }])
  t.same(await watch.lookAtEnd(), [])
  await r2.insert('arrival', [{ arrival: 4, claim: 'second' }])
  t.same(await watch.lookAtEnd(), each('numbers given twice', 'arrival 4'))
})

t.test('a run with fewer bills than it has published is reported', async (t) => {
  const watch = createWatch(world, 'S5-')
  await r1.insert('bill_run_row', [{ run: '5', bills: { computed: 2 } }])
  await r1.insert('bill_row', [{ run: '5', account_number: 'A', status: 'computed' }])
  t.same(await watch.lookAtBills(), [], 'it is not published yet')
  await r1.insert('publication', [{ published_seq: 5, kind: 'bills', run: '5' }])
  t.same(await watch.lookAtBills(), each('bills partly visible', 'run 5'))
})

t.test('a settled file that one replica does not have is reported', async (t) => {
  const watch = createWatch(world, 'S6-')
  const alone = createStore(r1.address, 'verbatim', { durability: 'one' })
  t.teardown(alone.close)
  const tables = ['usage_read']
  await lag(r2, 'fetches', { to: 'STOP', tables })
  await alone.insert('usage_read', reads(6, 'A'))
  const once = { property: 'settled files on one replica', what: 'arrival 6' }
  t.same(await watch.lookAtSettled(6), [once])
  await lag(r2, 'fetches', { to: 'START', tables })
  await synchronize(r2)
  t.same(await createWatch(world, 'S6-').lookAtSettled(6), [])
})
