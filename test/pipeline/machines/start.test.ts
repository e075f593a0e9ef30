import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pino } from 'pino'
import t from 'tap'
import { createRedis } from '../../../infra/redis/start.js'
import { openHome } from '../../../infra/stack/home.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { createWorker } from '../../../pipeline/worker.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { anyPort } from '../../rig/any-port.js'
import { createFolder } from '../../rig/folder.js'
import { migratedStore } from '../customers/registering.js'

const store = await migratedStore(t)
const redis = await onFreePort(anyPort(), (port) =>
  createRedis({ dataPath: createFolder(t), port, password: 'secret' }),
)
t.teardown(() => redis.close())

let isReady: () => void = () => undefined
const ready = new Promise<void>((resolve) => {
  isReady = resolve
})
let held = 0
/** Holds back what a sweep asks of the ledger until the worker is ready. */
const proxy = createServer(async (from, to) => {
  const body = await buffer(from)
  const { url = '', method = 'POST', headers } = from
  if (`${decodeURIComponent(url)}${body}`.includes('settled_at IS NULL')) {
    held++
    await ready
  }
  const call = request(store.address.url + url, { method, headers }, (answer) => {
    answer.pipe(to.writeHead(answer.statusCode ?? 500, answer.headers))
  })
  call.on('error', () => to.destroy())
  call.end(body)
}).listen(0, '127.0.0.1')
await once(proxy, 'listening')
t.teardown(() => {
  proxy.closeAllConnections()
  proxy.close()
})

t.test('a worker is ready before it has looked through all files of a backlog', async (t) => {
  const { machine, ...folders } = openHome(join(createFolder(t), 'home'))
  const { port } = proxy.address() as AddressInfo
  const worker = await createWorker({
    profile: parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' }),
    folders,
    machine,
    store: { ...store.address, url: `http://127.0.0.1:${port}` },
    redisUrl: redis.url,
    secret: () => '',
    log: pino({ level: 'silent' }),
  })
  t.ok(held > 0, 'its first sweep runs')
  isReady()
  await worker.close()
})
