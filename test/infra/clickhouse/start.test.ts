import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createClickHouse } from '../../../infra/clickhouse/start.js'
import { createFolder } from '../../rig/folder.js'
import { clientOf, reader, rowsOf, running, writer } from './running.js'

const options = { port: 0, writer, reader, memoryBytesMax: 2 * 1024 ** 3 }
/** Short enough for a test, long enough for a machine that is busy with others. */
const quick = { everyMs: 100, timeoutMs: 1500, missesMax: 2 }

async function until(isTrue: () => boolean | Promise<boolean>, waitMs = 120_000): Promise<boolean> {
  for (let waited = 0; waited < waitMs; waited += 50) {
    if (await isTrue()) return true
    await sleep(50)
  }
  return false
}

const isAlive = (pid: number) => existsSync(`/proc/${pid}`) && !/^\d+ \(.*\) Z/.test(stat(pid))
function stat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return `${pid} () Z`
  }
}

t.test('kill -9 loses no acknowledged insert, and the engine is back on its port', async (t) => {
  const { store, client, rows, dataPath, events } = await running(t)
  await client.command({ query: 'CREATE TABLE kept (a UInt64) ENGINE = MergeTree ORDER BY a' })
  let acknowledged = 0
  for (const round of [1, 2, 3]) {
    const isKilled = { yes: false }
    const inserting = Array.from({ length: 8 }, async () => {
      while (!isKilled.yes) {
        const values = [{ a: acknowledged }]
        const stored = client.insert({ table: 'kept', values, format: 'JSONEachRow' })
        await stored.then(
          () => acknowledged++,
          () => undefined,
        )
      }
    })
    await sleep(400)
    const pid = store.pid()
    await store.kill()
    isKilled.yes = true
    await Promise.all(inserting)
    t.ok(await until(async () => (await client.ping({ select: true })).success))
    t.not(store.pid(), pid, `round ${round}`)
    const [found] = await rows<{ n: string }>('SELECT count() AS n FROM kept')
    t.ok(Number(found?.n) >= acknowledged, `${found?.n} rows of ${acknowledged} acknowledged`)
  }
  const steps = events.filter((event) => event.startsWith('ClickHouse '))
  t.match(steps.slice(0, 2), [/ended \(SIGKILL\); restarting it/, /runs again \(pid \d+\)/])
  t.equal(statSync(dataPath).mode & 0o777, 0o700)
  t.strictSame(readdirSync(join(dataPath, 'spool')), [])
})

t.test('an engine that hangs is replaced', async (t) => {
  const { store, client, events } = await running(t, { watchdog: quick })
  await sleep(500)
  t.notOk(
    events.some((event) => event.includes('does not respond')),
    'one that answers is left alone',
  )
  const pid = store.pid() as number
  process.kill(pid, 'SIGSTOP')
  t.ok(await until(() => store.pid() !== undefined && store.pid() !== pid))
  t.ok(await until(async () => (await client.ping({ select: true })).success))
  t.ok(events.includes(`ClickHouse (pid ${pid}) does not respond; killing it`))
})

t.test('an engine on a port that browsers refuse is left alone', async (t) => {
  const events: string[] = []
  const onPort = ([port = 0, ...others]: readonly number[]): ReturnType<typeof createClickHouse> =>
    createClickHouse({
      ...options,
      dataPath: createFolder(t),
      port,
      watchdog: { ...quick, timeoutMs: 10_000 },
      onEvent: (event) => events.push(event),
    }).catch((error) => (others.length > 0 ? onPort(others) : Promise.reject(error)))
  const store = await onPort([10_080, 6_697, 6_679, 6_566])
  const health = `${store.url}/health`
  await t.rejects(fetch(health), { cause: { message: 'bad port' } })
  const pid = store.pid()
  await sleep(1_000)
  t.equal(store.pid(), pid)
  t.same(events, [])
  await store.close()
})

t.test('one folder has one engine: the second start names folder and process', async (t) => {
  const { dataPath } = await running(t)
  const second = createClickHouse({ ...options, dataPath })
  await t.rejects(second, {
    code: 'ALREADY_RUNNING',
    message: new RegExp(`${process.pid}.*${dataPath}`),
  })
})

t.test('an engine that is gone, or is another program by now, holds nobody up', async (t) => {
  const dataPath = createFolder(t)
  for (const engine of [
    { pid: 2 ** 22 + 1, began: '1' },
    { pid: process.ppid, began: 'another time' },
  ]) {
    writeFileSync(join(dataPath, 'clickhouse.pid'), JSON.stringify(engine))
    const store = await createClickHouse({ ...options, dataPath })
    await store.close()
  }
  writeFileSync(join(dataPath, 'clickhouse.pid'), 'torn')
  await (await createClickHouse({ ...options, dataPath })).close()
  t.notOk(existsSync(join(dataPath, 'clickhouse.pid')))
})

t.test('a port that is taken is named, and the folder is free again', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const dataPath = createFolder(t)
  await t.rejects(createClickHouse({ ...options, dataPath, port }), { code: 'PORT_TAKEN' })
  other.close()
  await once(other, 'close')
  const store = await createClickHouse({ ...options, dataPath, port })
  t.equal(store.port, port)
  await store.close()
})

t.test('close lets a running statement finish', async (t) => {
  const store = await createClickHouse({ ...options, dataPath: createFolder(t) })
  const client = clientOf(store.url, writer)
  const rows = rowsOf(client)
  const slow = rows("SELECT sleep(3), 'done' AS end")
  const running = "SELECT 1 FROM system.processes WHERE query LIKE 'SELECT sleep(3)%'"
  t.ok(await until(async () => (await rows(running)).length === 1))
  const pid = store.pid() as number
  const [closed, answer] = await Promise.allSettled([store.close(), slow])
  t.equal(closed.status, 'fulfilled')
  t.match(answer, { status: 'fulfilled', value: [{ end: 'done' }] })
  t.notOk(isAlive(pid))
  await client.close()
})

t.test('an engine that is closed while it starts ends without serving', async (t) => {
  const program = new URL('../../../infra/clickhouse/server.js', import.meta.url).pathname
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  child.send({ ...options, dataPath: createFolder(t), readable: [], auditable: [] })
  child.send({ kind: 'close' })
  const seen = await Promise.race([
    once(child, 'exit').then(() => 'ended'),
    once(child, 'message').then(([message]) => message),
  ])
  t.equal(seen, 'ended')
})

t.test('the engine ends when its parent is killed, and the folder starts again', async (t) => {
  const dataPath = createFolder(t)
  const module = new URL('../../../infra/clickhouse/start.js', import.meta.url).href
  const script = `
    const { createClickHouse } = await import(${JSON.stringify(module)})
    const store = await createClickHouse(${JSON.stringify({ ...options, dataPath })})
    console.log(store.pid())
    const basic = Buffer.from(${JSON.stringify(`${writer.user}:${writer.password}`)}).toString('base64')
    fetch(store.url + '/?query=SELECT+count()+FROM+system.numbers', { headers: { Authorization: 'Basic ' + basic } })`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  await sleep(300)
  t.ok(isAlive(pid))
  t.notOk(
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(writer.password),
    'no password in argv',
  )
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  const store = await createClickHouse({ ...options, dataPath })
  t.notOk(isAlive(pid), 'no orphan is left')
  await store.close()
})

t.test(
  'a definition that a full disk cut off stops no start if a job makes the table again',
  async (t) => {
    const dataPath = createFolder(t)
    const first = await createClickHouse({ ...options, dataPath })
    const client = clientOf(first.url, writer)
    const cutOff = ['staging_7_whole_1', 'bill_used_9', '_tmp_replace_1_2']
    for (const table of [...cutOff, 'kept', 'staging_8_read']) {
      await client.command({
        query: `CREATE TABLE ${table} (a UInt8) ENGINE = MergeTree ORDER BY a`,
      })
    }
    await client.close()
    await first.close()
    const store = join(dataPath, 'store')
    const link = join(store, 'metadata', 'default')
    const id = basename(readlinkSync(link))
    const definitionOf = (table: string) => join(store, 'store', id.slice(0, 3), id, `${table}.sql`)
    // A tool that copies a folder may change the link, so that it leads to where the folder was.
    rmSync(link)
    symlinkSync(join('/nowhere', id), link)
    for (const [at, table] of cutOff.entries()) truncateSync(definitionOf(table), at * 20)

    const events: string[] = []
    const onEvent = (event: string) => void events.push(event)
    const again = await createClickHouse({ ...options, dataPath, onEvent })
    const other = clientOf(again.url, writer)
    t.same(await rowsOf(other)('SHOW TABLES'), [{ name: 'kept' }, { name: 'staging_8_read' }])
    for (const table of cutOff)
      t.ok(events.some((event) => event.includes(`table ${table} was cut off`)))
    await other.close()
    await again.close()

    truncateSync(definitionOf('kept'), 0)
    const third = createClickHouse({ ...options, dataPath })
    await t.rejects(third, { code: 'CONFIG', message: /kept\.sql.*tieline restore/s })
  },
)

t.test('a mutation that a full disk cut off stops no start', async (t) => {
  const dataPath = createFolder(t)
  const first = await createClickHouse({ ...options, dataPath })
  const client = clientOf(first.url, writer)
  await client.command({ query: 'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a' })
  await client.command({ query: 'INSERT INTO kept VALUES (1), (2), (3)' })
  for (const a of [1, 2]) {
    const query = `ALTER TABLE kept DELETE WHERE a = ${a}`
    await client.command({ query, clickhouse_settings: { mutations_sync: '1' } })
  }
  await client.close()
  await first.close()
  const mutations = readdirSync(join(dataPath, 'store', 'store'), { recursive: true })
    .map((path) => join(dataPath, 'store', 'store', String(path)))
    .filter((path) => /mutation_\d+\.txt$/.test(path))
    .sort()
  const [cutOff = '', inPart = ''] = mutations
  const whole = statSync(inPart).size
  truncateSync(cutOff, 0)
  truncateSync(inPart, whole - 1)
  writeFileSync(join(dirname(inPart), 'mutation_9.txt'), 'format version: 1\n')

  const events: string[] = []
  const onEvent = (event: string) => void events.push(event)
  const again = await createClickHouse({ ...options, dataPath, onEvent })
  const other = clientOf(again.url, writer)
  t.same(await rowsOf(other)('SELECT a FROM kept'), [{ a: 3 }], 'what has ended stays')
  t.equal(events.filter((event) => /mutation_\d+\.txt was cut off/.test(event)).length, 3)
  await other.close()
  await again.close()
})

t.test('files that an engine in another container has locked are left alone', async (t) => {
  const dataPath = createFolder(t)
  const status = join(dataPath, 'store', 'status')
  mkdirSync(dirname(status))
  const holder = spawn('flock', [status, 'sh', '-c', 'echo locked; exec cat'])
  t.teardown(() => holder.stdin.end())
  await once(holder.stdout, 'data')
  await t.rejects(createClickHouse({ ...options, dataPath }), {
    code: 'CONFIG',
    message: /store\/status.*run the command there or stop that container/s,
  })
})
