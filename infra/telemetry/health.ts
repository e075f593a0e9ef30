import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { readCertificates } from '../../api/listeners/certificates.js'
import { toAuthority, toListenFault } from '../../api/listeners/listener.js'
import { createRenewal } from '../../api/listeners/renewal.js'
import { serveStrictly } from '../../api/listeners/strict.js'
import type { SystemFailure } from '../../pipeline/ledger/systems.js'
import { Fault } from '../../schemas/fault.js'
import type { OperationsSettings } from '../../schemas/settings/worker.js'
import { withTimeout } from '../metrics/collect.js'

export interface HealthOptions {
  readonly host: string
  readonly port: number
  /** Profile setting of host and port, for error messages. */
  readonly setting: string
  /** Rejects while the service is not ready. */
  readonly ready: () => Promise<void>
  /** Systems of the utility that fail: a detail, which does not change whether it is ready. */
  readonly systems?: () => readonly SystemFailure[]
  /** The metrics for Prometheus. */
  readonly metrics: Scrape
  /** Answers all other paths. */
  readonly page?: (request: IncomingMessage, response: ServerResponse) => void
  /** Serves HTTPS if set, otherwise plain HTTP. */
  readonly tls?: HealthTls | undefined
}

/** Certificate files, how often they are checked for changes, and who is notified of unusable ones. */
export interface HealthTls {
  readonly files: NonNullable<OperationsSettings['tls']>
  readonly everyMs: number
  readonly onFailure: (fault: Fault) => void
}

/** The response to a scrape; a source that is down is left out instead of failing the scrape. */
export interface Scrape {
  readonly type: string
  text(): Promise<string>
}

export interface Health {
  readonly address: string
  /** Reports not ready from now on, so that a load balancer stops sending requests. */
  drain(): void
  close(): Promise<void>
}

/**
 * The operations port. `/health/live` returns 200 while the process runs, `/health/ready` while it is
 * ready, otherwise 503 with the fault code within 4 seconds, and lists failing systems; `/metrics` serves Prometheus. These
 * contain no personal data and need no login. Throws `PORT_TAKEN`, or `LISTENER` for a certificate or address.
 */
export async function createHealth(options: HealthOptions): Promise<Health> {
  const { host, port, ready, metrics } = options
  let isDraining = false
  const readiness = async (): Promise<readonly [number, object]> => {
    if (isDraining) return [503, { status: 'stopping' }]
    const failing = options.systems?.().map(({ detail: _, ...one }) => one) ?? []
    const more = failing.length === 0 ? {} : { failing }
    try {
      await withTimeout(ready())
      return [200, { status: 'ready', ...more }]
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return [503, { status: 'not ready', code: error.code, ...more }]
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
    const sendMetrics = (body: string) => send(200, metrics.type, body)
    if (request.url === '/health/live') answer([200, { status: 'live' }])
    else if (request.url === '/health/ready') void readiness().then(answer)
    else if (request.url === '/metrics') void metrics.text().then(sendMetrics)
    else if (options.page !== undefined) options.page(request, response)
    else answer([404, {}])
  }
  const { server, renewal } = createServing(options, serve)
  server.listen({ host, port })
  await once(server, 'listening').catch((cause: unknown) => {
    throw toListenFault(options, cause)
  })
  const place = server.address()
  const taken = typeof place === 'object' && place !== null ? place.port : port
  return {
    address: `${options.tls === undefined ? 'http' : 'https'}://${toAuthority({ host, port: taken })}`,
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
 * The server of the port. Client certificates are optional here: only the page requires one, health
 * probes do not. Renewed files are loaded without a restart. Open connections stay open, unless there
 * is a list of revoked certificates, which may have opened them.
 */
function createServing(
  { tls, setting }: Pick<HealthOptions, 'tls' | 'setting'>,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const requireHostHeader = false
  if (tls === undefined) {
    const server = createServer({ requireHostHeader })
    serveStrictly(server, serve)
    return { server }
  }
  const { files, everyMs, onFailure } = tls
  const read = () => ({ ...readCertificates(files, `${setting}.tls`), minVersion }) as const
  const asks = files.clientCaFile !== undefined && { requestCert: true, rejectUnauthorized: false }
  const server = createTlsServer({ ...read(), ...asks, requireHostHeader })
  serveStrictly(server, serve)
  const renew = async () => {
    server.setSecureContext(read())
    if (files.crlFile !== undefined) server.closeAllConnections()
  }
  const looked = Object.values(files).filter((file) => file !== undefined)
  const renewal = createRenewal({ renew, files: looked, everyMs, onFailure })
  return { server, renewal }
}
