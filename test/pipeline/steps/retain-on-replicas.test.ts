import t from 'tap'
import { retain } from '../../../pipeline/steps/retain.js'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { tableBehind } from '../../../pipeline/store/replicas.js'
import { createFolder } from '../../rig/folder.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { createLineOn } from '../by-hand.js'
import { profile, publishFile, toReadRows } from '../customers/registering.js'

const { stores, close } = await createReplicas(profile)
t.teardown(close)
const { r1, r2 } = stores
const { context } = createLineOn(r1, createFolder(t))

t.test('rejected rows are forgotten on all replicas when their days are over', async (t) => {
  const more = { settled_at: '2025-01-01 00:00:00' }
  await publishFile(r1, { arrival: 1, feed: 'Electric', more })
  await r1.insert('reject', [{ arrival: 1, line: 2, code: 'X' }])
  await retain(context)
  for (const store of [r1, r2]) t.same(await store.rows({ sql: 'SELECT line FROM reject' }), [])
})

t.test('held reads are forgotten on all replicas, but none that a claim asks for', async (t) => {
  const read = { accountNumber: 'A', meterId: 'M', startsAt: '2024-06-01T05:00:00Z' }
  const hold = (arrival: number, days: number) => {
    const held_at = new Date(Date.now() - days * 86_400_000).toISOString()
    return r1.insert(
      'held_read',
      toReadRows(arrival, [read]).map((row) => ({ ...row, held_at })),
    )
  }
  const { holdDays } = context.profile.usage
  await hold(1, holdDays + 1)
  await hold(2, holdDays - 1)
  const held = () =>
    Promise.all(
      [r1, r2].map((store) =>
        store.rows({
          sql: 'SELECT toUInt32(bitShiftRight(version, 32)) AS arrival FROM held_read ORDER BY arrival',
        }),
      ),
    )
  const [old, recent] = [{ arrival: 1 }, { arrival: 2 }]
  const [claimed] = await r1.rows<{ version: string }>({
    sql: 'SELECT toString(min(version)) AS version FROM held_read',
  })
  await r1.insert('held_claim', [claimed as object])
  await retain(context)
  t.same(await held(), [
    [old, recent],
    [old, recent],
  ])
  await r1.command({ sql: 'TRUNCATE TABLE held_claim' })
  await retain(context)
  t.same(await held(), [[recent], [recent]])
})

t.test('a replica that is away does not hold up a server that does not wait for it', async (t) => {
  const alone = createStore(r1.address, 'verbatim', { durability: 'one' })
  t.teardown(alone.close)
  const { context } = createLineOn(alone, createFolder(t))
  const settled = { settled_at: '2025-01-01 00:00:00' }
  await publishFile(r1, { arrival: 2, feed: 'Electric', more: settled })
  await r1.insert('reject', [{ arrival: 2, line: 2, code: 'X' }])
  await r1.insert('bill_row', [{ run: '1', account_number: 'A', status: 'computed' }])
  const tables = ['reject', 'bill_row']
  for (const table of tables) await r2.command({ sql: `DETACH TABLE ${table}` })
  await retain(context)
  for (const table of tables) await r2.command({ sql: `ATTACH TABLE ${table}` })
  t.equal(await tableBehind(r1, tables, 60), undefined)
  for (const table of tables)
    for (const store of [r1, r2]) t.same(await store.rows({ sql: `SELECT 1 FROM ${table}` }), [])
})
