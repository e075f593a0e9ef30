import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { createStore, type Store, type Wording } from '../../../pipeline/store/clickhouse.js'
import { sql } from '../../../pipeline/store/sql.js'
import { running, writer } from '../../infra/clickhouse/running.js'
import { createProxy, type Handling, reportsProgress } from './proxy.js'

const { store: engine, client } = await running(t)
await client.command({ query: 'CREATE TABLE kept (a UInt64) ENGINE = MergeTree ORDER BY a' })

async function storeBehind(t: Test, handle: Handling, wording: Wording = 'verbatim') {
  const url = await createProxy(t, engine.url, handle)
  const { user: username, password } = writer
  const store = createStore({ url, username, password, database: 'default' }, wording)
  t.teardown(store.close)
  return store
}

const three = sql`SELECT toUInt8(sum(sleepEachRow(1))) AS slept FROM numbers(3)
  SETTINGS max_block_size = 1`

t.test('progress keeps a proxy awake that cuts silent connections', async (t) => {
  const pace = { silentMsMax: 600, times: 100 }
  const store = await storeBehind(t, reportsProgress(pace))
  t.match(await store.rows({ sql: three }), [{ slept: 0 }])
  t.equal(await store.command({ sql: sql`INSERT INTO kept SELECT slept FROM (${three})` }), 1)
  const silent = { send_progress_in_http_headers: 0 }
  await t.rejects(store.rows({ sql: three, settings: silent }), { code: 'STORE_UNREACHABLE' })
})

t.test('progress of hours does not hide that a statement failed', async (t) => {
  const store = await storeBehind(t, reportsProgress({ silentMsMax: 60_000, times: 10_000 }))
  t.match(await store.rows({ sql: three }), [{ slept: 0 }])
  const failed = sql`SELECT throwIf(slept = 0) FROM (${three})`
  const refused = { code: 'STORE_REFUSED', message: /FUNCTION_THROW_IF/ }
  await t.rejects(store.rows({ sql: failed }), refused)
  await t.rejects(store.command({ sql: sql`INSERT INTO kept ${failed}` }), refused)
  await t.rejects(store.stream({ sql: failed }, 'CSV'), refused)
})

const page = '<html><body><h1>Bad gateway, 7000000001</h1></body></html>'
const all: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.rows({ sql: sql`SELECT 1` }),
  (store) => store.command({ sql: sql`INSERT INTO kept SELECT 1` }),
  (store) => store.command({ sql: sql`INSERT INTO kept FORMAT CSV` }, Readable.from(['1\n'])),
  (store) => store.insert('kept', [{ a: 1 }]),
  (store) => store.stream({ sql: sql`SELECT 1` }, 'CSV'),
]

t.test('a page of a proxy is an outage, whatever its status', async (t) => {
  for (const status of [200, 502, 504]) {
    const handle: Handling = (from, to) => {
      from.resume()
      to.writeHead(status, { 'Content-Type': 'text/html' }).end(page)
    }
    const store = await storeBehind(t, handle, 'discreet')
    for (const ask of all) {
      await t.rejects(ask(store), {
        code: 'STORE_UNREACHABLE',
        message: /\((NOT_CLICKHOUSE|HTML of a proxy)\)/,
      })
    }
  }
})

t.test('an error after the first rows is an error, never fewer rows', async (t) => {
  const store = await storeBehind(t, async (_, to, pass) => {
    const answer = await pass()
    to.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(to)
    answer.once('error', () => to.socket?.end())
  })
  const statement = {
    sql: sql`SELECT throwIf(number = 3000000) AS x FROM numbers(9000000)`,
    settings: { wait_end_of_query: 0, max_threads: 1, max_block_size: 10_000 },
  }
  // The client recognises the error only if no proxy divides its text; else the answer breaks off.
  await t.rejects(store.rows(statement), { code: /^STORE_(REFUSED|UNREACHABLE)$/ })
  await t.rejects(store.stream(statement, 'CSV').then((stream) => text(stream as Readable)))
})

t.test('a path of the address is that of a proxy, and names no other database', async (t) => {
  const behindPath: Handling = async (from, to, pass) => {
    const [, path, query] = /^(.*?)(\?.*)?$/.exec(from.url ?? '') ?? []
    if (path !== '/proxied') return void to.writeHead(404).end()
    from.url = `/${query}`
    const answer = await pass()
    answer.pipe(to.writeHead(answer.statusCode ?? 500, answer.headers))
  }
  const url = `${await createProxy(t, engine.url, behindPath)}/proxied`
  await client.command({ query: 'CREATE DATABASE IF NOT EXISTS proxied' })
  const { user: username, password } = writer
  const store = createStore({ url, username, password, database: 'default' })
  t.teardown(store.close)
  t.same(await store.rows({ sql: sql`SELECT currentDatabase() AS at` }), [{ at: 'default' }])
})
