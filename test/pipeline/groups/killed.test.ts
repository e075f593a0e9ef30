import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { askRedis } from '../../../infra/redis/ask.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { sample } from '../../rig/sample.js'
import { header, until } from '../../story/rig/stack.js'
import { migratedStore } from '../customers/registering.js'
import { createBroker } from '../queues/broker.js'

const folder = createFolder(t)
const inbox = join(folder, 'inbox')
mkdirSync(inbox)
const profile = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  sources: [{ kind: 'folder', name: 'inbox', path: inbox, pollSeconds: 1 }],
  limits: { freeDiskBytesMin: '0 B' },
})
const store = await migratedStore(t)
const { redis } = await createBroker(t)

let worker: ChildProcess | undefined
/** The write of a group at which the worker is killed, and whether the store still carries it out. */
let death: { readonly at: number; readonly isCarriedOut: boolean } | undefined
let writes = 0

/** Between worker and store: it kills the worker at a write of one of the jobs of groups. */
const proxy = createServer(async (incoming, answer) => {
  const body = await buffer(incoming)
  const url = new URL(incoming.url ?? '/', store.address.url)
  const job = url.searchParams.get('query_id') ?? ''
  const text = `${url.searchParams.get('query') ?? ''} ${body.subarray(0, 200)}`
  const isWrite = /^\s*(INSERT|ALTER|CREATE|DROP)\b/i.test(text)
  const isOfGroup = /:(gather|load|reconcile|settle)\b/.test(job)
  const isLast = isWrite && isOfGroup && death !== undefined && ++writes === death.at
  const kill = () => worker?.kill('SIGKILL')
  if (isLast && death?.isCarriedOut === false) return void kill()
  const { method, headers } = incoming
  const forwarded = request(url, { method, headers }, (response) => {
    if (isLast) response.resume().once('end', kill)
    else response.pipe(answer.writeHead(response.statusCode ?? 500, response.headers))
  })
  forwarded.on('error', () => answer.destroy())
  forwarded.end(body)
})
proxy.listen(0, '127.0.0.1')
await once(proxy, 'listening')
t.teardown(() => {
  proxy.closeAllConnections()
  proxy.close()
})

const { port } = proxy.address() as AddressInfo
const program = fileURLToPath(new URL('../machines/worker-process.js', import.meta.url))
const shared = JSON.stringify({
  profile,
  store: { ...store.address, url: `http://127.0.0.1:${port}` },
  redisUrl: redis.url,
})

async function start(): Promise<ChildProcess> {
  worker = fork(program, [join(folder, 'home'), shared])
  await once(worker, 'message')
  return worker
}
t.teardown(() => worker?.kill('SIGKILL'))

const hours = Array.from({ length: 24 }, (_, hour) => hour)
const filesOfRound = 6

/** Files of a meter each; the last has a row that is rejected. */
function send(round: string): void {
  for (let at = 0; at < filesOfRound; at++) {
    const meter = `M${round}${at}`
    const rows = hours.map((hour) => {
      const quantity = at === filesOfRound - 1 && hour === 5 ? 'x' : '1.5'
      return `A,S,${meter},2/1/2026 ${hour}:00,${quantity}`
    })
    const path = join(inbox, `DEMO_02022026_Electric_${round}${at}.csv`)
    writeFileSync(path, `${[header, ...rows].join('\n')}\n`)
    writeFileSync(`${path}.done`, '')
  }
}

async function readEnds(round: string): Promise<unknown> {
  const parameters = { files: `DEMO_02022026_Electric_${round}_.csv`, meters: `M${round}_` }
  const arrivals = 'arrival IN (SELECT arrival FROM arrival WHERE name LIKE {files:String})'
  const read = (sql: string) => store.rows({ sql, parameters })
  return {
    states: await read(`SELECT status, rows_read, rows_accepted, rows_rejected FROM file_state FINAL
      WHERE ${arrivals} AND settled_at IS NOT NULL ORDER BY file_name`),
    reads:
      await read(`SELECT count() AS rows, uniqExact(version) AS versions, sum(quantity) AS quantity
      FROM usage_read WHERE meter_id LIKE {meters:String}`),
    numbers: await read(`SELECT count() AS numbers FROM publication WHERE ${arrivals}`),
    rejects: await read(`SELECT line, code FROM reject FINAL WHERE ${arrivals}`),
  }
}

const isSettled = async (round: string) =>
  ((await readEnds(round)) as { states: unknown[] }).states.length === filesOfRound

let expected: unknown
t.test('the files are a group', async (t) => {
  const child = await start()
  send('900')
  await until(() => isSettled('900'))
  expected = await readEnds('900')
  const [row] = await store.rows<{ groups: string }>({
    sql: 'SELECT countIf(group_id > 0) AS groups FROM file_state',
  })
  t.ok(Number(row?.groups) > 0)
  t.match(expected, { reads: [{ rows: '143', versions: '143' }], numbers: [{ numbers: '6' }] })
  child.kill('SIGKILL')
  await once(child, 'exit')
})

const moments = sample({
  short: [5, 18],
  long: Array.from({ length: 60 }, (_, index) => index + 1),
})

t.test(
  'a worker that is killed at a write of a group loses, doubles and halves nothing',
  async (t) => {
    let kills = 0
    for (const [index, at] of moments.entries()) {
      const round = String(100 + at)
      const child = await start()
      const ended = once(child, 'exit')
      writes = 0
      death = { at, isCarriedOut: index % 2 === 1 }
      send(round)
      await Promise.race([ended, until(() => isSettled(round))])
      death = undefined
      if (child.signalCode === 'SIGKILL') kills++
      child.kill('SIGKILL')
      await ended
      const seen = await store.rows<{ rows: string }>({
        sql: `SELECT count() AS rows FROM usage WHERE meter_id LIKE 'M${round}_' GROUP BY meter_id`,
      })
      t.ok(
        seen.every(({ rows }) => rows === '24' || rows === '23'),
        'no file is half seen',
      )
      // Without the locks of the dead one, which another worker would wait for.
      await askRedis(redis.url, 'FLUSHALL')
      const next = await start()
      await until(() => isSettled(round))
      t.strictSame(await readEnds(round), expected, `killed at write ${at}`)
      const over = once(next, 'exit')
      next.kill('SIGKILL')
      await over
    }
    t.ok(kills > 1, `${kills} kills at ${moments.length} writes`)
  },
)
