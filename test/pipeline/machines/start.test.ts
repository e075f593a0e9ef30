import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { migratedStore } from '../customers/registering.js'
import { createBroker } from '../queues/broker.js'
import { startWorker } from './worker.js'

const store = await migratedStore(t)
const { redis } = await createBroker(t)

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
  const { port } = proxy.address() as AddressInfo
  const worker = await startWorker(t, {
    profile: parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' }),
    store: { ...store.address, url: `http://127.0.0.1:${port}` },
    redisUrl: redis.url,
  })
  t.ok(held > 0, 'its first sweep runs')
  isReady()
  await worker.close()
})
