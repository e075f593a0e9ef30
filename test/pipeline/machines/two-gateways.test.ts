import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { createRedis } from '../../../infra/redis/start.js'
import { openHome } from '../../../infra/stack/home.js'
import { onFreePort } from '../../../infra/stack/port.js'
import type { ChildAnswer, ChildRequest } from '../../../infra/stack/processes/child.js'
import type { GatewayProcessOptions } from '../../../infra/stack/processes/programs.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { freePort } from '../../api/identity/provider.js'
import { basic, key, passwordHash, serverFiles } from '../../api/rig.js'
import { createFolder } from '../../rig/folder.js'
import { randomFrom, sample } from '../../rig/sample.js'
import { header, until } from '../../story/rig/stack.js'
import { migratedStore, readerOf } from '../customers/registering.js'

const kills = sample({ short: 4, long: 60 })
const seed = Date.now() % 1_000_000
const random = randomFrom(seed)
const below = (limit: number) => Math.floor(random() * limit)
const clientsOfGateway = 4
const rowsOfCallMax = 40

const folder = createFolder(t)
const home = openHome(join(folder, 'home'))
const certificates = demoCertificates(join(folder, 'certificates'))
const tls = serverFiles(certificates)
const profileAt = (port: number) =>
  parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    limits: { freeDiskBytesMin: '0 B' },
    gateway: { listen: { port: 0 }, operations: { port: 0 }, mutual: { port, tls } },
    identity: {
      kind: 'oidc',
      claim: 'sub',
      issuers: [{ issuer: 'http://127.0.0.1:1', audience: 'tieline' }],
    },
    cis: { kind: 'rest', url: 'http://127.0.0.1:1' },
    intake: { users: [{ name: 'platform', passwordHash }], gatherSeconds: 1 },
  })
const store = await migratedStore(t)
const redis = await onFreePort(27_379 + Math.floor(Math.random() * 10_000), (port) =>
  createRedis({ dataPath: createFolder(t), port, password: 'secret' }),
)
t.teardown(() => redis.close())

const shared = { store: store.address, redisUrl: redis.url }
const workerProgram = fileURLToPath(new URL('worker-process.js', import.meta.url))
const worker = fork(workerProgram, [
  home.path,
  JSON.stringify({ profile: profileAt(await freePort()), ...shared }),
])
t.teardown(() => worker.kill('SIGKILL'))
await once(worker, 'message')

const gatewayProgram = fileURLToPath(
  new URL('../../../infra/stack/processes/gateway.js', import.meta.url),
)

interface Gateway {
  readonly port: number
  readonly agent: Agent
  child: ChildProcess | undefined
}

async function start(gateway: Gateway): Promise<void> {
  const { port } = gateway
  const child = fork(gatewayProgram, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  gateway.child = child
  const options: GatewayProcessOptions = {
    profile: profileAt(port),
    ...shared,
    reader: readerOf(store),
    folders: { uploads: home.uploads, pushed: home.pushed },
    key,
    requestLogPath: join(folder, `requests-${port}.log`),
    secrets: {},
  }
  const logPath = join(folder, `gateway-${port}.log`)
  const asked = { type: 'start', options, logPath, stopMsMax: 10_000 } as const
  child.send(asked satisfies ChildRequest<GatewayProcessOptions>)
  const [answer] = (await once(child, 'message')) as [ChildAnswer]
  if (answer.type !== 'ready') throw new Error(JSON.stringify(answer))
}

const identity = {
  ca: readFileSync(certificates.caFile),
  cert: readFileSync(certificates.clientCertFile),
  key: readFileSync(certificates.clientKeyFile),
}
const gateways: Gateway[] = []
for (const port of [await freePort(), await freePort()]) {
  const agent = new Agent({ keepAlive: true, maxSockets: clientsOfGateway, ...identity })
  const gateway: Gateway = { port, agent, child: undefined }
  t.teardown(() => gateway.child?.kill('SIGKILL'))
  await start(gateway)
  gateways.push(gateway)
}

/** What became of the rows of a call; `undefined` if nobody answered. */
interface Call {
  readonly meters: readonly string[]
  readonly status: number | undefined
}

function push({ port, agent }: Gateway, meters: readonly string[]): Promise<Call> {
  const rows = meters.map((meter) => `A,S,${meter},3/4/2024 0:00,${meter.slice(1)}`)
  return new Promise((resolve) => {
    const headers = { authorization: basic, feed: 'Electric', 'content-type': 'text/csv' }
    const where = { host: '127.0.0.1', port, agent, method: 'POST', path: '/v1/usage', headers }
    const asked = request(where, (response) => {
      response.resume().once('close', () => resolve({ meters, status: response.statusCode }))
    })
    asked.once('error', () => resolve({ meters, status: undefined }))
    asked.end(`${[header, ...rows].join('\n')}\n`)
  })
}

const calls: Call[] = []
let [meters, isOver] = [0, false]

async function send(gateway: Gateway): Promise<void> {
  while (!isOver) {
    const names = Array.from({ length: 1 + below(rowsOfCallMax) }, () => `M${++meters}`)
    const call = await push(gateway, names)
    calls.push(call)
    if (call.status !== 202) await sleep(20)
  }
}

/** Kills a gateway at random moments, some of them while it starts. */
async function kill(gateway: Gateway, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    await sleep(below(2_500))
    const { child } = gateway
    if (child === undefined) throw new Error('the gateway is not running')
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await start(gateway)
  }
}

const ask = <T>(sql: string) => store.rows<T>({ sql })

interface ReadRow {
  readonly meter: string
  readonly rows: string
  readonly quantity: string
}

const readRows = () =>
  ask<ReadRow>(`SELECT meter_id AS meter, toString(count()) AS rows,
    toString(toFloat64(any(quantity))) AS quantity FROM usage_read GROUP BY meter`)

/** The number of a meter is its quantity. */
const isOdd = ({ meter, rows, quantity }: ReadRow) => rows !== '1' || `M${quantity}` !== meter

const readFiles = () =>
  ask<{ readonly files: string }>(`SELECT status, sum(rows_rejected) AS rejected,
    sum(rows_duplicate) AS duplicate, count() AS files FROM file_state FINAL GROUP BY status`)

const untilRead = (count: number) =>
  until(async () => {
    const [row] = await ask<{ rows: string }>('SELECT uniqExact(meter_id) AS rows FROM usage_read')
    return Number(row?.rows) >= count
  })

const untilSettled = () =>
  until(async () => {
    const unsettled = await ask(`SELECT 1 FROM arrival WHERE arrival NOT IN (
      SELECT arrival FROM file_state FINAL WHERE settled_at IS NOT NULL)`)
    return unsettled.length === 0
  })

/** Files of which a reader sees some reads and not all. */
const readHalves = () =>
  ask<object>(`SELECT f.arrival, f.rows_accepted, s.rows FROM file_state AS f FINAL
    INNER JOIN (SELECT toUInt32(bitShiftRight(version, 32)) AS arrival, count() AS rows
      FROM usage_read GROUP BY arrival) AS s ON s.arrival = f.arrival
    WHERE s.rows != f.rows_accepted`)

t.test('rows that were pushed while gateways were killed are published once', async (t) => {
  t.comment(`seed ${seed}`)
  const sent = gateways.flatMap((gateway) =>
    Array.from({ length: clientsOfGateway }, () => send(gateway)),
  )
  const watched = (async () => {
    const halves: object[] = []
    while (!isOver) {
      halves.push(...(await readHalves()))
      await sleep(500)
    }
    return halves
  })()
  await Promise.all(gateways.map((gateway) => kill(gateway, kills / gateways.length)))
  isOver = true
  await Promise.all(sent)
  t.same(await watched, [], 'no file was half seen')

  const answered = calls.filter(({ status }) => status === 202)
  const open = calls.filter(({ status }) => status === undefined)
  t.equal(answered.length + open.length, calls.length, 'no call is answered otherwise')
  const known = new Set(answered.flatMap((call) => call.meters))
  await untilRead(known.size)
  // Rows that nobody answered are taken over from the dead after two seconds.
  await sleep(5_000)
  await untilSettled()
  const rows = await readRows()
  const found = new Set(rows.map(({ meter }) => meter))
  t.ok(
    [...known].every((meter) => found.has(meter)),
    'no row is lost',
  )
  t.same(rows.filter(isOdd), [], 'none is doubled, and each is what was sent')
  const files = await readFiles()
  t.match(files, [{ status: 'published', rejected: '0', duplicate: '0' }])
  t.equal(files.length, 1, 'no file came in twice')
  t.comment(`${kills} kills; ${answered.length} calls answered with ${known.size} rows,
    ${open.length} not, with ${found.size - known.size} published rows; ${files[0]?.files} files`)

  for (const { meters } of open)
    t.equal((await push(gateways[meters.length % 2] as Gateway, meters)).status, 202)
  await untilRead(meters)
  await untilSettled()
  t.same((await readRows()).filter(isOdd), [], 'nor when they are pushed again')
})
