import { once } from 'node:events'
import { createServer } from 'node:http'
import { Fault } from '../schemas/fault.js'

export interface HealthOptions {
  readonly host: string
  readonly port: number
  /** Faults while the service cannot do its work. */
  readonly ready: () => Promise<void>
}

export interface Health {
  readonly address: string
  /** From now on not ready, so that a balancer sends nothing more. */
  drain(): void
  close(): Promise<void>
}

/**
 * The operations port: `/health/live` answers 200 while the process turns, `/health/ready` while it
 * can do its work, else 503 with the fault's code. Throws `PORT_TAKEN`.
 */
export async function createHealth({ host, port, ready }: HealthOptions): Promise<Health> {
  let isDraining = false
  const readiness = async (): Promise<readonly [number, object]> => {
    if (isDraining) return [503, { status: 'stopping' }]
    try {
      await ready()
      return [200, { status: 'ready' }]
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return [503, { status: 'not ready', code: error.code }]
    }
  }
  const server = createServer((request, response) => {
    const answer = ([status, body]: readonly [number, object]) => {
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (request.url === '/health/live') answer([200, { status: 'live' }])
    else if (request.url === '/health/ready') void readiness().then(answer)
    else answer([404, {}])
  })
  server.listen({ host, port })
  await once(server, 'listening').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('PORT_TAKEN', `gateway.operations: ${host}:${port} cannot be had (${code})`, {
      cause,
    })
  })
  const place = server.address()
  const taken = typeof place === 'object' && place !== null ? place.port : port
  return {
    address: `http://${host}:${taken}`,
    drain: () => {
      isDraining = true
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
