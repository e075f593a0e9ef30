import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import {
  type AddressInfo,
  createServer as createRawServer,
  type Server,
  type Socket,
} from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Test, t } from 'tap'
import { createHttpClient, type HttpClientOptions } from '../../api/http-client.js'

/** A client, and the URL of a server that it may ask. */
async function connect(t: Test, server: Server, more: Partial<HttpClientOptions> = {}) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = createHttpClient({
    fault: 'CIS_UNREACHABLE',
    name: 'the CIS',
    timeoutMs: 20_000,
    connectionsMax: 10,
    answerBytesMax: 100,
    ...more,
  })
  t.teardown(() => {
    client.close()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { client, url: `http://127.0.0.1:${port}` }
}

t.test('a connection that the server closed while it was idle fails no question', async (t) => {
  const served = new WeakSet<Socket>()
  let arrived = 0
  const server = createServer(async (request, response) => {
    arrived++
    if (served.has(request.socket)) return void request.socket.destroy()
    served.add(request.socket)
    for await (const _ of request);
    while (arrived < 3) await new Promise((resolve) => setTimeout(resolve, 5))
    response.end('answered')
  })
  const { client, url } = await connect(t, server)
  t.teardown(() => server.closeAllConnections())
  const fillPool = async () => {
    arrived = 0
    await Promise.all([1, 2, 3].map(() => client.send({ method: 'GET', url })))
  }
  await fillPool()
  t.match(await client.send({ method: 'GET', url }), { status: 200, text: 'answered' })
  await fillPool()
  const question = { method: 'POST', url, body: 'token=x', isIdempotent: true } as const
  t.match(await client.send(question), { status: 200, text: 'answered' })
  await fillPool()
  await t.rejects(
    client.send({ method: 'POST', url, body: 'bind' }),
    { code: 'CIS_UNREACHABLE' },
    'what may have had its effect is not sent twice',
  )
})

t.test(
  'a server that changes the protocol unasked fails the call, and does not hold it',
  async (t) => {
    const server = createRawServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
        )
      })
    })
    const { client, url } = await connect(t, server, { timeoutMs: 1_000 })
    const asked = client.send({ method: 'GET', url }).catch((error: unknown) => error)
    const outcome = await Promise.race([asked, sleep(10_000, 'still waiting', { ref: false })])
    t.match(outcome, { code: 'CIS_UNREACHABLE' })
  },
)

t.test('an answer that comes compressed, unasked, is read, and within its limit', async (t) => {
  const bodies: Readonly<Record<string, Buffer>> = {
    '/whole': gzipSync('{"clientId":"é"}'),
    '/empty': Buffer.alloc(0),
    '/long': gzipSync('#'.repeat(101)),
    '/cut': gzipSync('{"clientId":"é"}').subarray(0, 20),
  }
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(bodies[url])
  })
  const { client, url } = await connect(t, server)
  const get = (path: string) => client.send({ method: 'GET', url: `${url}${path}` })
  t.match(await get('/whole'), { text: '{"clientId":"é"}', isUtf8: true, isWhole: true })
  t.match(await get('/empty'), { status: 200, text: '' })
  await t.rejects(get('/long'), { code: 'CIS_UNREACHABLE', message: /more than 100 bytes/ })
  await t.rejects(get('/cut'), { code: 'CIS_UNREACHABLE' })
})

t.test('a byte order mark in front of an answer is left out', async (t) => {
  const server = createServer((_, response) => void response.end('\uFEFF{}'))
  const { client, url } = await connect(t, server)
  t.match(await client.send({ method: 'GET', url }), { text: /^\{\}$/, isUtf8: true })
})

t.test('calls that waited are not sent all at once when many responses come at once', async (t) => {
  const connectionsMax = 64
  const held: (() => void)[] = []
  const server = createServer((_, response) => {
    held.push(() => response.end('answered'))
    if (held.length === connectionsMax) for (const answer of held.splice(0)) answer()
  })
  const { client, url } = await connect(t, server, { connectionsMax, mayQueue: true })
  let [begun, most] = [0, 0]
  const count = () => void begun++
  subscribe('http.client.request.start', count)
  t.teardown(() => unsubscribe('http.client.request.start', count))
  let isOver = false
  const watch = () => {
    most = Math.max(most, begun)
    begun = 0
    if (!isOver) setImmediate(watch)
  }
  watch()
  const calls = Array.from({ length: 4 * connectionsMax }, () =>
    client.send({ method: 'GET', url }),
  )
  const responses = await Promise.all(calls)
  t.ok(responses.every(({ status }) => status === 200))
  isOver = true
  t.ok(most <= 8, `${most} in a turn`)
})
