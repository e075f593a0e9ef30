import type { Customers, Standing } from '../access/account-status.js'
import { type AdmitOptions, admit, authenticate, isNamed, type Named } from '../access/authorize.js'
import type { Answer } from '../answer.js'
import type { Run } from '../route.js'

export interface LoginOptions extends AdmitOptions {
  readonly customers: Customers
}

/**
 * `POST /gateway/login`. Specification 4.1: 200 with clientId, 401 or 404 with errorCode, 503 without
 * a body. If token and account status are cached, the answer needs no turn of the event loop.
 */
export function createLogin(options: LoginOptions): Run {
  const conclude = (named: Named, standing: Standing): Answer | Promise<Answer> => {
    const refusal = admit(options, named, standing)
    if (refusal !== undefined) return refusal
    const body = `{"clientId":${JSON.stringify(named.clientId)}}`
    return { kind: 'good', body, subject: named.subject }
  }
  const proceed = (named: Named | Answer): Answer | Promise<Answer> => {
    if (!isNamed(named)) return named
    const standing = options.customers.standing(named.clientId)
    if (standing instanceof Promise) return standing.then((one) => conclude(named, one))
    return conclude(named, standing)
  }
  return (request) => {
    const named = authenticate(options, request)
    return named instanceof Promise ? named.then(proceed) : proceed(named)
  }
}
