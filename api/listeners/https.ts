import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { TLSSocket } from 'node:tls'
import type { GatewayLimits, MutualSettings } from '../../schemas/settings/gateway-listener.js'
import type { GatewayResponse, IsStreamed } from '../request.js'
import { createAllow } from './allow.js'
import { readCertificates } from './certificates.js'
import { createAccept } from './clients.js'
import { createDrain } from './https-drain.js'
import {
  type Listener,
  type ListenerOptions,
  piecesMaxOf,
  toAuthority,
  toListenFault,
} from './listener.js'
import { createRateLimit, paceHandshakes, senderOf } from './pace.js'
import { framingOfRequest, readFields, serveAll } from './strict.js'

export interface HttpsOptions extends ListenerOptions<MutualSettings> {
  /** Which request bodies are streamed to the handler; none by default. */
  readonly isStreamed?: IsStreamed
  /** Lets clients without a certificate in: they reach login and customer, never bind. */
  readonly certificates?: 'required' | 'optional'
}

const minVersion = 'TLSv1.2'
/** A client that takes nothing of its answer for this long is disconnected, as uWebSockets.js does. */
const stalledMsMax = 10_000

/**
 * Serves HTTPS to clients with a certificate of the trusted authority, and with `optional` to clients
 * without any. A certificate of another authority is always refused. Throws `LISTENER` for unusable files or
 * addresses, and `PORT_TAKEN`.
 */
export async function createHttpsListener(options: HttpsOptions): Promise<Listener> {
  const { settings, limits, certificates: wanted = 'required' } = options
  const allow = createAllow(settings.allow)
  const accept = createAccept({
    clients: settings.clients,
    setting: 'gateway.mutual.clients',
    isRequired: wanted === 'required',
    onRefused: (fault) => options.onFailure(fault, ''),
  })
  const certificates = () => readCertificates(settings.tls, 'gateway.mutual.tls')
  const server = createServer({
    ...certificates(),
    requestCert: true,
    // Refused by `accept`, which reports them.
    rejectUnauthorized: false,
    minVersion,
    maxHeaderSize: limits.headerBytesMax,
    handshakeTimeout: limits.bodyMsMax,
    headersTimeout: limits.bodyMsMax,
    requestTimeout: 0,
    connectionsCheckingInterval: 1_000,
    // Node goes on with the next request after answering this one; framing.ts refuses it.
    requireHostHeader: false,
  })
  server.maxConnections = limits.connectionsMax
  paceHandshakes(server)
  server.on('secureConnection', (socket: TLSSocket) => {
    if (!accept(socket) || !allow(socket.remoteAddress ?? '')) socket.destroy()
  })
  answerMalformed(server, options)
  const serve = createServe(options)
  const drain = createDrain(server, limits.stopMsMax)
  serveAll(server, (request, response) => {
    // What had arrived with the handshake of a client that is turned away.
    const { socket } = request
    if (!socket.destroyed) void serve(request, response, () => drain.isClosing(socket))
  })
  server.listen({ host: settings.host, port: settings.port })
  await once(server, 'listening').catch((cause: unknown) => {
    throw toListenFault(settings, cause)
  })
  const place = server.address()
  const port = typeof place === 'object' && place !== null ? place.port : settings.port
  return {
    address: `https://${toAuthority({ ...settings, port })}`,
    port,
    renewCertificate: async () => {
      const renewed = certificates()
      server.setSecureContext({ ...renewed, minVersion })
      // A connection lasts longer than the certificate that opened it.
      if (renewed.crl !== undefined) drain.replaceConnections()
    },
    close: drain.close,
  }
}

type Serve = (
  request: IncomingMessage,
  response: ServerResponse,
  isClosing: () => boolean,
) => Promise<void>

function createServe(options: HttpsOptions): Serve {
  const { limits, handle, refuse, isStreamed = () => false, requestId, onFailure } = options
  const { isTraced = false } = options
  const pace = createRateLimit(options.requestsPerSecondMax)
  const refused = new WeakSet<Socket>()
  const answer = async (request: IncomingMessage): Promise<GatewayResponse> => {
    const startedAt = performance.now()
    const fields = readFields(request)
    const { authorization } = fields
    const at = { id: requestId(fields.requestId), startedAt }
    try {
      if (!pace(startedAt, () => senderOf(request.socket.remoteAddress ?? '')))
        return refuse(429, at)
      const [path = '', ...query] = (request.url ?? '').split('?')
      const field = (name: string) => only(request.headersDistinct[name])
      const method = request.method ?? ''
      const traceparent = isTraced ? field('traceparent') : undefined
      const asked = {
        ...at,
        method,
        path,
        query: method === 'GET' ? query.join('?') : undefined,
        authorization,
        field,
        traceparent,
        isMutual: isProven(request),
      }
      const streamed = isStreamed(asked)
      const bodyBytesMax = streamed ? Number.MAX_SAFE_INTEGER : limits.bodyBytesMax
      const framing = framingOfRequest(request, fields, bodyBytesMax)
      if (framing.kind === 'refused') {
        refused.add(request.socket)
        return refuse(framing.status, at)
      }
      if (streamed) {
        const stream = readStream(request, limits)
        return await handle({ ...asked, body: '', stream, isComplete: () => request.complete })
      }
      const body = framing.kind === 'body' ? await readBody(request, limits) : ''
      if (typeof body !== 'string') return refuse(body, at)
      return await handle({ ...asked, body })
    } catch (error) {
      onFailure(error, at.id)
      return refuse(500, at)
    }
  }
  return async (request, response, isClosing) => {
    // What follows a refused request may be a part of its body.
    if (refused.has(request.socket)) return
    const { status, headers, body, stream, id } = await answer(request)
    if (response.destroyed || response.socket?.destroyed) {
      stream?.destroy()
      return
    }
    const isCut = !request.complete
    if (isCut || isClosing() || refused.has(request.socket))
      response.setHeader('Connection', 'close')
    response.statusCode = status
    for (const [name, value] of headers) response.setHeader(name, value)
    response.setHeader('X-Request-Id', id)
    response.setTimeout(stalledMsMax, () => {
      // One that has taken all that there is waits for us.
      if (response.writableLength > 0) request.socket.destroy()
      else response.setTimeout(stalledMsMax)
    })
    // A stream that fails destroys the response, so that nobody takes a part of the body for the whole.
    if (stream !== undefined) return pipeline(stream, response).catch(() => undefined)
    if (status !== 304) response.setHeader('Content-Length', Buffer.byteLength(body))
    if (!isCut) return void response.end(body)
    response.flushHeaders()
    response.write(body, () => closeSlowly(request.socket, limits.bodyMsMax))
  }
}

/**
 * Closes a connection whose client may still be sending. Closed at once it would be reset, and the client could
 * lose its answer (RFC 9112, section 9.6): what comes is dropped until the client closes, or `msMax` are over.
 */
function closeSlowly(socket: Socket, msMax: number): void {
  detachParser(socket)
  socket.removeAllListeners('data')
  socket.resume()
  socket.end()
  const late = setTimeout(() => socket.destroy(), msMax)
  socket.once('close', () => clearTimeout(late))
}

/** `authorized` alone is also true for a resumed TLS 1.3 session of a client without a certificate. */
function isProven({ socket }: IncomingMessage): boolean {
  const { authorized, getPeerX509Certificate } = socket as TLSSocket
  return authorized && getPeerX509Certificate.call(socket) !== undefined
}

function only(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 ? values[0] : undefined
}

/**
 * Streams the body. The stream ends early if the client disconnects or stalls. A handler that stops
 * reading can still respond.
 */
async function* readStream(
  request: IncomingMessage,
  { bodyMsMax }: GatewayLimits,
): AsyncGenerator<Buffer> {
  request.setTimeout(bodyMsMax, () => request.destroy())
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  } catch (error) {
    if (!request.destroyed) throw error
  } finally {
    request.setTimeout(0)
  }
}

/** The body, or the status to send if it is too long, too late or incomplete. */
async function readBody(
  request: IncomingMessage,
  limits: GatewayLimits,
): Promise<string | 400 | 408 | 413> {
  const { bodyBytesMax, bodyMsMax } = limits
  const pieces: Buffer[] = []
  const piecesMax = piecesMaxOf(limits)
  let bytes = 0
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(408), bodyMsMax)
    const end = (outcome: string | 400 | 408 | 413) => {
      clearTimeout(late)
      resolve(outcome)
    }
    request.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bodyBytesMax) {
        request.pause()
        return end(413)
      }
      if (pieces.push(piece) > piecesMax) cutOff(request)
    })
    request.once('end', () => end(Buffer.concat(pieces).toString('utf8')))
    request.once('error', () => end(400))
    request.once('close', () => end(400))
  })
}

/** Ends the connection of a request. */
function cutOff(request: IncomingMessage): void {
  detachParser(request.socket)
  request.removeAllListeners('data')
  request.destroy()
}

/**
 * A socket with a listener of its own no longer feeds Node's parser directly, which would go on with all that
 * has arrived: thousands of pieces.
 */
function detachParser(socket: Socket): void {
  socket.on('data', () => undefined)
}

/** HTTP statuses of Node's parser errors; any other parser error is a 400. */
const statuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
}

/**
 * Answers input that never became a request: a header that is malformed, too long or too late. An
 * incomplete body is logged with its own request; here only the connection is closed.
 */
function answerMalformed(server: Server, { refuse, requestId }: HttpsOptions): void {
  const underWay = new WeakSet<Duplex>()
  server.on('request', ({ socket }, response) => {
    underWay.add(socket)
    response.once('close', () => underWay.delete(socket))
  })
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    const status = statuses[code] ?? (code.startsWith('HPE_') ? 400 : undefined)
    if (status === undefined || !socket.writable || underWay.has(socket)) {
      socket.destroy()
      return
    }
    const { id } = refuse(status, { id: requestId(undefined), startedAt: performance.now() })
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nX-Request-Id: ${id}\r\n` +
        'Connection: close\r\nContent-Length: 0\r\n\r\n',
    )
  })
}
