import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { t } from 'tap'
import { ask, clientOf, reader, running, writer } from './running.js'

const { store, client } = await running(t)
const curl = promisify(execFile)

const often = 'send_progress_in_http_headers=1&http_headers_progress_interval_ms=50'
/** Some 0.6 s in 12 blocks. */
const slow =
  'SELECT sum(number) FROM numbers(12) WHERE sleepEachRow(0.05) = 0 SETTINGS max_block_size = 1'

/** The lines of the head and the body as they arrive, by curl. */
async function rawOf(search: string, ...queries: readonly string[]) {
  const one = (query: string) => [
    ...['-sS', '-i', '--user', `${writer.user}:${writer.password}`],
    ...['--data-binary', query, `${store.url}/?${search}`],
  ]
  const { stdout } = await curl(
    'curl',
    queries.flatMap((query, index) => [...(index === 0 ? [] : ['--next']), ...one(query)]),
  )
  return stdout
}

const progressOf = (raw: string) =>
  [...raw.matchAll(/^X-ClickHouse-Progress: (.*)\r$/gm)].map(
    ([, json = '']) => JSON.parse(json) as Record<string, string>,
  )

t.test('a long statement reports in headers what it has read so far', async (t) => {
  const raw = await rawOf(`${often}&wait_end_of_query=1`, slow, 'SELECT 2')
  t.match(raw, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(raw, /\r\n\r\n66\nHTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n2\n$/, 'the connection goes on')
  const reports = progressOf(raw)
  t.ok(reports.length > 2, `${reports.length} reports`)
  const last = reports.at(-1) ?? {}
  t.ok(Number(last['read_rows']) > 2 && Number(last['read_rows']) <= 12)
  t.ok(Number(last['read_bytes']) === Number(last['read_rows']) * 8)
  t.ok(Number(last['elapsed_ns']) > 100_000_000)
  const read = reports.map((report) => Number(report['read_rows']))
  t.same(
    read,
    [...read].sort((a, b) => a - b),
    'and never less',
  )
})

t.test('progress comes only where it is asked for, and not from a short statement', async (t) => {
  t.same(progressOf(await rawOf('', slow)), [])
  t.same(progressOf(await rawOf('send_progress_in_http_headers=0', slow)), [])
  t.same(progressOf(await rawOf('send_progress_in_http_headers=1', 'SELECT 1')), [])
})

t.test('an error after progress is an error by the header of its code', async (t) => {
  const failing = slow.replace('sum(number)', 'throwIf(sum(number) = 66)')
  const raw = await rawOf(often, failing)
  t.match(raw, /^HTTP\/1\.1 200 OK\r\n/)
  t.ok(progressOf(raw).length > 2)
  t.match(raw, /\r\nX-ClickHouse-Exception-Code: 395\r\n/)
  t.match(raw, /\r\n\r\nCode: 395\. /)
  await t.rejects(client.query({ query: failing, clickhouse_settings: settings }), {
    code: '395',
  })
})

const settings = {
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: '50',
} as const

t.test('the official client reads results behind progress', async (t) => {
  const analyst = clientOf(store.url, reader, { max_open_connections: 1 })
  t.teardown(() => analyst.close())
  for (const format of ['JSONEachRow', 'JSON'] as const) {
    const found = await analyst.query({ query: slow, format, clickhouse_settings: settings })
    t.ok(found.response_headers['x-clickhouse-progress'])
    t.match(JSON.stringify(await found.json()), '"sum(number)":66')
  }
  const { response_headers } = await analyst.query({ query: 'SELECT 1' })
  t.notOk(response_headers['x-clickhouse-progress'], 'on the same connection')
  await client.command({ query: 'CREATE TABLE kept (n UInt64) ENGINE = MergeTree ORDER BY n' })
  const insert = `INSERT INTO kept ${slow}`
  const { summary } = await client.command({ query: insert, clickhouse_settings: settings })
  t.equal(summary?.written_rows, '1')
})

t.test('a result of many bytes follows progress complete, packed too', async (t) => {
  const query = `SELECT repeat('x', 100000) FROM (${slow}) ARRAY JOIN range(30) FORMAT RowBinary`
  for (const more of ['', '&enable_http_compression=1', '&wait_end_of_query=1']) {
    const response = await ask(`${store.url}/?${often}${more}`, { method: 'POST', body: query })
    t.ok(response.headers.has('x-clickhouse-progress'))
    t.equal((await response.arrayBuffer()).byteLength, 30 * 100_003, more)
  }
})
