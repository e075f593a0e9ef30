/** A request as a listener captured it, whatever the listener: all that handlers see of HTTP. */
export interface GatewayRequest {
  /** Upper case. */
  readonly method: string
  /** Without the query, which is never looked at. */
  readonly path: string
  /** `Authorization`; where it was sent twice both values, joined by a comma. */
  readonly authorization: string | undefined
  readonly body: string
  /**
   * The bytes as they come, instead of `body`, where the route asks for that; they end early where
   * the client goes.
   */
  readonly stream?: AsyncIterable<Buffer> | undefined
  /** Any other header field by its name in lower case, unless it was sent twice. */
  readonly field?: (name: string) => string | undefined
  /** `X-Request-Id` of the request if it is sane, else one of our own. */
  readonly id: string
  /** Of the caller's trace (W3C Trace Context), read where traces are on alone. */
  readonly traceparent?: string | undefined
  /** Whether the client showed a certificate that is trusted. */
  readonly isMutual: boolean
  /** When its header was there, `performance.now()`. */
  readonly startedAt: number
}

export interface GatewayResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Empty where there is none. */
  readonly body: string
  /** For `X-Request-Id`. */
  readonly id: string
}

/** Answers a request; never rejects and never throws. */
export type Handle = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>

/** Whether a request's body is read as it comes. */
export type IsStreamed = (request: Pick<GatewayRequest, 'method' | 'path' | 'isMutual'>) => boolean

/** The answer to a request that a listener cannot take for a whole one, or from its address. */
export type Refuse = (
  status: number,
  request: Pick<GatewayRequest, 'id' | 'startedAt'>,
) => GatewayResponse

/** What a listener calls. */
export interface Handling {
  readonly handle: Handle
  readonly refuse: Refuse
  readonly isStreamed: IsStreamed
}

const sane = /^[A-Za-z0-9._-]{1,64}$/

/** The last digits of ids, made beforehand: a number becomes text once in a thousand requests. */
const endings = Array.from({ length: 1_000 }, (_, at) => String(at).padStart(3, '0'))

/** Names requests: what the client called it where that is sane, else a number of this process. */
export function createRequestIds(prefix: string): (given: string | undefined) => string {
  let thousands = 0
  let count = 0
  let start = `${prefix}-0`
  return (given) => {
    if (given !== undefined && sane.test(given)) return given
    if (count === endings.length) {
      count = 0
      thousands++
      start = `${prefix}-${thousands.toString(36)}`
    }
    return start + endings[count++]
  }
}
