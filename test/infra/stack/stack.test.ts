import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { askRedis } from '../../../infra/redis/ask.js'
import { type Home, openHome } from '../../../infra/stack/home.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { demoProfilePath, readProfile } from '../../../infra/stack/profile-file.js'
import type { ServerOptions } from '../../../infra/stack/servers.js'
import { attachStack, startStack } from '../../../infra/stack/stack.js'
import { createLog } from '../../../infra/telemetry/log.js'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { type Profile, parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { placeReadyMade } from '../../rig/ready-made.js'
import { tieline } from '../command-line.js'

const profile = readProfile(demoProfilePath)
const ports = { clickhouse: 18_223, redis: 16_479 }

const start = async (home: Home, more: Partial<ServerOptions> = {}) => {
  await placeReadyMade(home.clickhouse, profile)
  const log = createLog(join(home.logs, 'test.log'), 'test')
  return startStack({ home, profile, ports, log, ...more })
}

const isAlive = (pid: number | undefined): boolean => {
  try {
    return pid !== undefined && process.kill(pid, 0)
  } catch {
    return false
  }
}

const until = async (reached: () => boolean): Promise<boolean> => {
  for (let look = 0; look < 2_400 && !reached(); look++) await sleep(50)
  return reached()
}

t.test('a source that leads into the data folder is refused before anything starts', async (t) => {
  const home = openHome(createFolder(t))
  const [source] = profile.sources
  const sources = [{ ...(source as Profile['sources'][number]), path: home.archive }]
  await t.rejects(start(home, { profile: { ...profile, sources } }), {
    code: 'PROFILE',
    message: 'sources[0].path: archive of source inbox lies in archive',
  })
  t.notOk(existsSync(join(home.path, 'run.json')))
})

t.test('links to a folder that is taken are refused before anything starts', async (t) => {
  const folder = createFolder(t)
  const disk = join(folder, 'disk')
  const data = join(folder, 'data')
  mkdirSync(join(data, 'yard'), { recursive: true })
  mkdirSync(disk)
  symlinkSync(disk, join(data, 'archive'))
  symlinkSync(data, join(folder, 'link'))
  symlinkSync(join(data, 'quarantine'), join(folder, 'back'))
  const home = openHome(join(folder, 'link'))
  const refused: readonly (readonly [path: string, message: string])[] = [
    [join(folder, 'link'), ' of source two is the data folder itself'],
    [join(folder, 'link/logs'), 'logs of source two lies in logs'],
    [join(folder, 'back'), 'quarantine of source two lies in quarantine'],
    [disk, 'archive of source two lies in archive'],
    [join(disk, 'new/folder'), 'archive/new/folder of source two lies in archive'],
    [join(folder, 'link/yard'), 'yard of source two is the folder of source one too'],
  ]
  const [source] = profile.sources as [Profile['sources'][number]]
  for (const [path, message] of refused) {
    const sources = [
      { ...source, name: 'one', path: 'yard' },
      { ...source, name: 'two', path },
    ]
    await t.rejects(
      start(home, { profile: { ...profile, sources } }),
      { code: 'PROFILE', message: `sources[1].path: ${message}` },
      path,
    )
  }
})

t.test('a stack can be found, keeps its data folder to itself, and leaves nothing', async (t) => {
  const home = openHome(createFolder(t))
  t.equal(attachStack(home), undefined)
  const steps: string[] = []
  const stack = await start(home, { onStep: (step) => steps.push(step.name) })
  t.same(steps.sort(), ['ClickHouse', 'Redis', 'migrations', 'worker'])
  await t.rejects(start(home), {
    code: 'ALREADY_RUNNING',
    message: new RegExp(`pid ${process.pid}`),
  })

  const attached = attachStack(home)
  t.match(attached, { store: stack.store, redisUrl: stack.redisUrl, run: { stays: true } })
  const runText = readFileSync(join(home.path, 'run.json'), 'utf8')
  for (const secret of Object.values(home.secrets)) t.notOk(runText.includes(secret), 'no secrets')
  t.equal(statSync(join(home.path, 'run.json')).mode & 0o777, 0o600)
  if (attached === undefined) return
  const reader = createStore(attached.reader)
  t.same(await reader.rows({ sql: 'SELECT count() AS files FROM file_load' }), [{ files: '0' }])
  await t.rejects(reader.command({ sql: 'TRUNCATE TABLE usage_read' }), { code: 'STORE_REFUSED' })
  await reader.close()

  const pids = [stack.worker, stack.redis, stack.clickhouse].map((part) => part?.pid())
  t.ok(pids.every(isAlive))
  await stack.close()
  t.ok(await until(() => !pids.some(isAlive)), 'every child is gone')
  t.notOk(existsSync(join(home.path, 'run.json')))
  t.equal(attachStack(home), undefined)
})

t.test('each part that is killed comes back', async (t) => {
  const home = openHome(createFolder(t))
  const stack = await start(home)
  t.teardown(stack.close)
  for (const name of ['worker', 'redis', 'clickhouse'] as const) {
    const part = stack[name]
    const before = part?.pid()
    await part?.kill()
    const back = () => part?.pid() !== undefined && part.pid() !== before
    t.ok(await until(back), name)
  }
  const answers = async () => (await askRedis(stack.redisUrl, 'PING').catch(() => '')) === 'PONG'
  let answered = false
  for (let look = 0; look < 1_200 && !answered; look++) {
    await sleep(50)
    answered = await answers()
  }
  t.ok(answered, 'Redis answers where it did')
  const restarts = async () => {
    const { stdout } = await tieline('status', '--json', '--home', home.path)
    const { healed = [] } = JSON.parse(stdout || '{}') as { healed?: { name: string }[] }
    return healed.map(({ name }) => name).sort()
  }
  const all = ['ClickHouse', 'Redis', 'worker']
  let seen: readonly string[] = []
  for (let look = 0; look < 20 && seen.length < all.length; look++) seen = await restarts()
  t.same(seen, all, 'and status lists the restarts')
  const { stdout } = await tieline('status', '--home', home.path)
  t.match(stdout, /healed in 7 days .* times +reason/)
  t.match(stdout, /worker +restarted +\d{4}-.* 1 +SIGKILL/)
})

t.test('ports that are taken are stepped over, and said', async (t) => {
  const takers = await Promise.all(
    Object.values({ clickhouse: 18_323, redis: 16_579 }).map(async (port) => {
      const server = createServer().listen(port, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  t.teardown(() => takers.map((server) => server.close()))
  const said: string[] = []
  const stack = await start(openHome(createFolder(t)), {
    ports: { clickhouse: 18_323, redis: 16_579 },
    say: (line) => said.push(line),
  })
  t.teardown(stack.close)
  t.match(
    said.sort().join('\n'),
    /port 16579 is taken; Redis listens on \d+\nport 18323 is taken; ClickHouse listens on \d+/,
  )
})

t.test('ports that the profile names are left to their listeners', async (t) => {
  const issuer = 'https://127.0.0.1:1'
  const named = await onFreePort(9_465, async (port) => port)
  const sections = {
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    gateway: { listen: { port: 18_523 }, operations: { port: named } },
    identity: { kind: 'oidc', claim: 'sub', issuers: [{ issuer, audience: 'a' }] },
    cis: { kind: 'rest', url: issuer },
  }
  const home = openHome(createFolder(t))
  const of = (more: object) => ({ profile: parseProfile({ ...sections, ...more }) })
  const operations = { port: 18_223 }
  await t.rejects(start(home, of({ worker: { operations } })), {
    code: 'CONFIG',
    detail: 'worker.operations and --clickhouse-port both listen on port 18223',
  })
  const taker = createServer().listen(18_522, '127.0.0.1')
  await once(taker, 'listening')
  t.teardown(() => taker.close())
  const stack = await start(home, { ...of({}), ports: { clickhouse: 18_522 } })
  t.teardown(stack.close)
  t.ok(Number(new URL(stack.store.url).port) > 18_523)
  t.match(stack.gateway?.detail(), { operations: `http://127.0.0.1:${named}` })
  t.ok(Number(new URL(stack.worker.detail().operations ?? '').port) > named)
})

t.test('servers that run elsewhere are used and left alone', async (t) => {
  const folder = createFolder(t)
  const elsewhere = await start(openHome(join(folder, 'elsewhere')))
  t.teardown(elsewhere.close)
  const { store, reader, redisUrl } = elsewhere
  const withUser = (address: typeof store) =>
    address.url.replace('://', `://${address.username}:${address.password}@`)
  const external = {
    clickhouseUrl: withUser(store),
    clickhouseReaderUrl: withUser(reader),
    redisUrl,
  }
  const home = openHome(join(folder, 'here'))
  const other = { ...profile, database: 'tieline_staging' }
  const stack = await startStack({
    home,
    profile: other,
    external,
    log: createLog(join(home.logs, 'test.log'), 'test'),
  })
  t.equal(stack.clickhouse, undefined)
  t.equal(stack.redis, undefined)
  t.throws(() => attachStack(home), { code: 'CONFIG', message: /CLICKHOUSE_URL/ })
  t.match(attachStack(home, external), { redisUrl, store: { database: 'tieline_staging' } })
  await stack.close()
  t.equal(await askRedis(redisUrl, 'PING'), 'PONG')
})

t.test('a server that does not answer stops the start with its name', async (t) => {
  const home = openHome(createFolder(t))
  await t.rejects(start(home, { external: { redisUrl: 'redis://127.0.0.1:1' } }), {
    code: 'QUEUE_UNREACHABLE',
  })
  await t.rejects(start(home, { external: { clickhouseUrl: 'http://127.0.0.1:1' } }), {
    code: 'STORE_UNREACHABLE',
    message: /CLICKHOUSE_URL/,
  })
  await t.rejects(start(home, { external: { clickhouseUrl: 'nonsense' } }), { code: 'CONFIG' })
  const stack = await start(home)
  await stack.close()
  t.pass('and what had started was stopped again')
})

t.test('a killed stack leaves no orphan, and the next finds its data', async (t) => {
  const home = openHome(createFolder(t))
  const modules = new URL('../../../infra/', import.meta.url).href
  const code = `
  import { openHome } from '${modules}stack/home.js'
  import { createLog } from '${modules}telemetry/log.js'
  import { readProfile, demoProfilePath } from '${modules}stack/profile-file.js'
  import { startStack } from '${modules}stack/stack.js'
  const home = openHome(${JSON.stringify(home.path)})
  const log = createLog(home.logs + '/test.log', 'test')
  const stack = await startStack({ home, log, profile: readProfile(demoProfilePath),
    ports: { clickhouse: 18423, redis: 16679 } })
  console.log([stack.worker, stack.redis, stack.clickhouse].map((part) => part.pid()).join(' '))`
  const parent: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(parent.stdout as NodeJS.ReadableStream, 'data')
  const pids = String(line).trim().split(' ').map(Number)
  t.ok(pids.every(isAlive), String(line))
  t.equal(attachStack(home)?.run.pid, parent.pid)
  parent.kill('SIGKILL')
  t.ok(await until(() => !pids.some(isAlive)), 'every child is gone')
  t.equal(attachStack(home), undefined, 'its run.json is seen to be stale')
  const stack = await start(home)
  await stack.close()
})
