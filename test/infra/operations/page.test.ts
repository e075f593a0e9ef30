import { once } from 'node:events'
import {
  type AddressInfo,
  connect,
  createServer as createServerOfSockets,
  type Socket,
} from 'node:net'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { FileContext } from '../../../infra/operations/file.js'
import type { PanelUpdate } from '../../../infra/operations/live.js'
import { createOperationsPage } from '../../../infra/operations/operations.js'
import { openHome } from '../../../infra/stack/home.js'
import { createHealth } from '../../../infra/telemetry/health.js'
import { Fault } from '../../../schemas/fault.js'
import { createFolder } from '../../rig/folder.js'
import { storyProfile, until } from '../../story/rig/stack.js'
import { createStand } from './stand.js'

/** The raw response to a request target that no URL parser has normalized. */
async function get(port: number, target: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const bytes of socket) text += String(bytes)
  return text
}

t.test('an invalid path is not found, and an unauthorized client only gets 401', async (t) => {
  for (const target of ['//', 'http://[', '//page:99999/']) {
    const { port, failures } = await createStand(t)
    t.match(await get(port, target), /^HTTP\/1.1 404 /, target)
    const shut = await createStand(t, {
      admit: async () => ({ status: 401, text: 'user name and password required' }),
    })
    t.match(await get(shut.port, target), /^HTTP\/1.1 401 .*WWW-Authenticate: Basic/s, target)
    t.same([...failures, ...shut.failures], [])
  }
})

t.test('a browser or proxy stores only the static files of the page', async (t) => {
  const { port } = await createStand(t)
  t.match(await get(port, '/queues/api/queues'), /Cache-Control: no-store/)
  t.match(await get(port, '/nothing'), /Cache-Control: no-store/)
  t.match(await get(port, '/page.css'), /Cache-Control: no-cache/)
})

t.test('a watcher that does not read its updates is disconnected', async (t) => {
  let hasLeft = false
  const figures = 'x'.repeat(1_000_000)
  const watch = (onUpdate: (update: PanelUpdate) => void) => {
    const timer = setInterval(() => onUpdate({ name: 'files', at: '', figures }), 1)
    return () => {
      clearInterval(timer)
      hasLeft = true
    }
  }
  const { port } = await createStand(t, { watch })
  const socket = connect(port, '127.0.0.1').pause()
  t.teardown(() => socket.destroy())
  socket.write('GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  while (!hasLeft) await sleep(5)
  t.ok(hasLeft)
})

t.test('a watcher whose session has ended is disconnected', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let holds = true
  const { port } = await createStand(t, { admit: async () => ({ who: 'ann', holds: () => holds }) })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  let text = ''
  socket.on('data', (bytes) => {
    text += String(bytes)
  })
  const ended = once(socket, 'end')
  await until(() => text.includes('retry: 2000'))
  mock.timers.tick(15_000)
  await until(() => text.includes('\n:\n'))
  holds = false
  mock.timers.tick(15_000)
  await ended
})

t.test('servers that accept requests and never answer do not block the page', async (t) => {
  const sockets = new Set<Socket>()
  const silent = createServerOfSockets((socket) => sockets.add(socket.on('error', () => undefined)))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const store = { url: `http://127.0.0.1:${port}`, username: 'u', password: 'p', database: 'd' }
  const { page, close } = createOperationsPage({
    profile: storyProfile(),
    folders: openHome(createFolder(t)),
    redisUrl: `redis://127.0.0.1:${port}`,
    store,
    onFailure: () => undefined,
  })
  const health = await createHealth({
    host: '127.0.0.1',
    port: 0,
    setting: 'worker.operations',
    ready: () => new Promise(() => undefined),
    metrics: { type: 'text/plain', text: async () => '' },
    page,
  })
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    silent.close()
    await health.close()
    await close()
  })
  const say = async (path: string) => {
    const answer = await fetch(`${health.address}${path}`)
    return [answer.status, await answer.json()]
  }
  const said = await Promise.all(['/queues/api/queues', '/files/1', '/health/ready'].map(say))
  // Silence is that of a busy server for its first 30 seconds.
  t.match(said, [
    [503, { code: 'QUEUE_UNREACHABLE' }],
    [503, { code: 'STORE_BUSY' }],
    [503, { status: 'not ready', code: 'OVERLOAD' }],
  ])
})

t.test('a fault of the store is shown without its statement', async (t) => {
  const refused = async () => {
    throw new Fault('STORE_REFUSED', 'NO_ACCESS (497); in: SELECT secret FROM t')
  }
  const context = { ledger: { arrival: refused, state: refused } } as unknown as FileContext
  const { port } = await createStand(t, { context })
  const answer = await get(port, '/files/1')
  t.match(answer, /^HTTP\/1.1 503 .*"code":"STORE_REFUSED"/s)
  t.notMatch(answer, /SELECT|secret/)
})
