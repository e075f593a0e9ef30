import t from 'tap'
import { judgeErasures } from '../../../infra/checks/erasures.js'
import { erasedTables } from '../../../pipeline/customers/erasure/erasure.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { tableBehind } from '../../../pipeline/store/replicas.js'
import { sql } from '../../../pipeline/store/sql.js'
import { createFolder } from '../../rig/folder.js'
import { lag, synchronize } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { createLineOn } from '../by-hand.js'
import { profile, toReadRows } from '../customers/registering.js'
import { createErasing } from './erasing.js'

const { stores, close } = await createReplicas({ ...profile, store: { durability: 'one' } })
t.teardown(close)
const { r1, r2 } = stores
const line = createLineOn(r1, createFolder(t))
const { known, terminate, load } = createErasing(line)

/** Waits for replicas until they are done, or, where one cannot be, for two seconds. */
const erase = (replicaSeconds = 600) => eraseDue(line.context, { replicaSeconds })
const waitSeconds = 2

async function accountAt(account: string): Promise<void> {
  const place = { accountNumber: account, externalSiteId: account, meterId: account }
  await known({ ...place, clientId: account })
  const read = { ...place, startsAt: '2024-06-01T05:00:00Z' }
  await load('DEMO_07062024', read)
  await r1.insert('held_read', toReadRows(1, [{ ...read, meterId: 'EXCHANGED' }]))
  await terminate({ account_number: account })
  await synchronize(r2)
}

const tables = ['usage_read', 'held_read', 'account_meter', 'registration_fact', 'tenancy']

/** Tables of a replica that still have a row of an account. */
async function holding(replica: Store, account: string): Promise<readonly string[]> {
  const looks = tables.map(async (table) => {
    const rows = await replica.rows({
      sql: `SELECT 1 FROM ${table} WHERE account_number = '${account}' LIMIT 1`,
    })
    return rows.length > 0 ? [table] : []
  })
  return (await Promise.all(looks)).flat()
}

async function stateOf(account: string): Promise<number | undefined> {
  const rows = await r1.rows<{ rank: number }>({
    sql: `SELECT rank FROM erasure FINAL WHERE account_number = '${account}'`,
  })
  return rows[0]?.rank
}

t.test('an erasure is finished when all replicas have carried it out', async (t) => {
  await accountAt('BOTH')
  await erase()
  for (const replica of [r1, r2]) t.same(await holding(replica, 'BOTH'), [])
  t.equal(await stateOf('BOTH'), 3)
  t.match(await judgeErasures(r1, profile), { state: 'good' })
})

t.test('what a replica that lags still has is reported until it is gone', async (t) => {
  await accountAt('LAGS')
  await lag(r2, 'replication queues', { to: 'STOP', tables: ['usage_read', 'tenancy'] })
  for (const _ of ['at first', 'as long as it lags']) {
    await erase(waitSeconds)
    t.same(await holding(r1, 'LAGS'), [])
    t.same(await holding(r2, 'LAGS'), ['usage_read', 'tenancy'])
    t.equal(await stateOf('LAGS'), 2)
    t.match(await judgeErasures(r1, profile), {
      state: 'warning',
      detail: /not yet on every replica: 1, since .* UTC\ninactive replicas: none/,
    })
  }
  await lag(r2, 'replication queues', { to: 'START', tables: ['usage_read', 'tenancy'] })
  await erase()
  t.same(await holding(r2, 'LAGS'), [])
  t.equal(await stateOf('LAGS'), 3)
  t.match(await judgeErasures(r1, profile), { state: 'good' })
})

t.test('a replica that has yet to delete every row of a part still has them', async (t) => {
  const table = 'held_read'
  await r1.command({
    sql: `ALTER TABLE ${table} MODIFY SETTING cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
      max_cleanup_delay_period = 1, old_parts_lifetime = 0`,
  })
  await r1.command({ sql: `SYSTEM RESTART REPLICA ${table}` })
  await accountAt('EMPTY')
  await lag(r2, 'replication queues', { to: 'STOP', tables: [table] })
  const rows = `FROM ${table} WHERE account_number = 'EMPTY'`
  await r1.command({
    sql: `ALTER TABLE ${table} DELETE WHERE account_number = 'EMPTY'`,
    settings: { mutations_sync: 1 },
  })
  t.same(await r1.rows({ sql: `SELECT 1 ${rows}` }), [])
  t.equal(await tableBehind(r1, [table], 5), table, 'also when the part was cleaned up here')
  t.not((await r2.rows({ sql: `SELECT 1 ${rows}` })).length, 0)
  await lag(r2, 'replication queues', { to: 'START', tables: [table] })
  t.equal(await tableBehind(r1, [table], 600), undefined)
  t.same(await r2.rows({ sql: `SELECT 1 ${rows}` }), [])
})

t.test('no table that an erasure rewrites drops its empty parts', async (t) => {
  const removing = await r1.rows({
    sql: sql`SELECT name FROM system.tables WHERE database = currentDatabase()
      AND name IN ${erasedTables()} AND NOT position(engine_full, 'remove_empty_parts = 0')`,
  })
  t.same(removing, [])
})

t.test('a replica that is away is named until it is back', async (t) => {
  await accountAt('AWAY')
  await r2.command({ sql: 'DETACH TABLE usage_read' })
  await erase(waitSeconds)
  t.equal(await stateOf('AWAY'), 2)
  t.match(await judgeErasures(r1, profile), { state: 'warning', detail: /inactive replicas: r2/ })
  await r2.command({ sql: 'ATTACH TABLE usage_read' })
  await synchronize(r2)
  await erase()
  t.same(await holding(r2, 'AWAY'), [])
  t.equal(await stateOf('AWAY'), 3)
})
