import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { t } from 'tap'
import { cityHash128 } from '../../../infra/clickhouse/http/city-hash.js'
import { addReader, readersFolder } from '../../../infra/clickhouse/readers.js'
import { until } from '../../story/rig/stack.js'
import { ask, reader, running } from './running.js'

const readable = ['default.shown', 'default.beneath']
const { store, client, dataPath } = await running(t, {
  readable,
  listed: ['default.shown'],
  readerLimits: { lanes: 2 },
})
for (const query of [
  "CREATE TABLE beneath (a UInt64, s String) ENGINE = MergeTree ORDER BY a COMMENT 'rows'",
  "INSERT INTO beneath SELECT number, repeat('x', number % 50) FROM numbers(100000)",
  "CREATE VIEW shown (a UInt64 COMMENT 'number', s String) AS SELECT * FROM beneath",
]) {
  await client.command({ query })
}

const askAs = (query: string, search = '', as = reader) =>
  ask(`${store.url}/${search}`, { method: 'POST', body: query, as })
const textOf = async (query: string, search = '') => (await askAs(query, search)).text()

interface Block {
  readonly method: number
  readonly packed: Buffer
  readonly bytes: number
}

/** ClickHouse's blocks: CityHash128, method, both sizes, data. Throws for a wrong checksum. */
function blocksOf(framed: Buffer): readonly Block[] {
  const blocks: Block[] = []
  for (let at = 0; at < framed.length; ) {
    const size = framed.readUInt32LE(at + 17)
    const hash = [framed.readBigUInt64LE(at), framed.readBigUInt64LE(at + 8)]
    const checked = framed.subarray(at + 16, at + 16 + size)
    if (String(cityHash128(checked)) !== String(hash)) throw new Error(`checksum of ${size} bytes`)
    blocks.push({
      method: checked.readUInt8(0),
      bytes: checked.readUInt32LE(5),
      packed: checked.subarray(9),
    })
    at += 16 + size
  }
  return blocks
}

/** Unpacks one block of LZ4. */
function unpack({ packed, bytes }: Block): Buffer {
  const out = Buffer.alloc(bytes)
  let [from, to] = [0, 0]
  const longer = (start: number): number => {
    if (start < 15) return start
    let length = start
    for (let more = 255; more === 255; length += more) more = packed[from++] as number
    return length
  }
  while (from < packed.length) {
    const token = packed[from++] as number
    const literals = longer(token >> 4)
    packed.copy(out, to, from, from + literals)
    from += literals
    to += literals
    if (from >= packed.length) break
    const back = packed.readUInt16LE(from)
    from += 2
    for (let left = longer(token & 15) + 4; left > 0; left--, to++)
      out[to] = out[to - back] as number
  }
  if (to !== bytes) throw new Error(`${to} bytes instead of ${bytes}`)
  return out
}

const unpackAll = (framed: Buffer) => Buffer.concat(blocksOf(framed).map(unpack)).toString('utf8')

t.test('checksums are those of the blocks that the engine writes to its files', async (t) => {
  for (const rows of [1, 2, 5, 9, 17, 40, 200, 5000]) {
    const columns = [0, 1, 3, 6, 8, 15, 30, 99].map(
      (length) => `randomString(${length}) AS r${length}`,
    )
    await client.command({
      query: `CREATE TABLE sized_${rows} ENGINE = MergeTree ORDER BY tuple()
SETTINGS min_bytes_for_wide_part = 0 AS SELECT ${columns.join(', ')} FROM numbers(${rows})`,
    })
  }
  const lengths = new Set<number>()
  for (const name of readdirSync(dataPath, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.bin')) continue
    for (const { packed } of blocksOf(readFileSync(join(dataPath, name)))) {
      lengths.add(packed.length)
    }
  }
  t.ok(lengths.size > 40, `${lengths.size} different lengths`)
  t.ok(Math.min(...lengths) < 7 && Math.max(...lengths) > 100_000)
})

t.test('compress=1 sends the same result in blocks of LZ4', async (t) => {
  const queries = [
    'SELECT 1',
    'SELECT 1 WHERE 0',
    'SHOW TABLES',
    'SELECT * FROM shown ORDER BY a LIMIT 1000',
    'SELECT a, s FROM shown ORDER BY a FORMAT JSONEachRow',
  ]
  for (const query of queries) {
    for (const search of ['?compress=1', '?compress=1&wait_end_of_query=1']) {
      const response = await askAs(query, search)
      t.equal(response.status, 200)
      const framed = Buffer.from(await response.arrayBuffer())
      t.equal(unpackAll(framed), await textOf(query), query)
      t.ok(blocksOf(framed).every(({ method }) => method === 0x82))
    }
  }
})

t.test('compress=1 sends errors in blocks too, except of a refusal', async (t) => {
  const wrong = await askAs('SELECT nothing', '?compress=1')
  t.equal(wrong.headers.get('x-clickhouse-exception-code'), '47')
  t.match(unpackAll(Buffer.from(await wrong.arrayBuffer())), /^Code: 47/)
  t.match(await textOf('DROP TABLE beneath', '?compress=1'), /^Code: 497/, 'as a text')
  const late = "SELECT throwIf(number = 90000000, 'late') FROM numbers(100000000)"
  const broken = await askAs(late, '?compress=1&max_block_size=1000')
  const reading = broken.body?.getReader()
  const chunks: Uint8Array[] = []
  for (;;) {
    const read = await reading?.read().catch(() => undefined)
    if (read?.value === undefined) break
    chunks.push(read.value)
  }
  t.match(unpackAll(Buffer.concat(chunks)), /__exception__[\s\S]*late/)
})

t.test('decompress=1 is refused with the remedy', async (t) => {
  t.match(await textOf('SELECT 1', '?decompress=1'), /Code: 48.*gzip/)
})

t.test('a reader is shown the published views alone, in every list', async (t) => {
  const lists = [
    'SHOW TABLES',
    'SHOW TABLES FROM default',
    "SELECT name FROM system.tables WHERE database = 'default'",
    "SELECT DISTINCT table FROM system.columns WHERE database = 'default'",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'default'",
    "SELECT DISTINCT table_name FROM INFORMATION_SCHEMA.COLUMNS WHERE table_schema = 'default'",
    'SELECT t.name FROM system.tables AS t JOIN system.databases AS d ON system.tables.database = system.databases.name WHERE t.database LIKE {p:String}',
  ]
  for (const list of lists) t.equal(await textOf(list, '?param_p=def%25'), 'shown\n', list)
  t.equal(await textOf('SELECT count() FROM shown'), '100000\n')
  t.equal(await textOf('SHOW DATABASES'), 'default\n')
  t.match(await textOf('SHOW CREATE TABLE shown'), 'CREATE VIEW default.shown')
  const mine = await askAs('SHOW TABLES', '', { user: 'tieline', password: "pass'word é" })
  t.match(await mine.text(), 'beneath', 'the writer sees all')
})

t.test('what drivers ask when they connect is answered', async (t) => {
  const queries = [
    'SELECT version(), timezone()',
    'SELECT currentUser() AS user, timezone() AS timezone, version() AS version LIMIT 1',
    'SELECT name, value, readonly AS readonly FROM system.settings LIMIT 10000',
    "SELECT name, type, numeric_precision, character_octet_length FROM system.columns WHERE table LIKE '%'",
    'SELECT name FROM system.functions',
    'SELECT name FROM system.table_engines',
    "SELECT dt.name, attrs.c2 FROM system.data_type_families AS dt LEFT JOIN (SELECT * FROM VALUES (('Int8', 3), ('String', 0))) AS attrs ON (dt.name = attrs.c1) WHERE alias_to == ''",
    "SELECT name AS TABLE_NAME, engine AS TABLE_TYPE, * FROM system.tables WHERE database = 'default'",
    "SELECT 'tables' AS kind, name FROM system.tables UNION ALL SELECT 'functions', name FROM system.functions",
    'SELECT 1 AS check\n FORMAT Native',
    'SELECT * FROM shown LIMIT 0\n FORMAT JSON',
    'EXISTS TABLE `default`.`shown`',
    'DESCRIBE TABLE `default`.`shown` FORMAT Native',
    'SHOW FULL COLUMNS FROM shown',
    'SELECT * FROM INFORMATION_SCHEMA.SCHEMATA',
    'SELECT count() FROM shown SETTINGS max_threads = 1, result_overflow_mode = {m:String}'.replace(
      '{m:String}',
      "'break'",
    ),
  ]
  for (const query of queries) {
    const settings =
      'send_progress_in_http_headers=1&max_result_rows=200&result_overflow_mode=break'
    const search = `?client_protocol_version=54405&session_id=s&${settings}`
    const response = await askAs(query, search)
    t.equal(response.status, 200, query)
    await response.arrayBuffer()
  }
  for (const [setting, value] of [
    ['date_time_input_format', 'best_effort'],
    ['http_write_exception_in_output_format', '0'],
    ['select_sequential_consistency', '1'],
    ['wait_for_async_insert', '1'],
    ['default_format', 'ODBCDriver2'],
    ['default_format', 'RowBinaryWithNamesAndTypes'],
  ] as const) {
    t.equal((await askAs('SELECT 1', `?${setting}=${value}`)).status, 200, setting)
  }
  const readonly = await textOf('SELECT DISTINCT readonly FROM system.settings')
  t.equal(readonly, '1\n', 'so that a driver changes no setting of its own accord')
})

t.test('the summary says how many rows were read, where the engine says it', async (t) => {
  const summaryOf = async (query: string) => {
    const response = await askAs(query)
    await response.arrayBuffer()
    return JSON.parse(response.headers.get('x-clickhouse-summary') ?? '{}')
  }
  const whole = await summaryOf('SELECT sum(a) FROM shown FORMAT JSON')
  t.match(whole, { read_rows: '100000', read_bytes: '800000', result_rows: '1' })
  t.match(await summaryOf('SELECT max(s) FROM shown FORMAT JSONCompact'), { read_rows: '100000' })
  const text = await summaryOf('SELECT sum(a) FROM shown FORMAT CSV')
  t.match(text, { result_rows: '1' })
  t.notOk('read_rows' in text, 'not known, so not given')
})

t.test('a reader kills its own statements, and not those of others', async (t) => {
  const folder = readersFolder(dataPath)
  const [ada, ben] = ['ada', 'ben'].map((user) => ({
    user,
    password: addReader(folder, { name: user, seesAudit: false }),
  })) as [typeof reader, typeof reader]
  const slow = 'SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))'
  const held = [1, 2].map((n) => askAs(slow, `?query_id=slow-${n}`, ada))
  const kill = async (id: string, as: typeof reader, tail = '') =>
    (await askAs(`KILL QUERY WHERE query_id = '${id}'${tail}`, '', as)).text()
  t.equal(await kill('slow-1', ben), '', 'an id of another reader is unknown')
  t.equal(await kill("slow-1' OR '1", ada).then((text) => text.includes('497')), true)
  let answer = ''
  // The statement may not have started.
  await until(async () => {
    answer = await kill('slow-1', ada)
    return answer !== ''
  })
  t.match(answer, /waiting\tslow-1\tada/, 'although all places of the reader are taken')
  t.match(await (await (held[0] as Promise<Response>)).text(), /Code: 394/)
  const byHeader = ask(store.url, {
    method: 'POST',
    body: slow,
    as: ada,
    headers: { 'X-ClickHouse-Query-Id': 'slow-3' },
  })
  for (const id of ['slow-2', 'slow-3']) {
    await until(async () => (await kill(id, ada, ' ASYNC')) !== '')
  }
  for (const one of [held[1] as Promise<Response>, byHeader]) {
    t.match(await (await one).text(), /Code: 394/)
  }
  for (const other of [
    'KILL QUERY WHERE 1',
    "KILL QUERY WHERE query_id != 'x'",
    "KILL MUTATION WHERE query_id = 'x'",
  ]) {
    t.match(await (await askAs(other, '', ada)).text(), /Code: 497/, other)
  }
})

t.test('curl reads as the guide shows it', async (t) => {
  const { stdout } = await promisify(execFile)('curl', [
    '-sS',
    ...['--user', `${reader.user}:${reader.password}`],
    ...['--data-binary', 'SELECT count() AS n FROM shown FORMAT CSVWithNames'],
    `${store.url}/?database=default`,
  ])
  t.equal(stdout, '"n"\n100000\n')
})
