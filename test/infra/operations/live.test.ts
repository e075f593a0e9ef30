import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createLive, type PanelUpdate } from '../../../infra/operations/live.js'
import { createGatewayPanel } from '../../../infra/operations/panels/gateway.js'
import { parseGatewayScrape, rateBetween } from '../../../infra/operations/panels/scraped.js'
import { Fault } from '../../../schemas/fault.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import { until } from '../../story/rig/stack.js'

const judge = async (error: unknown) => error
const silent = { judge, onFailure: () => undefined }

t.test('each panel is queried once for all watchers, and never without watchers', async (t) => {
  let asked = 0
  const read = async () => ++asked
  const failures: unknown[] = []
  const failing = async () => {
    throw new Fault('STORE_UNREACHABLE', 'ClickHouse did not answer')
  }
  const panels = [
    { name: 'one', everyMs: 20, read },
    { name: 'away', everyMs: 20, read: failing },
  ]
  const live = createLive(panels, { judge, onFailure: (error) => failures.push(error) })
  t.teardown(live.close)
  await sleep(60)
  t.equal(asked, 0)
  const heard: PanelUpdate[][] = [[], [], []]
  const leave = heard.map((updates) => live.watch((one) => updates.push(one)))
  const figures = (updates: readonly PanelUpdate[] = []) =>
    updates.filter(({ name }) => name === 'one').map((one) => one.figures)
  await until(() => figures(heard[0]).length >= 3)
  t.same(figures(heard[1]), figures(heard[0]), 'all watchers get the same updates')
  t.equal(asked <= figures(heard[0]).length + 1, true)
  t.match(
    heard[0]?.find(({ name }) => name === 'away'),
    {
      fault: { code: 'STORE_UNREACHABLE', detail: /does not answer|Check that/ },
      figures: undefined,
    },
  )
  t.ok(failures.length > 0)
  const late: PanelUpdate[] = []
  leave.push(live.watch((one) => late.push(one)))
  t.ok(late.length >= 2, 'a later watcher gets the known updates at once')
  for (const go of leave) go()
  await sleep(40)
  const before = asked
  await sleep(80)
  t.equal(asked, before)
})

t.test('a returning watcher gets the known updates, and only due panels are queried', async (t) => {
  let asked = 0
  const live = createLive(
    [
      { name: 'slow', everyMs: 60_000, read: async () => ++asked },
      { name: 'quick', everyMs: 1, read: async () => 0 },
    ],
    silent,
  )
  t.teardown(live.close)
  const updates: PanelUpdate[] = []
  const onUpdate = (one: PanelUpdate) => void updates.push(one)
  const leave = live.watch(onUpdate)
  await until(() => asked === 1)
  leave()
  updates.length = 0
  t.teardown(live.watch(onUpdate))
  t.match(updates, [{ name: 'slow', figures: 1 }, { name: 'quick' }])
  await until(() => updates.length > 4)
  t.equal(asked, 1, 'its interval is not over')
})

t.test('a panel with a fault is queried again for the next watcher', async (t) => {
  let asked = 0
  const read = async () => {
    if (++asked === 1) throw new Fault('STORE_UNREACHABLE', 'ClickHouse did not answer')
    return asked
  }
  const live = createLive([{ name: 'away', everyMs: 60_000, read }], silent)
  t.teardown(live.close)
  const updates: PanelUpdate[] = []
  const leave = live.watch((one) => updates.push(one))
  await until(() => updates.length === 1)
  leave()
  t.teardown(live.watch((one) => updates.push(one)))
  await until(() => asked === 2)
})

const scraped = (ok: number, failed: number, fast: number) => `# TYPE tieline_requests_total counter
tieline_requests_total{route="login",status="200",error_code=""} ${ok}
tieline_requests_total{route="login",status="401",error_code="1"} ${failed}
tieline_request_seconds_bucket{le="0.001",route="login"} ${fast}
tieline_request_seconds_bucket{le="0.01",route="login"} ${ok + failed}
tieline_request_seconds_bucket{le="+Inf",route="login"} ${ok + failed}
`

t.test('a rate of the gateway is the difference between two scrapes', async (t) => {
  const before = parseGatewayScrape(scraped(10, 0, 10), 1_000_000)
  const now = parseGatewayScrape(scraped(100, 10, 70), 1_005_000)
  t.match(now.answers, [
    { route: 'login', status: '200', errorCode: '', requests: 100 },
    { route: 'login', status: '401', errorCode: '1', requests: 10 },
  ])
  t.same(rateBetween(before, now), { at: 1_005, perSecond: 20, median: 0.001, slow: 0.01 })
})

const sourceAt = (port: number, now = () => new Date()) => {
  const profile = { gateway: { operations: { host: '127.0.0.1', port } } } as Profile
  return { profile, now }
}

t.test('a restart and a time without scrapes have no rate', async (t) => {
  const seconds = [0, 5, 11, 60, 65, 70, 75, 90, 110, 115]
  const requests = [10, 30, 60, 900, 905, 950, 953, 954, 955, 957]
  // The restarted process has more requests than the one before, and a count that began at 0.
  const starts = [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
  let at = 0
  const server = createServer((_, response) => {
    response.end(`${scraped(requests[at] ?? 0, 0, 0)}process_start_time_seconds ${starts[at]}\n`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const read = createGatewayPanel(sourceAt(port, () => new Date((seconds[at] ?? 0) * 1_000)))
  for (; at < seconds.length - 1; at++) await read()
  const { moments } = await read()
  t.same(
    moments.map((one) => [one.at, one.perSecond]),
    [
      [0, null],
      [5, 4],
      [11, 5],
      [60, null],
      [65, 1],
      [70, null],
      [75, 0.6],
      [110, null],
      [115, 0.4],
    ],
  )
})

t.test('another server at the address of the gateway is not an idle gateway', async (t) => {
  const server = createServer((_, response) => response.writeHead(404).end('not here'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  await t.rejects(createGatewayPanel(sourceAt(port))(), { code: 'SOURCE_UNREACHABLE' })
})
