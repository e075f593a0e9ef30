import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { createCatchUp } from '../../../pipeline/store/replicas.js'
import { attach, createReads, forgetRejects } from '../../../pipeline/store/staging.js'
import { profile, toReadRows } from '../../pipeline/customers/registering.js'
import { setInterserver } from './interserver.js'
import { lag, synchronize } from './lag.js'
import { openMemory } from './memory.js'
import { createReplicas } from './start.js'

const { stores, close } = await createReplicas({ ...profile, store: { durability: 'one' } })
t.teardown(close)
const { r1, r2 } = stores

const tables = ['reject', 'arrival', 'usage_read']

const rejectsOf = (store: Store) =>
  store.rows<{ arrival: number }>({ sql: 'SELECT arrival FROM reject ORDER BY arrival' })
const reject = (arrival: number) => ({ arrival, line: 2, code: 'X', detail: 'x'.repeat(9_000) })

t.test('a row that is inserted at one replica is read at the other', async (t) => {
  await r1.insert('reject', [reject(1)])
  await synchronize(r2, ['reject'])
  t.same(await rejectsOf(r2), [{ arrival: 1 }])
})

t.test('a replica whose fetches are stopped shows no row until they go on', async (t) => {
  await lag(r2, 'fetches', { to: 'STOP', tables })
  await r1.insert('reject', [reject(2)])
  t.same(await rejectsOf(r1), [{ arrival: 1 }, { arrival: 2 }])
  t.same(await rejectsOf(r2), [{ arrival: 1 }])
  await lag(r2, 'fetches', { to: 'START', tables })
  await synchronize(r2, ['reject'])
  t.same(await rejectsOf(r2), [{ arrival: 1 }, { arrival: 2 }])
})

t.test('a row that a majority must have is stored when the other replica has it', async (t) => {
  const majority = createStore(r1.address)
  t.teardown(majority.close)
  await lag(r2, 'fetches', { to: 'STOP', tables })
  let isStored = false
  const storing = majority.insert('reject', [reject(3)]).then(() => {
    isStored = true
  })
  while ((await rejectsOf(r1)).length < 3) await sleep(20)
  t.notOk(isStored, 'one replica has it')
  await lag(r2, 'fetches', { to: 'START', tables })
  await storing
  t.same(await rejectsOf(r2), [{ arrival: 1 }, { arrival: 2 }, { arrival: 3 }])
})

t.test('who catches up waits for what the other replica has', async (t) => {
  const before = (await rejectsOf(r1)).length
  const catchUp = createCatchUp(r2)
  await catchUp()
  await lag(r2, 'fetches', { to: 'STOP', tables })
  await r1.insert('reject', [reject(4)])
  const caughtUp = catchUp().then(async () => (await rejectsOf(r2)).length)
  t.equal(await Promise.race([caughtUp, sleep(500, 'it waits')]), 'it waits')
  await lag(r2, 'fetches', { to: 'START', tables })
  t.equal(await caughtUp, before + 1)
})

t.test('an insert token that one replica has taken is refused at the other', async (t) => {
  const once = { insert_deduplicate: 1, insert_deduplication_token: 'arrival:1' }
  const claims = (store: Store) => store.rows({ sql: 'SELECT claim FROM arrival' })
  await lag(r2, 'fetches', { to: 'STOP', tables })
  await r1.insert('arrival', [{ arrival: 1, claim: 'first' }], once)
  await r2.insert('arrival', [{ arrival: 1, claim: 'second' }], once)
  t.same(await claims(r2), [], 'it is refused although the replica does not have the row yet')
  await lag(r2, 'fetches', { to: 'START', tables })
  await synchronize(r2, ['arrival'])
  for (const store of [r1, r2]) t.same(await claims(store), [{ claim: 'first' }])
})

t.test('rejected rows that were forgotten are stored when they are loaded again', async (t) => {
  const rows = [reject(5), reject(6)]
  const stored = async () => (await rejectsOf(r1)).filter(({ arrival }) => arrival >= 5).length
  await r1.insert('reject', rows)
  for (const { arrival } of rows) await forgetRejects(r1, arrival)
  t.equal(await stored(), 0)
  await r1.insert('reject', rows)
  t.equal(await stored(), 2)
  await r1.command({ sql: `INSERT INTO reject (arrival, line) SELECT 7, 7` })
  await forgetRejects(r1, 7)
  await r1.command({ sql: `INSERT INTO reject (arrival, line) SELECT 7, 7` })
  t.equal(await stored(), 3, 'by a statement too')
})

t.test('a partition that is attached from a table of one replica reaches the other', async (t) => {
  const reads = toReadRows(1, [
    { accountNumber: 'A', meterId: 'M', startsAt: '2026-04-01 05:00:00', quantity: '2.5' },
  ])
  const quantities = (store: Store) => store.rows({ sql: 'SELECT quantity FROM usage_read' })
  await r1.command(createReads('staging_1_read'))
  await r1.insert('staging_1_read', reads)
  await lag(r2, 'replication queues', { to: 'STOP', tables })
  await attach(r1, 'usage_read', 'staging_1_read')
  t.same(await quantities(r1), [{ quantity: '2.5' }])
  t.same(await quantities(r2), [])
  await lag(r2, 'replication queues', { to: 'START', tables })
  await synchronize(r2, ['usage_read'])
  t.same(await quantities(r2), [{ quantity: '2.5' }])
})

t.test('an engine whose memory has another layout is refused', async (t) => {
  const address = { path: '/no/engine/was/opened/here/', host: '127.0.0.1', port: 1 }
  t.throws(() => setInterserver(openMemory(), address), { message: /found 0 times/ })
})
