import { once } from 'node:events'
import { createServer } from 'node:http'
import { Fault } from '../schemas/fault.js'

export interface HealthOptions {
  readonly host: string
  readonly port: number
  /** The setting of the profile that names them, for the fault. */
  readonly setting: string
  /** Faults while the service cannot do its work. */
  readonly ready: () => Promise<void>
  /** What Prometheus is told. */
  readonly metrics: Scrape
}

/** The answer to a scrape; it does not reject for what it cannot ask. */
export interface Scrape {
  readonly type: string
  text(): Promise<string>
}

export interface Health {
  readonly address: string
  /** From now on not ready, so that a balancer sends nothing more. */
  drain(): void
  close(): Promise<void>
}

/**
 * The operations port: `/health/live` answers 200 while the process turns, `/health/ready` while it
 * can do its work, else 503 with the fault's code, `/metrics` tells Prometheus. Throws `PORT_TAKEN`.
 */
export async function createHealth(options: HealthOptions): Promise<Health> {
  const { host, port, ready, metrics } = options
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
    const send = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'Content-Type': type })
      response.end(body)
    }
    const answer = ([status, body]: readonly [number, object]) => {
      send(status, 'application/json', JSON.stringify(body))
    }
    const tell = (body: string) => send(200, metrics.type, body)
    if (request.url === '/health/live') answer([200, { status: 'live' }])
    else if (request.url === '/health/ready') void readiness().then(answer)
    else if (request.url === '/metrics') void metrics.text().then(tell)
    else answer([404, {}])
  })
  server.listen({ host, port })
  await once(server, 'listening').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('PORT_TAKEN', `${options.setting}: ${host}:${port} cannot be had (${code})`, {
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
