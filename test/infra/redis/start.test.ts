import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, t } from 'tap'
import { askRedis, checkRedis } from '../../../infra/redis/ask.js'
import { createRedis, type RunningRedis } from '../../../infra/redis/start.js'
import { isPortFree, onFreePort } from '../../../infra/stack/port.js'
import { endLeftover, rememberServer } from '../../../infra/stack/processes/leftover.js'
import { Fault } from '../../../schemas/fault.js'
import { anyPort } from '../../rig/any-port.js'
import { createFolder } from '../../rig/folder.js'

const password = 'a "quoted" \\ password'

const startIn = (dataPath: string): Promise<RunningRedis> =>
  onFreePort(16_379, (port) => createRedis({ dataPath, port, password: 'secret' }))

const until = async (reached: () => Promise<boolean> | boolean): Promise<boolean> => {
  for (let look = 0; look < 6_000; look++) {
    if (await reached()) return true
    await sleep(25)
  }
  return false
}

t.test('keeps what it is given over a kill -9 and over a stop and start', async (t) => {
  const dataPath = createFolder(t)
  const redis = await startIn(dataPath)
  const { port } = redis
  t.equal(await askRedis(redis.url, 'SET', 'stone', 'set'), 'OK')
  await sleep(1_200)
  const killed = redis.pid()
  redis.kill()
  t.ok(await until(() => redis.pid() !== killed && redis.pid() !== undefined), 'it comes back')
  t.ok(
    await until(async () => (await askRedis(redis.url, 'GET', 'stone').catch(() => '')) === 'set'),
    'with its data and on its port',
  )
  await redis.close()
  t.ok(await isPortFree(port), 'nothing is left on the port')

  const again = await startIn(dataPath)
  t.equal(await askRedis(again.url, 'GET', 'stone'), 'set')
  await again.close()
})

t.test('what Redis logs while it runs does not set its files aside', async (t) => {
  const dataPath = createFolder(t)
  const redis = await startIn(dataPath)
  t.teardown(redis.close)
  t.equal(await askRedis(redis.url, 'SET', 'stone', 'set'), 'OK')
  await sleep(1_200)
  appendFileSync(
    join(dataPath, 'redis.log'),
    '1:M 1 Jan # Short write while writing to the AOF file\n',
  )
  const killed = redis.pid()
  redis.kill()
  t.ok(await until(() => redis.pid() !== killed && redis.pid() !== undefined), 'it comes back')
  const isThere = async () => (await askRedis(redis.url, 'GET', 'stone').catch(() => '')) === 'set'
  t.ok(await until(isThere), 'with its data')
  t.notOk(existsSync(join(dataPath, 'appendonlydir.damaged')))
})

/** A server with settings of its own, for which Tieline is not to blame; its URL. */
async function createOther(t: Test, settings: readonly string[], mode: readonly string[] = []) {
  const port = await onFreePort(17_379, async (port) => {
    if (await isPortFree(port)) return port
    throw new Fault('PORT_TAKEN', `port ${port}`)
  })
  const folder = createFolder(t)
  const config = join(folder, 'redis.conf')
  const all = [`port ${port}`, `dir ${folder}`, 'user tieline on >secret ~* &* +@all', ...settings]
  writeFileSync(config, `${all.join('\n')}\n`)
  const server = spawn('redis-server', [config, ...mode], { stdio: 'ignore' })
  t.teardown(() => server.kill('SIGKILL'))
  const url = `redis://tieline:secret@127.0.0.1:${port}`
  t.ok(await until(async () => (await askRedis(url, 'PING').catch(() => '')) === 'PONG'))
  return url
}

t.test('a server that cannot hold queues is refused with the remedy', async (t) => {
  const primary = await startIn(createFolder(t))
  t.teardown(primary.close)
  const refused = async (url: string, message: RegExp) =>
    t.rejects(checkRedis(url), { code: 'CONFIG', message })
  await refused(await createOther(t, ['cluster-enabled yes']), /Redis Cluster.*single server/)
  await refused(await createOther(t, [], ['--sentinel']), /is a Sentinel.*redis\+sentinel/)
  const follows = [`replicaof 127.0.0.1 ${primary.port}`, 'masterauth secret']
  await refused(await createOther(t, follows), /role slave.*primary/)
  await checkRedis(await createOther(t, ['user default off']))
})

/** Ways in which the files of a Redis can be damaged; its append-only file begins with a base. */
const damages: Readonly<Record<string, (folder: string) => void>> = {
  'garbage in the append-only file': (folder) => overwrite(fileOf(folder, /incr\.aof$/)),
  'garbage in its base': (folder) => overwrite(fileOf(folder, /base\.rdb$/)),
  'garbage in the manifest': (folder) => overwrite(fileOf(folder, /manifest$/)),
  'an empty manifest': (folder) => writeFileSync(fileOf(folder, /manifest$/), ''),
  'a base that is missing': (folder) => rmSync(fileOf(folder, /base\.rdb$/)),
}
const fileOf = (folder: string, name: RegExp) =>
  join(folder, readdirSync(folder).find((file) => name.test(file)) as string)
const overwrite = (path: string) => {
  const bytes = readFileSync(path)
  bytes.fill('garbage\0', 30, 60)
  writeFileSync(path, bytes)
}

for (const [name, damage] of Object.entries(damages)) {
  t.test(`${name} is set aside and reported, and the server starts empty`, async (t) => {
    const dataPath = createFolder(t)
    const first = await startIn(dataPath)
    for (let at = 0; at < 50; at++) await askRedis(first.url, 'SET', `key${at}`, 'value')
    await first.close()
    damage(join(dataPath, 'appendonlydir'))
    const events: string[] = []
    const second = await onFreePort(16_379, (port) =>
      createRedis({ dataPath, port, password, onEvent: (event) => events.push(event) }),
    )
    t.teardown(second.close)
    t.equal(await askRedis(second.url, 'DBSIZE'), '0')
    t.match(events, [
      /^Redis cannot load its files \(.+\); they are now in .*appendonlydir\.damaged/,
    ])
    t.ok(existsSync(join(dataPath, 'appendonlydir.damaged')))
    t.equal(await askRedis(second.url, 'SET', 'new', 'kept'), 'OK')
  })
}

t.test('a server whose files are damaged while it runs comes back by itself', async (t) => {
  const dataPath = createFolder(t)
  const events: string[] = []
  const redis = await onFreePort(16_379, (port) =>
    createRedis({ dataPath, port, password, onEvent: (event) => events.push(event) }),
  )
  t.teardown(redis.close)
  for (let at = 0; at < 50; at++) await askRedis(redis.url, 'SET', `key${at}`, 'value')
  overwrite(fileOf(join(dataPath, 'appendonlydir'), /incr\.aof$/))
  await redis.kill()
  t.ok(await until(async () => (await askRedis(redis.url, 'DBSIZE').catch(() => '')) === '0'))
  t.ok(events.some((event) => event.includes('appendonlydir.damaged')))
})

t.test('answers on loopback only, with a password, and evicts nothing', async (t) => {
  const redis = await onFreePort(16_379, (port) =>
    createRedis({ dataPath: createFolder(t), port, password }),
  )
  t.teardown(redis.close)
  await checkRedis(redis.url)
  const open = `redis://127.0.0.1:${redis.port}`
  await t.rejects(askRedis(open, 'PING'), { code: 'QUEUE_UNREACHABLE' }, 'no password')
  await t.rejects(askRedis(`redis://:wrong@127.0.0.1:${redis.port}`, 'PING'), {
    code: 'QUEUE_UNREACHABLE',
    message: /WRONGPASS .*; fix the user or the password of REDIS_URL/,
  })
  const bound = await askRedis(redis.url, 'CONFIG', 'GET', 'bind')
  t.equal(bound, 'bind,127.0.0.1')
  const command = readFileSync(`/proc/${redis.pid()}/cmdline`, 'utf8')
  t.notMatch(command, /quoted/, 'the password is not on the command line')
})

t.test('an external Redis that evicts is refused with the setting to change', async (t) => {
  const redis = await startIn(createFolder(t))
  t.teardown(redis.close)
  await askRedis(redis.url, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  await t.rejects(checkRedis(redis.url), { code: 'CONFIG', message: /allkeys-lru.*noeviction/ })
})

t.test('a database that an external Redis does not have is refused', async (t) => {
  const redis = await startIn(createFolder(t))
  t.teardown(redis.close)
  await checkRedis(`${redis.url}/15`)
  await t.rejects(checkRedis(`${redis.url}/99`), { message: /\/99: .*DB index is out of range/ })
})

t.test('a port that is taken is said to be', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  await t.rejects(createRedis({ dataPath: createFolder(t), port, password }), {
    code: 'PORT_TAKEN',
  })
})

t.test('a Redis that does not answer is a fault that names it without its password', async (t) => {
  await t.rejects(askRedis('redis://:hush@127.0.0.1:1/', 'PING'), {
    code: 'QUEUE_UNREACHABLE',
    message: /^(?!.*hush).*127\.0\.0\.1:1/,
  })
})

t.test('ends with its parent, even by SIGKILL', async (t) => {
  const dataPath = createFolder(t)
  const module = new URL('../../../infra/redis/start.js', import.meta.url).href
  const ports = new URL('../../../infra/stack/port.js', import.meta.url).href
  const code = `import { createRedis } from ${JSON.stringify(module)}
    import { onFreePort } from ${JSON.stringify(ports)}
    const redis = await onFreePort(${anyPort()}, (port) =>
      createRedis({ dataPath: ${JSON.stringify(dataPath)}, port, password: 'x' }))
    console.log(redis.pid())
    setInterval(() => undefined, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(parent, 'exit').then(([code]) => Promise.reject(new Error(`ended: ${code}`)))
  const [line] = await Promise.race([once(parent.stdout, 'data'), ended])
  ended.catch(() => undefined)
  const pid = Number(String(line))
  t.teardown(() => spawnSync('kill', ['-9', String(pid)]))
  t.equal(spawnSync('kill', ['-0', String(pid)]).status, 0, 'the server runs')
  parent.kill('SIGKILL')
  t.ok(await until(() => spawnSync('kill', ['-0', String(pid)]).status !== 0), 'and is gone')
})

t.test('a server that a dead parent left behind is ended at the next start', async (t) => {
  const dataPath = createFolder(t)
  const socket = ['--port', '0', '--unixsocket', 'redis.sock']
  const left = spawn('redis-server', socket, { cwd: dataPath, stdio: 'ignore' })
  t.teardown(() => left.kill('SIGKILL'))
  t.ok(await until(() => existsSync(join(dataPath, 'redis.sock'))), 'it runs')
  t.equal(left.exitCode, null)
  const path = join(dataPath, 'redis.pid')
  rememberServer(path, left.pid)
  await endLeftover(path, 15_000)
  t.ok(
    left.exitCode !== null ||
      left.signalCode !== null ||
      (await until(() => left.exitCode !== null)),
  )
  writeFileSync(path, JSON.stringify({ pid: process.pid, began: 'another time' }))
  await endLeftover(path, 0)
  t.pass('a pid that belongs to another program is left alone')
})
