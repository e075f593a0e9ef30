import type { AccountStatus, Customers } from '../access/account-status.js'
import {
  type AuthorizeOptions,
  authenticate,
  authorize,
  denyToken,
  type Named,
} from '../access/authorize.js'
import type { Answer } from '../answer.js'
import type { Identified } from '../identity/identity.js'
import type { RouteHandler } from '../route.js'

export interface LoginOptions extends AuthorizeOptions {
  readonly customers: Customers
}

/**
 * `POST /gateway/login`. Specification 4.1: 200 with clientId, 401 or 404 with errorCode, 503 without
 * a body. If token and account status are cached, the answer needs no turn of the event loop.
 */
export function createLogin(options: LoginOptions): RouteHandler {
  const conclude = (named: Named, status: AccountStatus): Answer | Promise<Answer> => {
    const refusal = authorize(options, named, status)
    if (refusal !== undefined) return refusal
    const body = `{"clientId":${JSON.stringify(named.clientId)}}`
    return { kind: 'good', body, pseudonym: named.pseudonym }
  }
  const proceed = (named: Identified): Answer | Promise<Answer> => {
    if (named.kind === 'refused') return denyToken(named)
    const status = options.customers.status(named.clientId)
    if (status instanceof Promise) return status.then((one) => conclude(named, one))
    return conclude(named, status)
  }
  return (request) => {
    const named = authenticate(options, request)
    return named instanceof Promise ? named.then(proceed) : proceed(named)
  }
}
