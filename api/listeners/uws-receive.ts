import { STATUS_CODES } from 'node:http'
import type { GatewayRequest, GatewayResponse, Handle } from '../request.js'
import { type Allow, createAllow } from './allow.js'
import { bodyOf } from './framing.js'
import { createPace, type Pace } from './pace.js'
import type { UwsOptions } from './uws.js'
import type { UwsRequest, UwsResponse } from './uws-types.js'

/** Shared with whoever closes the listener. */
export interface ReceiveState {
  /** Then each answer closes its connection. */
  isClosing: boolean
  /** Requests whose answer is not written yet. */
  inFlight: number
  /** When the latest answer since `isClosing` was written, `performance.now()`. */
  lastAt: number
}

interface Exchange {
  isAborted: boolean
}

const refuse = (status: number): GatewayResponse => ({ status, headers: [], body: '', id: '' })
const forbidden = refuse(403)
const tooMany = refuse(429)
const broken = refuse(500)
const headerTooLong = refuse(431)
/** A colon, a blank and the end of the line. */
const separatorBytes = 4

/**
 * Captures a request before the callback returns, has it handled, and writes the answer once: at
 * once where the handler answers at once, else corked, and never to a client that has left.
 */
export function createReceive(options: UwsOptions, state: ReceiveState) {
  const { handle, requestId, limits, onFailure, settings } = options
  const allow = settings.allow.length === 0 ? undefined : createAllow(settings.allow)
  const pace = createPace(options.requestsPerSecondMax, options.now)
  const finish = (response: UwsResponse, answer: GatewayResponse, closes = false) => {
    write(response, answer, closes || state.isClosing)
    if (state.isClosing) state.lastAt = performance.now()
  }
  const later = (response: UwsResponse, exchange: Exchange, answer: Promise<GatewayResponse>) => {
    answer
      .catch((error: unknown) => {
        onFailure(error, '')
        return broken
      })
      .then((settled) => {
        state.inFlight--
        if (!exchange.isAborted) response.cork(() => finish(response, settled))
      })
  }
  const attempt: Handle = (request) => {
    try {
      return handle(request)
    } catch (error) {
      onFailure(error, request.id)
      return broken
    }
  }
  const receiveBody = (response: UwsResponse, request: GatewayRequest) => {
    const pieces: Buffer[] = []
    let bytes = 0
    let isWhole = false
    const exchange = watch(response, () => {
      clearTimeout(late)
      if (!isWhole) state.inFlight--
    })
    const end = (status: number) => {
      clearTimeout(late)
      isWhole = true
      state.inFlight--
      response.cork(() => finish(response, refuse(status), true))
    }
    const late = setTimeout(() => end(408), limits.bodyMsMax)
    state.inFlight++
    response.onData((piece, isLast) => {
      if (isWhole || exchange.isAborted) return
      bytes += piece.byteLength
      if (bytes > limits.bodyBytesMax) {
        end(413)
        return
      }
      pieces.push(Buffer.from(piece.slice(0)))
      if (!isLast) return
      clearTimeout(late)
      isWhole = true
      const body = Buffer.concat(pieces).toString('utf8')
      later(response, exchange, Promise.resolve(attempt({ ...request, body })))
    })
  }
  const proceed = (response: UwsResponse, request: GatewayRequest) => {
    const answer = attempt(request)
    if (answer instanceof Promise) {
      state.inFlight++
      later(
        response,
        watch(response, () => undefined),
        answer,
      )
    } else finish(response, answer)
  }
  const judge = (
    response: UwsResponse,
    request: GatewayRequest,
    refusal: GatewayResponse | undefined,
  ) => {
    const framing = bodyOf(request.headers, limits.bodyBytesMax)
    if (framing.kind === 'refused') finish(response, refuse(framing.status), true)
    else if (refusal !== undefined) finish(response, refusal, framing.kind === 'body')
    else if (framing.kind === 'body') receiveBody(response, request)
    else proceed(response, request)
  }
  return (response: UwsResponse, raw: UwsRequest): void => {
    const refusal = judgeAddress(response, { allow, pace })
    const request = capture(raw, requestId, limits.headerBytesMax)
    if (request === undefined) finish(response, headerTooLong, true)
    else judge(response, request, refusal)
  }
}

/** Tells of a client that leaves; the response may not be touched from then on. */
function watch(response: UwsResponse, onLeave: () => void): Exchange {
  const exchange: Exchange = { isAborted: false }
  response.onAborted(() => {
    exchange.isAborted = true
    onLeave()
  })
  return exchange
}

/** Asking for an address is a system call, which is done only where something hangs on it. */
function judgeAddress(
  response: UwsResponse,
  { allow, pace }: { readonly allow: Allow | undefined; readonly pace: Pace },
): GatewayResponse | undefined {
  if (allow !== undefined) {
    const address = Buffer.from(response.getRemoteAddressAsText()).toString('latin1')
    if (!allow(address)) return forbidden
  }
  return pace(() => addressKey(response.getRemoteAddress())) ? undefined : tooMany
}

/** Four bytes as a number; longer ones as text, and none, as on a Unix socket, as 0. */
function addressKey(address: ArrayBuffer): number | string {
  if (address.byteLength === 0) return 0
  if (address.byteLength === 4) return new DataView(address).getUint32(0)
  return Buffer.from(address).toString('latin1')
}

/** The request, or undefined where its header is longer than it may be. */
function capture(
  raw: UwsRequest,
  requestId: UwsOptions['requestId'],
  headerBytesMax: number,
): GatewayRequest | undefined {
  const headers = new Map<string, string>()
  const path = raw.getUrl()
  let bytes = path.length
  raw.forEach((name, value) => {
    bytes += name.length + value.length + separatorBytes
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  })
  if (bytes > headerBytesMax) return undefined
  const id = requestId(headers.get('x-request-id'))
  return { method: raw.getCaseSensitiveMethod(), path, headers, body: '', id, isMutual: false }
}

function write(response: UwsResponse, answer: GatewayResponse, closes: boolean): void {
  const { status, headers, body, id } = answer
  if (status !== 200) response.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`)
  for (const [name, value] of headers) response.writeHeader(name, value)
  if (id !== '') response.writeHeader('X-Request-Id', id)
  if (closes) response.writeHeader('Connection', 'close')
  response.end(body, closes)
}
