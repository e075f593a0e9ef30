import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { t } from 'tap'
import { createFolder } from '../../../rig/folder.js'
import { until } from '../../../story/rig/stack.js'
import { ask, clientOf, running, writer } from '../running.js'

const { store, client, rows } = await running(t)
const ddl = "(a UInt64, b String DEFAULT 'none') ENGINE = MergeTree ORDER BY a"

/** A table of its own for each test. */
async function table(name: string): Promise<string> {
  await client.command({ query: `CREATE TABLE ${name} ${ddl}` })
  return name
}

const content = (name: string) => rows<{ a: string; b: string }>(`SELECT * FROM ${name} ORDER BY a`)
const count = async (name: string) =>
  Number((await rows<{ n: string }>(`SELECT count() AS n FROM ${name}`))[0]?.n)

t.test('objects and streams are inserted with defaults, and counted', async (t) => {
  await table('objects')
  const few = await client.insert({
    table: 'objects',
    values: [{ a: 1 }, { a: 2, b: 'é\n"' }],
    format: 'JSONEachRow',
  })
  t.equal(few.summary?.written_rows, '2')
  t.match(await content('objects'), [{ b: 'none' }, { b: 'é\n"' }])
  const stream = Readable.from(Array.from({ length: 200_000 }, (_, a) => ({ a, b: 'streamed' })))
  const many = await client.insert({ table: 'objects', values: stream, format: 'JSONEachRow' })
  t.equal(many.summary?.written_rows, '200000')
  t.equal(await count('objects'), 200_002)
  const none = await client.insert({
    table: 'objects',
    values: Readable.from([]),
    format: 'JSONEachRow',
  })
  t.equal(none.summary?.written_rows ?? '0', '0')
})

t.test('columns, formats and settings of the statement are kept', async (t) => {
  await table('formats')
  const post = (query: string, body: string | Uint8Array<ArrayBuffer>) =>
    ask(`${store.url}/?query=${encodeURIComponent(query)}`, { method: 'POST', body })
  const cases: [query: string, body: string | Uint8Array<ArrayBuffer>][] = [
    ['INSERT INTO formats (b, a) SETTINGS max_threads = 1 FORMAT CSV', '"one",1\n'],
    ['INSERT INTO formats VALUES', "(2, 'two')"],
    ['INSERT INTO `formats` (a) FORMAT TabSeparated', '3\n'],
    ['INSERT INTO formats(a) FORMAT RowBinary', new Uint8Array([10, 10, 0, 0, 0, 0, 0, 0])],
    ['/* note */ insert into default.formats format JSONEachRow', '{"a": 5}'],
    ['INSERT INTO formats (a) SETTINGS max_threads = 1 FORMAT Values', '\n (6)'],
    ['', 'INSERT INTO formats (a) FORMAT CSV\n7\n8\n'],
    ['', "INSERT INTO formats VALUES (9, 'é'), (10, 'x;y');"],
    ['INSERT INTO formats (a) FORMAT CSV 11\n', '12\n'],
  ]
  for (const [query, body] of cases) {
    const response = await post(query, body)
    t.equal(response.status, 200, `${query} ${await response.text()}`)
  }
  const stored = (await content('formats')).map(({ a }) => Number(a))
  t.strictSame(stored, [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 2570])
})

t.test('exec takes rows through input(), small and large', async (t) => {
  await table('through')
  const query = "INSERT INTO through SELECT a * 10, 'in' FROM input('a UInt64') FORMAT JSONEachRow"
  for (const rowCount of [3, 300_000]) {
    const lines = Array.from({ length: rowCount }, (_, a) => `{"a": ${a}}\n`)
    const { stream, summary } = await client.exec({
      query,
      values: Readable.from(lines, { objectMode: false }),
    })
    stream.resume()
    t.equal(summary?.written_rows, String(rowCount))
  }
  t.equal(await count('through'), 300_003)
})

t.test('the writer loads a file by a parameter, without sending it', async (t) => {
  await table('loaded')
  const path = join(createFolder(t), "it's a file.csv")
  writeFileSync(path, 'x,1\ny,2\n')
  const query = `INSERT INTO loaded SELECT toUInt64(splitByChar(',', line)[2]), line
    FROM file({path:String}, LineAsString, 'line String')`
  const { summary } = await client.command({ query, query_params: { path } })
  t.equal(summary?.written_rows, '2')
  t.match(await content('loaded'), [{ b: 'x,1' }, { b: 'y,2' }])
})

t.test('settings of the URL govern an insert: a token twice stores once', async (t) => {
  await client.command({
    query: `CREATE TABLE tokens ${ddl} SETTINGS non_replicated_deduplication_window = 100`,
  })
  const settings = { insert_deduplication_token: 'chunk-1', insert_deduplicate: 1 as const }
  for (const clickhouse_settings of [settings, settings]) {
    await client.insert({
      table: 'tokens',
      values: [{ a: 1 }],
      format: 'JSONEachRow',
      clickhouse_settings,
    })
    const query = 'INSERT INTO tokens SELECT number, toString(number) FROM numbers(5)'
    const token = { ...clickhouse_settings, insert_deduplication_token: 'chunk-2' }
    await client.command({ query, clickhouse_settings: token })
  }
  t.equal(await count('tokens'), 6)
})

t.test('a bad row stores nothing and names its place', async (t) => {
  await table('strict')
  const values = Readable.from([{ a: 1 }, { a: 'x' }])
  const insert = client.insert({ table: 'strict', values, format: 'JSONEachRow' })
  await t.rejects(insert, { message: /row 2/ })
  t.equal(await count('strict'), 0)
})

t.test('an insert ends while long queries go on', async (t) => {
  await table('beside')
  const leaving = new AbortController()
  const long = Array.from({ length: 8 }, () =>
    client.query({ query: 'SELECT count() FROM system.numbers', abort_signal: leaving.signal }),
  )
  const running = `SELECT 1 FROM system.processes
    WHERE query LIKE 'SELECT count() FROM system.numbers%'`
  await until(async () => (await rows(running)).length === long.length)
  await client.insert({ table: 'beside', values: [{ a: 1 }], format: 'JSONEachRow' })
  t.equal(await count('beside'), 1)
  const isRunning = await Promise.race([...long, 'running'])
  t.equal(isRunning, 'running')
  leaving.abort()
  await Promise.allSettled(long)
})

t.test('statements run in the database that the client names', async (t) => {
  await client.command({ query: 'CREATE DATABASE `other one`' })
  const other = clientOf(store.url, writer, { database: 'other one' })
  await other.command({ query: `CREATE TABLE here ${ddl}` })
  await other.insert({ table: 'here', values: [{ a: 1 }], format: 'JSONEachRow' })
  await other.command({ query: "WITH 2 AS two INSERT INTO here SELECT two, 'with'" })
  t.equal(await count('`other one`.here'), 2)
  const nowhere = clientOf(store.url, writer, { database: 'nowhere' })
  await t.rejects(nowhere.query({ query: 'SELECT 1' }), { code: '81', type: 'UNKNOWN_DATABASE' })
  await Promise.all([other.close(), nowhere.close()])
})
