import { STATUS_CODES } from 'node:http'
import type { ListenSettings } from '../../schemas/settings/gateway-listener.js'
import type { GatewayRequest, GatewayResponse, Handle } from '../request.js'
import { type Allow, createAllow } from './allow.js'
import { createFieldReader, type FieldReader } from './fields.js'
import { framingOf } from './framing.js'
import { type ListenerOptions, piecesMaxOf } from './listener.js'
import { createRateLimit, type RateLimit, senderOfBytes } from './pace.js'
import { type Writing, writeStream } from './uws-stream.js'
import type { UwsRequest, UwsResponse } from './uws-types.js'

export type UwsOptions = ListenerOptions<ListenSettings>

/** Shared with the code that closes the listener. */
export interface ReceiveState {
  /** While true, each response closes its connection. */
  isClosing: boolean
  /** Requests without a written response. */
  inFlight: number
  /** When the latest response since `isClosing` was written, `performance.now()`. */
  lastAt: number
}

interface Exchange extends Writing {
  isAborted: boolean
}

/** A request that is answered in a later turn of the event loop. */
interface Open {
  readonly response: UwsResponse
  readonly request: GatewayRequest
  readonly exchange: Exchange
  /** Whether its answer closes the connection. */
  readonly isLast: boolean
}

/**
 * Captures a request before the callback returns, handles it and writes the response once:
 * immediately if the handler is synchronous, otherwise corked, and never after the client has left.
 * An incomplete body is logged as a 400 that nobody receives.
 */
export function createReceive(options: UwsOptions, state: ReceiveState) {
  const { handle, refuse, limits, onFailure, settings } = options
  const allow = settings.allow.length === 0 ? undefined : createAllow(settings.allow)
  const pace = createRateLimit(options.requestsPerSecondMax)
  const reader = createFieldReader()
  const finish = (response: UwsResponse, answer: GatewayResponse, closes = false) => {
    write(response, answer, closes || state.isClosing)
    if (state.isClosing) state.lastAt = performance.now()
  }
  const fail = (error: unknown, request: GatewayRequest): GatewayResponse => {
    onFailure(error, request.id)
    return refuse(500, request)
  }
  const attempt: Handle = (request) => {
    try {
      return handle(request)
    } catch (error) {
      return fail(error, request)
    }
  }
  /**
   * Answers and closes in a later turn of the event loop. While an answer is pending, uWebSockets.js
   * closes the connection at the next request instead of serving it; after an answer that closes, it
   * would serve what else arrived in the same packet.
   */
  const finishLast = (response: UwsResponse, exchange: Exchange, answer: GatewayResponse) => {
    setImmediate(() => {
      state.inFlight--
      if (!exchange.isAborted) response.cork(() => finish(response, answer, true))
    })
  }
  const download = (
    { response, exchange, isLast }: Pick<Open, 'response' | 'exchange' | 'isLast'>,
    settled: GatewayResponse,
  ) => {
    const { stream } = settled
    const done = () => {
      state.inFlight--
      if (state.isClosing) state.lastAt = performance.now()
    }
    if (stream === undefined || exchange.isAborted) {
      stream?.destroy()
      return done()
    }
    const closes = isLast || state.isClosing
    response.cork(() => writeHead(response, settled, closes))
    void writeStream(response, exchange, { stream, closes }).finally(done)
  }
  const turnAway = (response: UwsResponse, answer: GatewayResponse) => {
    state.inFlight++
    finishLast(
      response,
      watch(response, () => undefined),
      answer,
    )
  }
  const later = (
    { response, request, exchange, isLast }: Open,
    answer: GatewayResponse | Promise<GatewayResponse>,
  ) => {
    const end = (settled: GatewayResponse) => {
      if (settled.stream !== undefined) return download({ response, exchange, isLast }, settled)
      if (isLast) return finishLast(response, exchange, settled)
      state.inFlight--
      if (!exchange.isAborted) response.cork(() => finish(response, settled))
    }
    if (answer instanceof Promise) answer.then(end, (error) => end(fail(error, request)))
    else end(answer)
  }
  const receiveBody = (response: UwsResponse, request: GatewayRequest, isLast: boolean) => {
    const pieces: Buffer[] = []
    const piecesMax = piecesMaxOf(limits)
    let bytes = 0
    let isWhole = false
    const exchange = watch(response, () => {
      clearTimeout(late)
      if (isWhole) return
      state.inFlight--
      refuse(400, request)
    })
    const end = (status: number) => {
      clearTimeout(late)
      isWhole = true
      finishLast(response, exchange, refuse(status, request))
    }
    const late = setTimeout(() => end(408), limits.bodyMsMax)
    state.inFlight++
    response.onData((piece, isEnd) => {
      if (isWhole || exchange.isAborted) return
      bytes += piece.byteLength
      if (bytes > limits.bodyBytesMax) {
        end(413)
        return
      }
      // Closing at once also drops the pieces that have arrived with this one.
      if (pieces.push(Buffer.from(piece.slice(0))) > piecesMax) response.close()
      if (!isEnd || exchange.isAborted) return
      clearTimeout(late)
      isWhole = true
      const body = Buffer.concat(pieces).toString('utf8')
      later({ response, request, exchange, isLast }, attempt({ ...request, body }))
    })
  }
  const proceed = (response: UwsResponse, request: GatewayRequest, isLast: boolean) => {
    const answer = attempt(request)
    if (!isLast && !(answer instanceof Promise)) return finish(response, answer)
    state.inFlight++
    const exchange = watch(response, () => undefined)
    later({ response, request, exchange, isLast }, answer)
  }
  return (response: UwsResponse, raw: UwsRequest): void => {
    const request = capture(raw, reader, options)
    const { fields } = reader
    const framing = framingOf(fields, limits.bodyBytesMax)
    const status = judgeAddress(response, request.startedAt, { allow, pace })
    const bytes = request.path.length + (request.query?.length ?? 0) + fields.bytes
    if (bytes > limits.headerBytesMax) turnAway(response, refuse(431, request))
    else if (framing.kind === 'refused') turnAway(response, refuse(framing.status, request))
    else if (status !== 200 && framing.kind === 'none' && !fields.closes) {
      finish(response, refuse(status, request))
    } else if (status !== 200) turnAway(response, refuse(status, request))
    else if (framing.kind === 'body') {
      receiveBody(response, request, fields.closes || framing.isChunked)
    } else proceed(response, request, fields.closes)
  }
}

/** Reports that the client left; the response may not be used from then on. */
function watch(response: UwsResponse, onLeave: () => void): Exchange {
  const exchange: Exchange = { isAborted: false }
  response.onAborted(() => {
    exchange.isAborted = true
    exchange.onLeave?.()
    onLeave()
  })
  return exchange
}

/** Looking up an address is a system call, so it is done only when the result matters. */
function judgeAddress(
  response: UwsResponse,
  at: number,
  { allow, pace }: { readonly allow: Allow | undefined; readonly pace: RateLimit },
): 200 | 403 | 429 {
  if (allow !== undefined) {
    const address = Buffer.from(response.getRemoteAddressAsText()).toString('latin1')
    if (!allow(address)) return 403
  }
  return pace(at, () => senderOfBytes(response.getRemoteAddress())) ? 200 : 429
}

/** The request without its body; the other header fields stay in the reader. */
function capture(
  raw: UwsRequest,
  { clear, see, fields }: FieldReader,
  { requestId, isTraced = false }: UwsOptions,
): GatewayRequest {
  const startedAt = performance.now()
  clear()
  raw.forEach(see)
  const method = raw.getCaseSensitiveMethod()
  return {
    ...(method === 'GET' && { query: raw.getQuery(), field: fieldOf(fields) }),
    method,
    path: raw.getUrl(),
    authorization: fields.authorization,
    body: '',
    id: requestId(fields.requestId),
    traceparent: isTraced ? raw.getHeader('traceparent') : undefined,
    isMutual: false,
    startedAt,
  }
}

/** The fields that a GET request may need, copied from the reader. */
function fieldOf({ acceptEncoding, ifNoneMatch }: FieldReader['fields']) {
  const known = new Map([
    ['accept-encoding', acceptEncoding],
    ['if-none-match', ifNoneMatch],
  ])
  return (name: string): string | undefined => known.get(name)
}

/**
 * Writes all header fields in one native call: each call costs as much as computing the response.
 * Names and values are ours and ids are plain characters, so none can inject a header line.
 */
function writeHead(response: UwsResponse, answer: GatewayResponse, closes: boolean): void {
  const { status, headers, id } = answer
  let fields = id
  for (const field of headers) fields += `\r\n${field[0]}: ${field[1]}`
  if (closes) fields += '\r\nConnection: close'
  if (status !== 200) response.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`)
  response.writeHeader('X-Request-Id', fields)
}

function write(response: UwsResponse, answer: GatewayResponse, closes: boolean): void {
  writeHead(response, answer, closes)
  // `end` would state the length 0, which a cache takes for that of the body it has (RFC 9110, section 8.6).
  if (answer.status === 304 && !closes) response.endWithoutBody()
  else response.end(answer.body, closes)
}
