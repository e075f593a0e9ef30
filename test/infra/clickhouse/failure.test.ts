import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { until } from '../../story/rig/stack.js'
import { ask, clientOf, running, writer } from './running.js'

const { store, client, rows } = await running(t)
await client.command({ query: 'CREATE TABLE kept (a UInt64) ENGINE = MergeTree ORDER BY a' })

t.test('errors carry code, name and status of ClickHouse', async (t) => {
  const cases: [query: string, code: string, type: string, status: number][] = [
    ['SELECT nope', '47', 'UNKNOWN_IDENTIFIER', 404],
    ['selec 1', '62', 'SYNTAX_ERROR', 400],
    ['SELECT * FROM missing', '60', 'UNKNOWN_TABLE', 404],
    ['SELECT throwIf(1)', '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO', 500],
    ['SELECT 1; DROP TABLE kept', '62', 'SYNTAX_ERROR', 400],
    ['SELECT {x:String}', '456', 'UNKNOWN_QUERY_PARAMETER', 500],
    ['', '62', 'SYNTAX_ERROR', 400],
    ['INSERT INTO kept VALUES (1); DROP TABLE kept', '62', 'SYNTAX_ERROR', 400],
    ['INSERT INTO kept SELECT 1; DROP TABLE kept', '62', 'SYNTAX_ERROR', 400],
  ]
  for (const [query, code, type, status] of cases) {
    if (query !== '') await t.rejects(client.query({ query }), { code, type }, query)
    const raw = await ask(store.url, { method: 'POST', body: query || ' ' })
    t.equal(raw.status, status, query)
    t.equal(raw.headers.get('x-clickhouse-exception-code'), code)
    t.match(await raw.text(), new RegExp(`^Code: ${code}\\. DB::Exception: [^]*\\(${type}\\)\\n$`))
  }
  t.match(await rows('SELECT count() AS n FROM kept'), [{ n: /^0$/ }], 'nothing ran')
  await t.rejects(rows('SELECT 1', { settings: { no_such_setting: 1 } }), { code: '115' })
})

t.test('a wrong password is refused in ClickHouse words', async (t) => {
  const stranger = clientOf(store.url, { user: writer.user, password: 'guess' })
  await t.rejects(stranger.query({ query: 'SELECT 1' }), { code: '516' })
  await stranger.close()
  t.equal((await fetch(`${store.url}/?query=SELECT+1`)).status, 403)
  const { user, password } = writer
  const url = new URL(store.url)
  url.search = new URLSearchParams({ user, password, query: 'SELECT 1' }).toString()
  t.equal(await (await fetch(url)).text(), '1\n', 'the URL will do')
  const headers = { 'X-ClickHouse-User': user, 'X-ClickHouse-Key': 'wrong' }
  t.equal((await fetch(`${store.url}/?query=SELECT+1`, { headers })).status, 403)
})

t.test('an error after the first byte breaks the answer off and says why', async (t) => {
  const query = "SELECT throwIf(number = 3000000, 'boom') AS x FROM numbers(9000000)"
  const settings = { max_threads: 1, max_block_size: '10000' }
  const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: settings })
  await t.rejects(result.json(), { code: '395' })
  const whole = { ...settings, wait_end_of_query: 1 as const }
  await t.rejects(client.query({ query, format: 'CSV', clickhouse_settings: whole }), {
    code: '395',
  })
  const raw = await ask(`${store.url}/?max_block_size=10000&max_threads=1`, {
    method: 'POST',
    body: query,
  })
  t.equal(raw.status, 200)
  await t.rejects(raw.text(), 'no client takes it for whole')
})

/** Until so many statements are at work, the question itself among them if it is meant. */
const untilAtWork = (which: string, wanted: number) =>
  until(async () => {
    const [row] = await rows<{ n: string }>(
      `SELECT count() AS n FROM system.processes WHERE ${which}`,
    )
    return Number(row?.n) === wanted
  })

t.test('a query whose client goes away is killed', async (t) => {
  const forever = [
    'SELECT count() AS forever FROM system.numbers WHERE number % 7 = 9',
    'SELECT number AS forever FROM system.numbers FORMAT CSV',
    'INSERT INTO kept SELECT number AS forever FROM system.numbers WHERE number % 7 = 9',
  ]
  for (const query of forever) {
    const leaving = new AbortController()
    const asked = ask(store.url, { method: 'POST', body: query, signal: leaving.signal })
    const read = asked.then((response) => response.text())
    await untilAtWork("query LIKE '%forever%'", 2)
    leaving.abort()
    await t.rejects(read)
    await untilAtWork("query LIKE '%forever%'", 1)
  }
})

t.test('KILL QUERY finds a query by the id that its client gave it', async (t) => {
  const slow = client.query({ query: 'SELECT count() FROM system.numbers', query_id: 'slow-one' })
  slow.catch(() => undefined)
  await untilAtWork("query LIKE 'SELECT count() FROM system.numbers%'", 1)
  await t.rejects(client.query({ query: 'SELECT 1', query_id: 'slow-one' }), { code: '216' })
  await client.command({ query: "KILL QUERY WHERE query_id = 'slow-one'" })
  await t.rejects(slow, { code: '394', type: 'QUERY_WAS_CANCELLED' })
})

t.test('an upload that is cut off stores nothing', async (t) => {
  const path = '/?query=INSERT+INTO+kept+FORMAT+CSV'
  const basic = Buffer.from(`${writer.user}:${writer.password}`).toString('base64')
  for (const bytes of [10, 3_000_000]) {
    const upload = request(new URL(path, store.url), {
      method: 'POST',
      headers: { Authorization: `Basic ${basic}`, 'Content-Length': bytes * 2 },
    })
    upload.on('error', () => undefined)
    upload.write('123\n'.repeat(bytes / 4))
    await sleep(200)
    upload.destroy()
    await sleep(200)
    t.match(await rows('SELECT count() AS n FROM kept'), [{ n: /^0$/ }])
  }
  await untilAtWork("query LIKE 'INSERT INTO kept%'", 0)
  t.match(await rows('SELECT count() AS n FROM kept'), [{ n: /^0$/ }], 'nor later')
})
