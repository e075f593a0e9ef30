import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { t } from 'tap'
import { until } from '../../story/rig/stack.js'
import { ask, clientOf, running, writer } from './running.js'

const { store, client, rows } = await running(t)

t.test('the server says it is there, with and without a statement', async (t) => {
  t.match(await client.ping(), { success: true })
  t.match(await client.ping({ select: true }), { success: true })
  t.equal(await (await fetch(`${store.url}/ping`)).text(), 'Ok.\n')
  t.equal(await (await fetch(store.url)).text(), 'Ok.\n')
  t.equal((await fetch(`${store.url}/nowhere`)).status, 404)
})

t.test('a parameter of every kind arrives as it was sent', async (t) => {
  const params = {
    text: 'it\'s \\ a\ttab\nand line, é 漢字 😀 `"',
    empty: '',
    whole: 42,
    big: 18446744073709551615n,
    real: -1.5e-7,
    yes: true,
    list: ["a'b", 'c\\d', 'é'],
    pairs: new Map([['k', 1]]),
    none: null,
    tuple: [[1, 'x']],
    day: '2024-02-29',
    name: 'number',
  }
  const [row] = await rows<Record<string, unknown>>(
    `SELECT {text:String} AS text, {empty:String} AS empty, {whole:Int32} AS whole,
       toString({big:UInt64}) AS big, {real:Float64} AS real, {yes:Bool} AS yes,
       {list:Array(String)} AS list, {pairs:Map(String, UInt8)} AS pairs,
       {none:Nullable(String)} AS none, {tuple:Array(Array(String))} AS tuple,
       {day:Date} AS day, {name:Identifier} AS name
     FROM numbers(5, 1)`,
    { params: { ...params, tuple: [['1', 'x']] } },
  )
  t.match(row, {
    ...params,
    big: '18446744073709551615',
    pairs: { k: 1 },
    tuple: [['1', 'x']],
    name: 5,
  })
  t.equal(row?.['text'], params.text)
})

t.test('parameters above the size of a query are whole, in the URL and in a form', async (t) => {
  const text = 'é'.repeat(100_000)
  const [found] = await rows<{ n: string }>('SELECT length({text:String}) AS n', {
    params: { text },
  })
  t.equal(Number(found?.n), 200_000)
  const posted = await client.query({
    query: 'SELECT lengthUTF8({text:String}) AS n',
    query_params: { text: 'é'.repeat(1_000_000) },
    use_multipart_params: true,
    format: 'JSONEachRow',
  })
  t.match(await posted.json(), [{ n: /1000000/ }])
})

t.test('a setting of the URL takes effect, for its request only', async (t) => {
  const setting = "SELECT getSetting('max_block_size') AS n"
  const [before] = await rows<{ n: string }>(setting)
  const [during] = await rows<{ n: string }>(setting, { settings: { max_block_size: '77' } })
  const [after] = await rows<{ n: string }>(setting)
  t.match([during?.n, after?.n].map(Number), [77, Number(before?.n)])
})

t.test('values above 2^53 lose no digit', async (t) => {
  const values = ['9007199254740993', '18446744073709551615', '-9223372036854775808']
  const found = await rows('SELECT toUInt64({a:String}) AS a, {b:UInt64} AS b, {c:Int64} AS c', {
    params: { a: values[0], b: values[1], c: values[2] },
    settings: { output_format_json_quote_64bit_integers: 1 },
  })
  t.strictSame(found, [{ a: values[0], b: values[1], c: values[2] }])
})

t.test('every format streams whole, whether named by the query or by the URL', async (t) => {
  const numbers = 'SELECT number FROM numbers(500000)'
  const json = await client.query({ query: numbers, format: 'JSON' })
  t.equal((await json.json<{ number: string }>()).data.length, 500_000)
  const csv = await ask(`${store.url}/?query=${encodeURIComponent(`${numbers} FORMAT CSV`)}`)
  t.equal(csv.headers.get('x-clickhouse-format'), 'CSV')
  t.equal((await csv.text()).split('\n').length, 500_001)
  const url = `${store.url}/?default_format=JSONEachRow`
  const rest = await ask(url, { method: 'POST', body: `${numbers} -- no format here` })
  t.equal((await rest.text()).split('\n').length, 500_001)
  const named = await ask(url, { method: 'POST', body: 'SELECT 1 AS format ORDER BY format DESC' })
  t.equal(await named.text(), '{"format":1}\n')
  const settings = 'SELECT 2 AS x FORMAT CSV SETTINGS max_threads = 1;'
  t.equal(await (await ask(url, { method: 'POST', body: settings })).text(), '2\n')
})

t.test('statements other than SELECT answer too', async (t) => {
  t.match(await rows("SHOW DATABASES LIKE 'system'"), [{ name: 'system' }])
  t.match(await rows('EXPLAIN SELECT 1'), [{ explain: /./ }])
  t.match(await rows('DESCRIBE TABLE numbers(1)'), [{ name: 'number', type: 'UInt64' }])
  t.match(await rows('WITH 3 AS x SELECT x'), [{ x: 3 }])
  t.match(await rows('(SELECT 4 AS x)'), [{ x: 4 }])
})

t.test('a client that reads slowly holds the engine back, not the memory', async (t) => {
  const result = await client.query({ query: 'SELECT * FROM numbers(5000000)', format: 'CSV' })
  const stream = result.stream<string>()
  let count = 0
  for await (const some of stream) {
    if (count === 0) await sleep(300)
    count += some.length
  }
  t.equal(count, 5_000_000)
})

t.test('gzip both ways changes nothing but the size', async (t) => {
  const packing = clientOf(store.url, writer, { compression: { request: true, response: true } })
  await packing.command({ query: 'CREATE TABLE packed (a UInt32) ENGINE = MergeTree ORDER BY a' })
  const values = Array.from({ length: 100_000 }, (_, a) => ({ a }))
  await packing.insert({ table: 'packed', values, format: 'JSONEachRow' })
  const read = await packing.query({ query: 'SELECT a FROM packed', format: 'JSONEachRow' })
  t.strictSame((await read.json<{ a: number }>()).length, 100_000)
  await packing.close()
  const body = gzipSync('SELECT 5 FORMAT CSV')
  const headers = { 'Content-Encoding': 'gzip' }
  t.equal(await (await ask(store.url, { method: 'POST', body, headers })).text(), '5\n')
  const raw = await ask(`${store.url}/?enable_http_compression=1&query=SELECT+repeat('x',9999)`, {
    headers: { 'Accept-Encoding': 'identity' },
  })
  t.equal(raw.headers.get('content-encoding'), null, 'only for who accepts it')
  const broken = await ask(`${store.url}/?query=INSERT+INTO+packed+FORMAT+CSV`, {
    method: 'POST',
    body: gzipSync('1\n2\n').subarray(0, -9),
    headers,
  })
  t.not(broken.status, 200, 'a cut-off gzip is refused')
  t.equal(gunzipSync(gzipSync('x')).toString(), 'x')
})

t.test('64 requests at once are all answered', async (t) => {
  const sum = 'SELECT sum(number) AS s FROM numbers({n:UInt64})'
  const asked = Array.from({ length: 64 }, (_, n) => rows<{ s: string }>(sum, { params: { n } }))
  const found = (await Promise.all(asked)).map(([row]) => Number(row?.s))
  t.strictSame(
    found,
    Array.from({ length: 64 }, (_, n) => (n * (n - 1)) / 2),
  )
})

t.test('a session keeps SETs and temporary tables, but no settings of one URL', async (t) => {
  const session = 'one'
  const command = (query: string) => client.command({ query, session_id: session })
  await command('CREATE TEMPORARY TABLE mine (a UInt8)')
  await command('INSERT INTO mine VALUES (7)')
  await command('SET max_block_size = 55')
  const block = "SELECT getSetting('max_block_size') AS n"
  t.match(await rows('SELECT a FROM mine', { session }), [{ a: 7 }])
  t.match(await rows(block, { session, settings: { max_block_size: '66' } }), [{ n: /66/ }])
  t.match(await rows(block, { session }), [{ n: /55/ }])
  await t.rejects(rows('SELECT a FROM mine'), { code: '60' })
  const slow = rows('SELECT sleep(3)', { session })
  const running = "SELECT 1 FROM system.processes WHERE query LIKE 'SELECT sleep(3)%'"
  await until(async () => (await rows(running)).length === 1)
  await t.rejects(rows('SELECT 1', { session }), { code: '373', type: 'SESSION_IS_LOCKED' })
  await slow
  const missing = await ask(`${store.url}/?query=SELECT+1&session_id=x&session_check=1`)
  t.equal(missing.headers.get('x-clickhouse-exception-code'), '372')
})
