import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { t } from 'tap'
import { createHttpClient } from '../../api/http-client.js'

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
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = createHttpClient({
    fault: 'CIS_UNREACHABLE',
    name: 'the CIS',
    timeoutMs: 20_000,
    connectionsMax: 10,
    answerBytesMax: 100,
  })
  t.teardown(() => {
    client.close()
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
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
