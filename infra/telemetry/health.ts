import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { readCertificates } from '../../api/listeners/certificates.js'
import { createRenewal } from '../../api/listeners/renewal.js'
import { Fault } from '../../schemas/fault.js'
import type { OperationsSettings } from '../../schemas/settings/worker.js'
import { within } from '../metrics/look.js'

export interface HealthOptions {
  readonly host: string
  readonly port: number
  /** The setting of the profile that names them, for the fault. */
  readonly setting: string
  /** Faults while the service cannot do its work. */
  readonly ready: () => Promise<void>
  /** What Prometheus is told. */
  readonly metrics: Scrape
  /** Answers whatever is none of these. */
  readonly page?: (request: IncomingMessage, response: ServerResponse) => void
  /** HTTPS; plain without. */
  readonly tls?: HealthTls | undefined
}

/** Certificate files, which are looked at anew, and who hears where new ones are of no use. */
export interface HealthTls {
  readonly files: NonNullable<OperationsSettings['tls']>
  readonly everyMs: number
  readonly onFailure: (fault: Fault) => void
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
 * can do its work, else within 4 seconds 503 with the fault's code, `/metrics` tells Prometheus;
 * these name nobody and are told to whoever reaches the port. Throws `PORT_TAKEN`, or `LISTENER` for a certificate.
 */
export async function createHealth(options: HealthOptions): Promise<Health> {
  const { host, port, ready, metrics } = options
  let isDraining = false
  const readiness = async (): Promise<readonly [number, object]> => {
    if (isDraining) return [503, { status: 'stopping' }]
    try {
      await within(ready())
      return [200, { status: 'ready' }]
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return [503, { status: 'not ready', code: error.code }]
    }
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
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
    else if (options.page !== undefined) options.page(request, response)
    else answer([404, {}])
  }
  const { server, renewal } = createServing(options, serve)
  server.listen({ host, port })
  await once(server, 'listening').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException
    const detail = `${options.setting}: ${host}:${port} cannot be had (${code})`
    const todo = 'name another in the profile, or stop what listens there'
    throw new Fault('PORT_TAKEN', `${detail}; ${todo}`, { cause })
  })
  const place = server.address()
  const taken = typeof place === 'object' && place !== null ? place.port : port
  return {
    address: `${options.tls === undefined ? 'http' : 'https'}://${host}:${taken}`,
    drain: () => {
      isDraining = true
    },
    close: async () => {
      renewal?.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const minVersion = 'TLSv1.2'

/**
 * The server that the port has. A client may show a certificate; whether it has to is the page's to
 * say, not that of a probe. Renewed files are taken without a restart, and those who are connected
 * stay so.
 */
function createServing(
  { tls, setting }: Pick<HealthOptions, 'tls' | 'setting'>,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
) {
  if (tls === undefined) return { server: createServer(serve) }
  const { files, everyMs, onFailure } = tls
  const read = () => ({ ...readCertificates(files, `${setting}.tls`), minVersion }) as const
  const asks = files.clientCaFile !== undefined && { requestCert: true, rejectUnauthorized: false }
  const server = createTlsServer({ ...read(), ...asks }, serve)
  const renew = async () => server.setSecureContext(read())
  const looked = Object.values(files).filter((file) => file !== undefined)
  const renewal = createRenewal({ renew, files: looked, everyMs, onFailure })
  return { server, renewal }
}
