import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { sql } from '../../../pipeline/store/sql.js'
import { onceSettings } from '../../../pipeline/store/staging.js'
import { running, writer } from '../../infra/clickhouse/running.js'
import { until } from '../../story/rig/stack.js'

const silentMsMax = 5_000
const { store: engine, client, rows } = await running(t, { asServer: { silentMsMax } })
const database = { username: writer.user, password: writer.password, database: 'default' }

function storeOf(options: { readonly silentMsMax?: number } = {}): Store {
  const store = createStore({ url: engine.url, ...database }, 'verbatim', options)
  t.teardown(store.close)
  return store
}

const inserts = "SELECT count() AS n FROM system.processes WHERE query LIKE 'INSERT INTO kept%'"
const runningInserts = async () => Number((await rows<{ n: string }>(inserts))[0]?.n)

t.before(() =>
  client.command({
    query: `CREATE TABLE kept (a UInt64) ENGINE = MergeTree ORDER BY a
      SETTINGS non_replicated_deduplication_window = 10`,
  }),
)

const slow = sql`INSERT INTO kept SELECT number FROM numbers(3) WHERE sleepEachRow(1) = 0
  SETTINGS max_block_size = 1`

t.test('a statement whose client gave up ends before its task runs again', async (t) => {
  const settings = onceSettings('one')
  const step = (store: Store) =>
    store.runTask('load-1-0', () => store.command({ sql: slow, settings }))
  const gone = { code: 'STORE_UNREACHABLE', message: /Timeout/ }
  await t.rejects(step(storeOf({ silentMsMax: 300 })), gone)
  t.equal(await runningInserts(), 1, 'it goes on')

  const store = storeOf()
  await store.runTask('load-1-1', () => store.command({ sql: sql`INSERT INTO kept SELECT 7` }))
  const waits = { code: 'STORE_UNREACHABLE', message: /load-1-0:\S+ of an earlier attempt still/ }
  await t.rejects(step(store), waits)
  const seen = new Set<number>()
  let isDone = false
  const watching = (async () => {
    while (!isDone) seen.add(await runningInserts())
  })()
  while (!isDone) {
    const written = await step(store).catch(() => sleep(100))
    isDone = written !== undefined
  }
  await watching
  t.notOk(seen.has(2), 'never two at once')
  t.match(await rows('SELECT a FROM kept ORDER BY a'), [
    { a: '0' },
    { a: '1' },
    { a: '2' },
    { a: '7' },
  ])
})

t.test('a statement outlives a connection that a proxy cuts for its silence', async (t) => {
  const { hostname, port } = new URL(engine.url)
  const idle = connect(Number(port), hostname)
  await once(idle, 'connect')
  const closed = once(idle.resume(), 'close')
  const query = 'INSERT INTO kept SELECT 100 + number FROM numbers(3) WHERE sleepEachRow(3) = 0'
  const settings = { max_block_size: '1', function_sleep_max_microseconds_per_block: '9000000' }
  const cut = client.command({ query, clickhouse_settings: settings })
  await t.rejects(cut, { code: 'ECONNRESET' })
  await closed
  await until(async () => (await runningInserts()) === 0)
  t.match(await rows('SELECT count() AS n FROM kept WHERE a >= 100'), [{ n: '3' }])
})
