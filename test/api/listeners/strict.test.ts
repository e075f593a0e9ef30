import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { t } from 'tap'
import { serveStrictly } from '../../../api/listeners/strict.js'
import { resistSmuggling } from './smuggling.js'

t.test('a server of Node executes nothing of an ambiguous request or behind it', async (t) => {
  const paths: string[] = []
  const server = createServer({ requireHostHeader: false })
  serveStrictly(server, (request, response) => {
    paths.push(request.url ?? '')
    response.end('ok')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  await resistSmuggling(t, { port: (server.address() as AddressInfo).port, tls: undefined }, paths)
})
