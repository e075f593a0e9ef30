import type { Customers } from '../access/account-status.js'
import { type AuthorizeOptions, authenticate, authorize, isNamed } from '../access/authorize.js'
import type { RouteHandler } from '../route.js'
import type { Registrar } from './register.js'

export interface CustomerOptions extends AuthorizeOptions {
  readonly customers: Customers
  /** Told of each customer that is answered. */
  readonly register: Pick<Registrar, 'add'>
}

/**
 * `POST /gateway/customer` (specification 4.2): the customer's account, sites and meters, asked of
 * the CIS each time and passed through without being stored.
 */
export function createCustomer(options: CustomerOptions): RouteHandler {
  return async (request) => {
    const named = await authenticate(options, request)
    if (!isNamed(named)) return named
    const found = await options.customers.read(named.clientId)
    const refusal = await authorize(options, named, found.status)
    if (refusal !== undefined) return refusal
    const customer = found.customer()
    options.register.add(customer)
    return { kind: 'good', body: JSON.stringify(customer), pseudonym: named.pseudonym }
  }
}
