import t from 'tap'
import { nameChange } from '../../../pipeline/ledger/announced.js'
import { blankState } from '../../../pipeline/steps/receive.js'
import { sweep } from '../../../pipeline/steps/sweep.js'
import { id, sql } from '../../../pipeline/store/sql.js'
import { createLineByHand } from '../by-hand.js'

const { context: line } = await createLineByHand(t)
const { store, ledger } = line
let queued: string[] = []
let asked = 0
const context = {
  ...line,
  mdm: { history: () => t.fail('the sweep asks nobody'), close: async () => undefined } as never,
  queues: {
    ...line.queues,
    add: async (name: string) => void queued.push(name),
    addFlow: async (parent: object) => void queued.push(`flow of ${Object.keys(parent)[1]}`),
  } as typeof line.queues,
  store: {
    ...store,
    rows: ((statement) => {
      asked++
      return store.rows(statement)
    }) as typeof store.rows,
  },
}

/** The jobs that one sweep queues. */
async function swept(): Promise<readonly string[]> {
  queued = []
  asked = 0
  await sweep(context)
  return queued
}

t.test('where nothing is to be done, the store is asked once', async (t) => {
  t.same(await swept(), [])
  t.equal(asked, 1)
})

t.test('what a lost job or a dead worker has left is found', async (t) => {
  const entry = { source: 'inbox', name: 'DEMO_01022026_Electric.csv', path: '/in/1', bytes: 1 }
  const arrival = await ledger.claim({ ...entry, modifiedMs: 1, force: false })
  t.same(await swept(), ['receive'], 'a file that has only arrived')
  await ledger.record({ ...blankState(context, arrival), status: 'published' })
  t.same(await swept(), ['settle'], 'a file that is not put away')
  const settledAt = new Date()
  await ledger.record({ ...blankState(context, arrival), status: 'published', settledAt })
  t.same(await swept(), [])

  await store.insert('held_claim', [{ version: String(arrival.arrival * 2 ** 32), claim: '0' }])
  t.same(await swept(), ['reconcile'], 'held reads that were asked for')
  await store.command({ sql: 'TRUNCATE TABLE held_claim' })

  const request = { meter_id: 'M1', commodity: 'Electric', state: 'open', version: 1 }
  await store.insert('history_request', [request])
  t.same(await swept(), ['backfill'], 'history that was not requested')
  await store.insert('history_request', [{ ...request, state: 'empty', version: 2 }])

  await store.insert('audit_log', [{ number: 9, act: 'retry', subject: String(arrival.arrival) }])
  t.same(await swept(), ['reprocess'], 'a file to be loaded again')
  await store.command({ sql: 'TRUNCATE TABLE audit_log' })

  const stale = { local_day: '2026-01-02', last_local_day: '2026-01-02', cause: 'repair' }
  await store.insert('stale_day', [{ ...stale, change: nameChange() }])
  t.same(await swept(), ['days'], 'days to be stored')
  await store.command({ sql: 'TRUNCATE TABLE stale_day' })

  const table = `staging_${arrival.arrival}_read`
  await store.command({ sql: sql`CREATE TABLE ${id(table)} (a UInt8) ENGINE = Memory` })
  t.same(await swept(), [])
  t.same(await store.rows({ sql: sql`SELECT 1 FROM system.tables WHERE name = ${table}` }), [])

  const change = nameChange()
  const recorded_at = new Date(Date.now() - 120_000).toISOString()
  await store.insert('usage_change_row', [{ change, cause: 'ownership', recorded_at }])
  t.same(await swept(), [])
  const published = sql`SELECT 1 FROM publication WHERE change = ${BigInt(change)}`
  t.equal((await store.rows({ sql: published })).length, 1, 'a change that was announced')
  await swept()
  t.equal(asked, 1, 'afterwards nothing is left')
})

t.test('files go on where another table cannot be read', async (t) => {
  const entry = { source: 'inbox', name: 'DEMO_02022026_Electric.csv', path: '/in/2', bytes: 1 }
  await ledger.claim({ ...entry, modifiedMs: 1, force: false })
  await store.command({ sql: 'RENAME TABLE stale_day TO stale_day_away' })
  try {
    t.ok((await swept()).includes('receive'))
  } finally {
    await store.command({ sql: 'RENAME TABLE stale_day_away TO stale_day' })
  }
})
