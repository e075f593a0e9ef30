import { toRegistration } from '../../schemas/gateway/registration.js'
import type { Customers } from '../access/account-status.js'
import { type AuthorizeOptions, authenticate, authorize, denyToken } from '../access/authorize.js'
import type { RouteHandler } from '../route.js'
import type { Registrar } from './register.js'

export interface CustomerOptions extends AuthorizeOptions {
  readonly customers: Customers
  /** Registers each returned customer, and where one has no meter any more. */
  readonly registrar: Pick<Registrar, 'add'>
}

/**
 * `POST /gateway/customer`. Specification 4.2: returns the customer's account, sites and meters from
 * the CIS; repeating the call is safe. The CIS is asked each time, names and addresses are not stored.
 */
export function createCustomer(options: CustomerOptions): RouteHandler {
  return async (request) => {
    const named = await authenticate(options, request)
    if (named.kind === 'refused') return denyToken(named)
    const found = await options.customers.read(named.clientId)
    if (found.withoutMeter !== undefined) {
      const without = { clientId: named.clientId, acctStatus: '', meters: [] }
      options.registrar.add({ ...without, partialSites: found.withoutMeter })
    }
    const refusal = await authorize(options, named, found.status)
    if (refusal !== undefined) return refusal
    const { customer, ...more } = found.customer()
    options.registrar.add(toRegistration(customer, more))
    return { kind: 'good', body: JSON.stringify(customer), pseudonym: named.pseudonym }
  }
}
