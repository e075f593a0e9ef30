import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import { createSecureContext, type TLSSocket } from 'node:tls'
import { Fault } from '../../schemas/fault.js'
import type { GatewayLimits, MutualSettings } from '../../schemas/gateway-listener.js'
import type { GatewayResponse, Handle } from '../request.js'
import { createAllow } from './allow.js'
import { bodyOf } from './framing.js'
import type { Listener } from './listener.js'
import { createPace } from './pace.js'

export interface HttpsOptions {
  readonly settings: MutualSettings
  readonly limits: GatewayLimits
  readonly requestsPerSecondMax: number
  readonly handle: Handle
  readonly requestId: (given: string | undefined) => string
  readonly now: () => number
  readonly onFailure: (error: unknown, requestId: string) => void
}

const refuse = (status: number): GatewayResponse => ({ status, headers: [], body: '', id: '' })
const minVersion = 'TLSv1.2'

/**
 * Serves over node:https to clients that show a certificate of the trusted authority; the handshake
 * ends for any other. Throws `LISTENER` for bad files or a bad address, `PORT_TAKEN`.
 */
export async function createHttpsListener(options: HttpsOptions): Promise<Listener> {
  const { settings, limits } = options
  const allow = createAllow(settings.allow)
  const server = createServer({
    ...readFiles(settings),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.bodyMsMax,
    requestTimeout: limits.bodyMsMax * 2,
    connectionsCheckingInterval: 1_000,
    requireHostHeader: true,
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    if (!allow(socket.remoteAddress ?? '')) socket.destroy()
  })
  const serve = createServe(options)
  let isClosing = false
  server.on('request', (request, response) => void serve(request, response, () => isClosing))
  server.listen({ host: settings.host, port: settings.port })
  await once(server, 'listening').catch((cause: unknown) => {
    throw toFault(settings, cause)
  })
  const place = server.address()
  const port = typeof place === 'object' && place !== null ? place.port : settings.port
  return {
    address: `https://${settings.host}:${port}`,
    port,
    renewCertificate: async () => server.setSecureContext({ ...readFiles(settings), minVersion }),
    close: async () => {
      isClosing = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const late = setTimeout(() => server.closeAllConnections(), limits.stopMsMax)
      await closed
      clearTimeout(late)
    },
  }
}

type Serve = (
  request: IncomingMessage,
  response: ServerResponse,
  isClosing: () => boolean,
) => Promise<void>

function createServe(options: HttpsOptions): Serve {
  const { limits, handle, requestId, onFailure } = options
  const pace = createPace(options.requestsPerSecondMax, options.now)
  const answer = async (request: IncomingMessage): Promise<GatewayResponse> => {
    const headers = toHeaders(request.rawHeaders)
    const id = requestId(headers.get('x-request-id'))
    try {
      if (!pace(() => request.socket.remoteAddress ?? '')) return refuse(429)
      const framing = bodyOf(headers, limits.bodyBytesMax)
      if (framing.kind === 'refused') return refuse(framing.status)
      const body = framing.kind === 'body' ? await readBody(request, limits) : ''
      if (typeof body !== 'string') return body
      const [path = ''] = (request.url ?? '').split('?')
      return await handle({ method: request.method ?? '', path, headers, body, id, isMutual: true })
    } catch (error) {
      onFailure(error, id)
      return refuse(500)
    }
  }
  return async (request, response, isClosing) => {
    const { status, headers, body, id } = await answer(request)
    if (response.destroyed || response.socket?.destroyed) return
    const isCut = !request.complete
    if (isCut || isClosing()) response.setHeader('Connection', 'close')
    response.statusCode = status
    for (const [name, value] of headers) response.setHeader(name, value)
    if (id !== '') response.setHeader('X-Request-Id', id)
    response.setHeader('Content-Length', Buffer.byteLength(body))
    response.end(body)
    if (isCut) response.once('finish', () => request.socket.destroySoon())
  }
}

/** The body, or what is answered where it is too long or too late. */
async function readBody(
  request: IncomingMessage,
  { bodyBytesMax, bodyMsMax }: GatewayLimits,
): Promise<string | GatewayResponse> {
  const pieces: Buffer[] = []
  let bytes = 0
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(refuse(408)), bodyMsMax)
    const end = (outcome: string | GatewayResponse) => {
      clearTimeout(late)
      resolve(outcome)
    }
    request.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bodyBytesMax) {
        request.pause()
        return end(refuse(413))
      }
      pieces.push(piece)
    })
    request.once('end', () => end(Buffer.concat(pieces).toString('utf8')))
    request.once('error', () => end(refuse(400)))
    request.once('close', () => end(refuse(400)))
  })
}

/** Fields that came twice are joined, as the other listener does. */
function toHeaders(raw: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    const value = raw[at + 1] ?? ''
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return headers
}

function readFiles({ tls }: MutualSettings): Pick<ServerOptions, 'cert' | 'key' | 'ca'> {
  try {
    const cert = readFileSync(tls.certFile)
    const key = readFileSync(tls.keyFile)
    const ca = readFileSync(tls.clientCaFile)
    createSecureContext({ cert, key, ca })
    return { cert, key, ca }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('LISTENER', `certificates of gateway.mutual cannot be used: ${reason}`, {
      cause,
    })
  }
}

function toFault({ host, port }: MutualSettings, cause: unknown): Fault {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    return new Fault('PORT_TAKEN', `another program listens on ${host}:${port}`, { cause })
  }
  return new Fault('LISTENER', `nothing can listen on ${host}:${port} (${code})`, { cause })
}
