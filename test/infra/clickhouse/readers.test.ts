import { chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { t } from 'tap'
import { createLanes } from '../../../infra/clickhouse/lanes.js'
import { readerLimits } from '../../../infra/clickhouse/reader-limits.js'
import {
  addReader,
  listReaders,
  readersFolder,
  removeReader,
} from '../../../infra/clickhouse/readers.js'
import { until } from '../../story/rig/stack.js'
import { ask, reader, running, type writer } from './running.js'

const lanes = 4
const { store, client, dataPath, rows } = await running(t, {
  readable: ['default.shown'],
  auditable: ['default.audit_log'],
  readerLimits: { lanes, allLanes: 12, sendMs: 500, waitMs: 60_000, resultBytes: 100_000_000 },
})
await client.command({ query: 'CREATE TABLE shown (a UInt64) ENGINE = MergeTree ORDER BY a' })
await client.command({ query: 'CREATE TABLE audit_log (a UInt64) ENGINE = MergeTree ORDER BY a' })
const folder = readersFolder(dataPath)

type Credentials = typeof writer
const askAs = async (as: Credentials, query: string, search = '') => {
  const response = await ask(`${store.url}/${search}`, { method: 'POST', body: query, as })
  return response.text()
}
const added = (name: string, seesAudit = false): Credentials => ({
  user: name,
  password: addReader(folder, { name, seesAudit }),
})

/** A client that asks for a long result and takes nothing of it. */
function idle({ user, password }: Credentials, id: string): Socket {
  const socket = connect({ port: store.port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.pause()
  const query = encodeURIComponent("SELECT repeat('x', 1000) FROM numbers(90000)")
  const basic = Buffer.from(`${user}:${password}`).toString('base64')
  const search = `query=${query}&query_id=${id}&max_block_size=1000`
  socket.write(`GET /?${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${basic}\r\n\r\n`)
  return socket
}

const count = async (query: string) => Number((await rows<{ n: string }>(query))[0]?.n)

const runningOf = async (name: string) => {
  const found = await rows<{ n: string }>(
    "SELECT count() AS n FROM system.processes WHERE startsWith(Settings['log_comment'], {name:String})",
    { params: { name: `reader ${name}: ` } },
  )
  return Number(found[0]?.n)
}

t.test('60 clients that read nothing hold up neither the writer nor another reader', async (t) => {
  const [ada, ben] = [added('ada'), added('ben')]
  const sockets = Array.from({ length: 60 }, (_, index) => idle(ada, `idle-${index}`))
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()))
  await until(async () => (await runningOf('ada')) >= lanes)
  t.equal(await askAs(ben, 'SELECT 1'), '1\n')
  await client.insert({ table: 'shown', values: [{ a: 1 }], format: 'JSONEachRow' })
  t.equal(await askAs(ben, 'SELECT count() FROM shown'), '1\n')
  for (let looks = 0; looks < 20; looks++) {
    t.ok((await runningOf('ada')) <= lanes, 'and no more than its lanes')
  }
  t.equal(await askAs(ada, 'SELECT 2'), '2\n', 'its own turn comes when idle clients are cut off')
  t.equal(await askAs(ben, 'SELECT 3'), '3\n')
})

t.test('a client that takes nothing of a complete result is cut off', async (t) => {
  const hal = added('hal')
  const long = encodeURIComponent("SELECT repeat('x', 999999) FROM numbers(15)")
  const basic = Buffer.from(`${hal.user}:${hal.password}`).toString('base64')
  const socket = connect({ port: store.port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  let bytes = 0
  socket.on('error', () => undefined)
  const search = `query=${long}&wait_end_of_query=1`
  socket.write(`GET /?${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${basic}\r\n\r\n`)
  socket.pause()
  await sleep(3_000)
  socket.resume()
  socket.on('data', (chunk) => {
    bytes += chunk.length
  })
  await new Promise((resolve) => socket.once('close', resolve))
  t.ok(bytes > 1_000 && bytes < 15_000_000, `${bytes} bytes arrive, the connection is closed`)
  const complete = await askAs(hal, decodeURIComponent(long), '?wait_end_of_query=1')
  t.equal(complete.length, 15_000_000, 'who reads gets all of it')
})

t.test('a reader has a name and a password of its own, without a restart', async (t) => {
  const cara = added('cara')
  t.equal(await askAs(cara, 'SELECT 1'), '1\n')
  t.match(await askAs({ ...cara, password: 'guess' }, 'SELECT 1'), /^Code: 516/)
  t.match(await askAs({ ...cara, user: 'dora' }, 'SELECT 1'), /^Code: 516/)
  t.match(await askAs({ ...cara, user: '../readers/cara' }, 'SELECT 1'), /^Code: 516/)
  t.match(await askAs(cara, 'INSERT INTO shown VALUES (1)'), /^Code: 497/)
  t.throws(() => added('cara'), { code: 'CONFIG', detail: /the reader cara exists/ })
  for (const name of ['tieline', 'reader', 'a/b', '', '.a', 'A', 'x'.repeat(33)]) {
    t.throws(() => added(name), { code: 'CONFIG' }, name)
  }
  const path = join(folder, 'cara.json')
  t.equal(statSync(path).mode & 0o777, 0o600)
  for (const file of readdirSync(folder)) {
    t.notMatch(readFileSync(join(folder, file), 'utf8'), cara.password)
  }
  t.match(
    listReaders(folder).map(({ name }) => name),
    ['ada', 'ben', 'cara'],
  )
  removeReader(folder, 'cara')
  t.match(await askAs(cara, 'SELECT 1'), /^Code: 516/)
  t.throws(() => removeReader(folder, 'cara'), { code: 'CONFIG' })
  writeFileSync(path, '{"sha256":')
  t.match(await askAs(cara, 'SELECT 1'), /^Code: 516/)
  t.throws(() => listReaders(folder), {
    code: 'CONFIG',
    detail: /cara\.json is not a valid reader/,
  })
  removeReader(folder, 'cara')
})

t.test('only a reader with the audit sees statements of others and the audit log', async (t) => {
  const [eve, finn] = [added('eve'), added('finn', true)]
  const watched = "SELECT count() AS n FROM system.processes WHERE query LIKE '%of the writer%'"
  const leaving = new AbortController()
  const forever = "SELECT count(), 'of the writer' FROM system.numbers WHERE number % 7 = 9"
  const asked = ask(store.url, { method: 'POST', body: forever, signal: leaving.signal })
  asked.catch(() => undefined)
  await until(async () => (await count(watched)) >= 2)
  for (const statement of [watched, 'SHOW PROCESSLIST', 'SELECT * FROM audit_log']) {
    for (const other of [reader, eve]) t.match(await askAs(other, statement), /^Code: 497/)
    t.notMatch(await askAs(finn, statement), /^Code/)
  }
  t.equal(await askAs(finn, watched), '2\n')
  t.match(await askAs(finn, 'KILL QUERY WHERE 1'), /^Code: 497/)
  leaving.abort()
})

t.test("a reader cannot take the id of another client's statement", async (t) => {
  const gus = added('gus')
  const id = '?query_id=load:7:x'
  const leaving = new AbortController()
  const query = "SELECT count(), 'job' FROM system.numbers WHERE number % 7 = 9"
  const asked = ask(`${store.url}/${id}`, { method: 'POST', body: query, signal: leaving.signal })
  asked.catch(() => undefined)
  const jobs = "SELECT count() AS n FROM system.processes WHERE query LIKE '%job%'"
  await until(async () => (await count(jobs)) >= 2)
  const socket = idle(gus, 'load:7:x')
  await until(async () => (await runningOf('gus')) > 0)
  socket.destroy()
  await until(async () => (await runningOf('gus')) === 0)
  t.equal(await count(jobs), 2, 'the job goes on')
  const begun =
    "SELECT count() AS n FROM system.processes WHERE startsWith(Settings['log_comment'], 'load:')"
  t.equal(await count(begun), 1)
  leaving.abort()
})

t.test('a statement that costs much to judge is refused before it is read', async (t) => {
  const search = `${store.url}/`
  const post = async (body: BodyInit, headers: Record<string, string> = {}) => {
    const response = await ask(search, { method: 'POST', body, headers, as: reader })
    return response.text()
  }
  const packed = gzipSync(`SELECT 1${' '.repeat(readerLimits.bodyBytes)}`)
  t.match(await post(packed, { 'Content-Encoding': 'gzip' }), /^Code: 165.*when it is unpacked/)
  const tokens = '('.repeat(readerLimits.statementBytes)
  for (const start of ['SELECT ', 'KILL QUERY WHERE ', 'INSERT INTO t ', 'WITH ']) {
    t.match(await post(`${start}${tokens}`), /^Code: 165.*send long values as parameters/, start)
  }
  const parts = Array.from({ length: 100_000 }, (_, index) => [`param_p${index}`, 'x'] as const)
  const form = [...parts, ['query', `SELECT ${tokens}`] as const].map(
    ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const type = { 'Content-Type': 'multipart/form-data; boundary=b' }
  t.match(await post(`${form.join('')}--b--`, type), /^Code: 165.*send long values as parameters/)
})

t.test('a result, a statement and its memory have limits', async (t) => {
  t.match(await askAs(reader, `SELECT 1 -- ${'x'.repeat(readerLimits.bodyBytes)}`), /^Code: 165/)
  const long = 'SELECT number FROM numbers(1000000)'
  const search = '?wait_end_of_query=1&max_result_bytes=1000000'
  t.match(await askAs(reader, long, search), /^Code: 396\..*Limit for result exceeded/)
  const longer = "SELECT repeat('x', 1000) FROM numbers(200000)"
  await t.rejects(askAs(reader, longer), 'a result that is too long is broken off')
  await until(async () => (await runningOf(reader.user)) === 0)
  const big =
    'SELECT uniqExact(number) FROM numbers(100000000) SETTINGS max_memory_usage = 50000000'
  t.match(await askAs(reader, big), /^Code: 241/)
  const slow = 'SELECT count() FROM system.numbers SETTINGS max_execution_time = 0.2'
  t.match(await askAs(reader, slow), /^Code: 159/)
  t.match(
    await rows("SELECT getSetting('max_result_bytes') AS n"),
    [{ n: /^0$/ }],
    'the writer has none of them',
  )
})

t.test('a statement that finds no free lane in time is refused with the reason', async (t) => {
  const dataPath = t.testdir()
  const { store } = await running(t, { dataPath, readerLimits: { lanes: 1, waitMs: 100 } })
  const leaving = new AbortController()
  const as = reader
  const forever = 'SELECT count() FROM system.numbers WHERE number % 7 = 9'
  const asked = ask(store.url, { method: 'POST', body: forever, as, signal: leaving.signal })
  asked.catch(() => undefined)
  let text = ''
  while (!text.startsWith('Code')) {
    text = await (await ask(store.url, { method: 'POST', body: 'SELECT 1', as })).text()
  }
  t.match(text, /^Code: 202\..*1 statements of analyst are running/)
  leaving.abort()
})

t.test('a reader with too many waiting statements is refused at once', async (t) => {
  const limits = { ...readerLimits, lanes: 1, allLanes: 2, waiting: 3 }
  const lanes = createLanes(limits)
  const ann = { role: 'reader', name: 'ann', seesAudit: false } as const
  const leave = await lanes.acquire(ann)
  const waiting = Array.from({ length: 3 }, () => lanes.acquire(ann))
  t.match(await lanes.acquire(ann).catch((error) => error), {
    text: /3 statements of ann are waiting/,
  })
  const leaveOther = await lanes.acquire({ ...ann, name: 'bob' })
  leaveOther()
  leave()
  for (const next of waiting) (await next)()
  const again = await lanes.acquire(ann)
  again()
})

t.test('texts of one reader are judged one by one, and others are served between', async (t) => {
  const lanes = createLanes({ ...readerLimits, lanes: 1, waiting: 2 })
  const ann = { role: 'reader', name: 'ann', seesAudit: false } as const
  const steps: string[] = []
  const judged = ['first', 'second', 'third', 'fourth'].map(async (text) => {
    const leave = await lanes.acquireForJudging(ann)
    steps.push(text)
    leave()
    setImmediate(() => steps.push('others'))
  })
  const [, , , fourth] = await Promise.allSettled(judged)
  t.match(fourth, { reason: { text: /3 statements of ann are waiting/ } })
  t.strictSame(steps, ['first', 'others', 'second', 'others', 'third'])
  await (await lanes.acquireForJudging(ann))()
})

const needsRoot = process.getuid?.() === 0 ? false : 'needs root'

t.test('a reader that root adds belongs to the service', { skip: needsRoot }, async (t) => {
  const owned = t.testdir()
  chownSync(owned, 12_345, 12_346)
  addReader(readersFolder(owned), { name: 'ann', seesAudit: false })
  for (const path of ['readers', 'readers/ann.json']) {
    t.match(statSync(join(owned, path)), { uid: 12_345, gid: 12_346 }, path)
  }
})
