/** A request as a listener captured it, whatever the listener: all that handlers see of HTTP. */
export interface GatewayRequest {
  /** Upper case. */
  readonly method: string
  /** Without the query, which is never looked at. */
  readonly path: string
  /** Names in lower case; a field that was sent twice has both values, joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  /** `X-Request-Id` of the request if it is sane, else one of our own. */
  readonly id: string
  /** Whether the client showed a certificate that is trusted. */
  readonly isMutual: boolean
}

export interface GatewayResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Empty where there is none. */
  readonly body: string
  /** For `X-Request-Id`; empty where the request was refused before it had one. */
  readonly id: string
}

/** Answers a request; never rejects and never throws. */
export type Handle = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>

const sane = /^[A-Za-z0-9._-]{1,64}$/

/** Names requests: what the client called it where that is sane, else a number of this process. */
export function createRequestIds(prefix: string): (given: string | undefined) => string {
  let count = 0
  return (given) => {
    if (given !== undefined && sane.test(given)) return given
    count++
    return `${prefix}-${count.toString(36)}`
  }
}
