import { t } from 'tap'
import { withBlockInfo } from '../../../infra/clickhouse/http/native.js'
import { ask, reader, running } from './running.js'

const { store, client, rows } = await running(t, { readable: ['default.many'] })

await client.command({ query: 'CREATE TABLE many (a UInt8) ENGINE = MergeTree ORDER BY a' })

const bytesOf = async (query: string, search = '', as = reader) => {
  const body = `${query} FORMAT Native`
  const response = await ask(`${store.url}/${search}`, { method: 'POST', body, as })
  return Buffer.from(await response.arrayBuffer())
}

const info = Buffer.from([1, 0, 2, 255, 255, 255, 255, 0])

async function framed(bytes: Buffer, partBytes: number, version = 54_460): Promise<Buffer> {
  async function* parts() {
    for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes)
  }
  const chunks: Buffer[] = []
  for await (const chunk of withBlockInfo(parts(), version)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

t.test('a client that names its version gets blocks of that version', async (t) => {
  const plain = Buffer.from('\x01\x01\x05check\x05UInt8\x01')
  const query = 'SELECT 1 AS check'
  t.strictSame(await bytesOf(query), plain)
  const checked = await bytesOf(query, '?client_protocol_version=54405')
  t.strictSame(checked, Buffer.concat([info, plain]), 'as clickhouse-connect tests it')
  const flagged = Buffer.from('\x01\x01\x05check\x05UInt8\x00\x01')
  const newer = '?client_protocol_version=54460'
  t.strictSame(await bytesOf(query, newer), Buffer.concat([info, flagged]), 'and clickhouse-go')
  const hello = 'SELECT displayName(), version(), revision(), timezone()'
  t.strictSame(
    (await bytesOf(hello, newer)).subarray(0, 10),
    Buffer.concat([info, Buffer.from([4, 1])]),
  )
  t.strictSame(
    (await bytesOf('SHOW TABLES', newer)).subarray(0, 8),
    info,
    'also statements other than SELECT',
  )
  const json = await ask(`${store.url}/${newer}`, { method: 'POST', body: query, as: reader })
  t.equal(await json.text(), '1\n', 'other formats stay as they are')
})

/** One column for each type, in which no two rows need have the same length. */
const columns = [
  'number',
  "repeat('é', number % 300)",
  'toFixedString(toString(number % 10), 3)',
  'if(number % 3 = 0, NULL, toString(number))',
  'toLowCardinality(toString(number % 400))',
  'toLowCardinality(if(number % 3 = 0, NULL, toString(number)))',
  'arrayMap(x -> toString(x), range(number % 5))',
  'arrayMap(x -> range(x), range(number % 4))',
  'arrayMap(x -> toLowCardinality(toString(x)), range(number % 3))',
  "map('a', number, toString(number), 2)",
  "CAST(([toString(number)], [number]), 'Map(LowCardinality(String), Nullable(UInt64))')",
  "CAST((number, 'x', [1]), 'Tuple(a UInt64, `b, (c` LowCardinality(String), d Array(Nullable(UInt8)))')",
  "CAST(number % 2, 'Enum8(\\'a\\' = 0, \\'it\\\\\\'s (b, c)\\' = 1)')",
  'toDecimal32(number % 9, 2), toDecimal64(number, 3), toDecimal128(number, 4), toDecimal256(number, 5)',
  "toDateTime64(number, 3, 'UTC'), toDateTime(number, 'America/Detroit'), toDate(number % 99), toDate32(number % 99)",
  'generateUUIDv4(), toIPv4(number), toIPv6(toString(toIPv4(number)))',
  'toInt256(number), toUInt128(number), toFloat32(number), number % 2 = 0, true',
  'NULL, [], toIntervalDay(number)',
  '(0., 1.)::Point, [(0., 1.)]::Ring, [[[(number, 1.)]]]::MultiPolygon',
  "CAST(number, 'SimpleAggregateFunction(sum, UInt64)')",
]

t.test('blocks of every type are found, however they are cut', async (t) => {
  for (const [index, column] of [...columns, columns.join(', ')].entries()) {
    const query = `SELECT ${column} FROM numbers(2000) SETTINGS max_block_size = 700`
    const plain = await bytesOf(query)
    const whole = await framed(plain, plain.length)
    const blocks = whole.toString('latin1').split(info.toString('latin1')).length - 1
    t.ok(blocks >= 2, `${blocks} blocks of column ${index}`)
    t.strictSame(await framed(plain, 4_099), whole, 'in parts')
    const without = await framed(plain, 65_536, 54_405)
    const stripped = without.toString('latin1').replaceAll(info.toString('latin1'), '')
    t.equal(stripped, plain.toString('latin1'), column)
    const sent = await bytesOf(query, '?client_protocol_version=54460')
    if (!/UUID/.test(column)) t.strictSame(sent, whole, 'as it is sent')
  }
})

t.test('what has no known length is refused, and an error is still an error', async (t) => {
  const search = '?client_protocol_version=54460'
  for (const column of ["'{}'::JSON", '1::Variant(UInt8, String)', 'sumState(number)']) {
    const query = `SELECT ${column} AS a FROM numbers(1) GROUP BY number % 1`
    t.match((await bytesOf(query, search)).toString(), /^Code: 48\..*toString/, column)
  }
  const endless = "SELECT '{}'::JSON FROM system.numbers"
  t.match((await bytesOf(endless, search)).toString(), /^Code: 48/, 'and does not go on')
  const long = "SELECT repeat('x', 1000) FROM numbers(200000)"
  const blockSize = `${search}&max_block_size=200000`
  t.match((await bytesOf(long, blockSize)).toString(), /^Code: 396\..*max_block_size/)
  const left = "SELECT count() AS n FROM system.processes WHERE query NOT LIKE '%processes%'"
  t.match(await rows(left), [{ n: /^0$/ }], 'nothing is left running')
  t.match((await bytesOf('SELECT nothing', search)).toString(), /^Code: 47/)
  t.match((await bytesOf('SELECT 1 WHERE 0', search)).length, 0)
  t.match((await bytesOf('SELECT * FROM many', search)).length, 0)
})
