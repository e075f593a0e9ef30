import type { Readable } from 'node:stream'

/** A request as captured by any listener: the only view that handlers have of HTTP. */
export interface GatewayRequest {
  /** Upper case. */
  readonly method: string
  /** Without the query string. */
  readonly path: string
  /** What follows `?`, of a GET request only. */
  readonly query?: string | undefined
  /** `Authorization`; repeated fields are joined by a comma. */
  readonly authorization: string | undefined
  readonly body: string
  /**
   * The body as a stream instead of `body`, for routes that ask for it; it ends early if the client
   * disconnects.
   */
  readonly stream?: AsyncIterable<Buffer> | undefined
  /** Whether all of `stream` has arrived. */
  readonly isComplete?: () => boolean
  /**
   * Another header field by its name in lower case, unless it is repeated. The listener for tokens has
   * only `accept-encoding` and `if-none-match`, of a GET request.
   */
  readonly field?: (name: string) => string | undefined
  /** `X-Request-Id` of the request if it is valid, otherwise a generated one. */
  readonly id: string
  /** The caller's trace (W3C Trace Context), read only while tracing is on. */
  readonly traceparent?: string | undefined
  /** Whether the client presented a trusted certificate. */
  readonly isMutual: boolean
  /** When the header was complete, `performance.now()`. */
  readonly startedAt: number
}

export interface GatewayResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Empty if there is none; bytes if it is compressed. */
  readonly body: string | Buffer
  /** Follows instead of `body`. A listener reads it to its end, or destroys it. */
  readonly stream?: Readable | undefined
  /** For `X-Request-Id`. */
  readonly id: string
}

/** Answers a request; never rejects and never throws. */
export type Handle = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>

/** Whether a request's body is streamed. */
export type IsStreamed = (request: Pick<GatewayRequest, 'method' | 'path' | 'isMutual'>) => boolean

/** Responds to an incomplete request, or to one that its address may not send. */
export type Refuse = (
  status: number,
  request: Pick<GatewayRequest, 'id' | 'startedAt'>,
) => GatewayResponse

/** The functions that a listener calls. */
export interface Handling {
  readonly handle: Handle
  readonly refuse: Refuse
  readonly isStreamed: IsStreamed
}

const validId = /^[A-Za-z0-9._-]{1,64}$/

/** Prepared last digits of ids: a number is formatted only once in a thousand requests. */
const endings = Array.from({ length: 1_000 }, (_, at) => String(at).padStart(3, '0'))

/** Generates request ids: the client's id if it is valid, otherwise a counter of this process. */
export function createRequestIds(prefix: string): (given: string | undefined) => string {
  let thousands = 0
  let count = 0
  let start = `${prefix}-0`
  return (given) => {
    if (given !== undefined && validId.test(given)) return given
    if (count === endings.length) {
      count = 0
      thousands++
      start = `${prefix}-${thousands.toString(36)}`
    }
    return start + endings[count++]
  }
}
