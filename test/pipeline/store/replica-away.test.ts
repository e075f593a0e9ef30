import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { deleteFrom } from '../../../pipeline/store/replicas.js'
import { sql } from '../../../pipeline/store/sql.js'
import { attach, createReads, onceSettings } from '../../../pipeline/store/staging.js'
import { lag, synchronize } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { profile, toReadRows } from '../customers/registering.js'

const { stores, close } = await createReplicas(profile)
t.teardown(close)
const { r1, r2 } = stores

const tables = ['usage_read', 'reject']
const metersOf = async (store: Store) => {
  const rows = await store.rows<{ meter_id: string }>({
    sql: 'SELECT meter_id FROM usage_read ORDER BY meter_id',
  })
  return rows.map((row) => row.meter_id)
}
const arrivalsOf = async (store: Store) => {
  const rows = await store.rows<{ arrival: number }>({
    sql: 'SELECT arrival FROM reject ORDER BY arrival',
  })
  return rows.map((row) => row.arrival)
}

/** Stages a read once; attaches it as often as it is called. */
async function attachRead(arrival: number): Promise<void> {
  const read = { accountNumber: 'A', meterId: `M${arrival}`, startsAt: '2026-04-01 05:00:00' }
  const staging = `staging_${arrival}_read`
  await r1.command(createReads(staging))
  await r1.insert(staging, toReadRows(arrival, [read]), onceSettings(staging))
  await attach(r1, 'usage_read', staging)
}

/** A third replica of the tables. */
async function addThird(): Promise<Store> {
  await r1.command({ sql: 'CREATE DATABASE r3' })
  for (const table of tables) {
    const [found] = await r2.rows<{ text: string }>({
      sql: sql`SELECT create_table_query AS text FROM system.tables
        WHERE database = currentDatabase() AND name = ${table}`,
    })
    await r1.command({ sql: found?.text.replaceAll(/\br2\b/g, 'r3') ?? '' })
  }
  const store = createStore({ ...r1.address, database: 'r3' })
  t.teardown(store.close)
  await synchronize(store, tables)
  return store
}

const leave = async (store: Store) => {
  for (const table of tables) await store.command({ sql: `DETACH TABLE ${table}` })
}
const comeBack = async (store: Store) => {
  for (const table of tables) await store.command({ sql: `ATTACH TABLE ${table}` })
}

t.test('an attach is on all replicas that are up when it returns', async (t) => {
  await lag(r2, 'replication queues', { to: 'STOP', tables })
  const attached = attachRead(1).then(() => metersOf(r2))
  t.equal(await Promise.race([attached, sleep(1_000, 'it waits')]), 'it waits')
  await lag(r2, 'replication queues', { to: 'START', tables })
  t.same(await attached, ['M1'])
})

t.test('a change waits until a majority of the replicas is up', async (t) => {
  await r1.insert('reject', [{ arrival: 1, line: 2, code: 'X' }])
  await leave(r2)
  const away = { code: 'REPLICA_AWAY', retry: true }
  await t.rejects(attachRead(2), away)
  await t.rejects(deleteFrom(r1, 'reject', sql`arrival = 1`), away)
  await comeBack(r2)
  await attachRead(2)
  await deleteFrom(r1, 'reject', sql`arrival = 1`)
  t.same(await metersOf(r2), ['M1', 'M2'])
  t.same(await arrivalsOf(r2), [])
})

t.test('a replica that is away holds up no majority, and follows when it is back', async (t) => {
  const third = await addThird()
  await r1.insert('reject', [{ arrival: 3, line: 2, code: 'X' }])
  await leave(third)
  await attachRead(3)
  await deleteFrom(r1, 'reject', sql`arrival = 3`)
  t.same(await metersOf(r2), ['M1', 'M2', 'M3'])
  t.same(await arrivalsOf(r2), [])
  await comeBack(third)
  await synchronize(third, tables)
  t.same(await metersOf(third), ['M1', 'M2', 'M3'])
  await deleteFrom(r1, 'reject', sql`arrival = 4`)
  t.same(await arrivalsOf(third), [])
})
