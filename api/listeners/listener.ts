import type { GatewayLimits } from '../../schemas/settings/gateway-listener.js'
import type { Handle, Refuse } from '../request.js'

/** What every listener is made of; `S` are the settings of its own. */
export interface ListenerOptions<S> {
  readonly settings: S
  readonly limits: GatewayLimits
  readonly requestsPerSecondMax: number
  readonly handle: Handle
  readonly refuse: Refuse
  /** Whether `traceparent` is read. */
  readonly isTraced?: boolean
  readonly requestId: (given: string | undefined) => string
  readonly onFailure: (error: unknown, requestId: string) => void
}

/** A listener that serves. */
export interface Listener {
  /** `https://127.0.0.1:8443`, or the path of a Unix socket. */
  readonly address: string
  /** 0 for a Unix socket. */
  readonly port: number
  /** Takes the certificate files as they are now; throws `LISTENER` and goes on as before. */
  renewCertificate(): Promise<void>
  /**
   * Takes no more connections, answers what has come in, closes connections that are idle. Resolves
   * when nothing is open any more, at the latest after `stopMsMax`.
   */
  close(): Promise<void>
}
