import type { Customers } from '../access/account-status.js'
import { type AuthorizeOptions, authenticate, authorize, denyToken } from '../access/authorize.js'
import type { Answer } from '../answer.js'
import type { GatewayRequest } from '../request.js'
import type { RouteHandler } from '../route.js'
import { createTurns } from './lanes.js'

export interface ForCustomerOptions extends AuthorizeOptions {
  readonly customers: Customers
  readonly perCustomerMax: number
}

/**
 * Makes routes for the customer of a bearer token. The token and the account are judged as at login,
 * with each request: a token that expires between two pages is refused at the second.
 */
export function createForCustomer(options: ForCustomerOptions) {
  const inTurn = createTurns(options.perCustomerMax)
  return (read: (clientId: string, request: GatewayRequest) => Promise<Answer>): RouteHandler =>
    async (request) => {
      const named = await authenticate(options, request)
      if (named.kind === 'refused') return denyToken(named)
      const { clientId, pseudonym } = named
      const refusal = await authorize(options, named, await options.customers.status(clientId))
      if (refusal !== undefined) return refusal
      const answer = await inTurn(clientId, () => read(clientId, request))
      return { ...(answer ?? { kind: 'bare', status: 429 }), pseudonym }
    }
}
