import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Replica, replicas } from '../../../test/rig/replicas/start.js'

export interface FailOver {
  /** Of the proxy, without credentials. */
  readonly url: string
  /** Sends requests to the other replica, and cuts all connections; statements there go on. */
  failOver(): void
  close(): Promise<void>
}

/** A proxy before the two replicas of one engine. Each is a database of it, so that it changes that name. */
export async function createFailOver(engineUrl: string): Promise<FailOver> {
  let current: Replica = replicas[0]
  const forward = (incoming: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(incoming.url ?? '/', engineUrl)
    const named = url.searchParams.get('database')
    if (replicas.some((one) => one === named)) url.searchParams.set('database', current)
    const { method, headers } = incoming
    const outgoing = request(url, { method, headers: { ...headers, connection: 'close' } })
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    outgoing.on('error', () => response.destroy())
    incoming.on('error', () => undefined)
    // A body that was cut must not count as a whole one.
    incoming.on('close', () => !incoming.complete && outgoing.destroy())
    incoming.pipe(outgoing)
  }
  const server = createServer({ maxHeaderSize: 1024 * 1024, requestTimeout: 0 }, forward)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    failOver: () => {
      current = current === 'r1' ? 'r2' : 'r1'
      server.closeAllConnections()
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
