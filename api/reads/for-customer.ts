import { finished } from 'node:stream'
import type { Customers } from '../access/account-status.js'
import {
  type AuthorizeOptions,
  authenticate,
  authorize,
  denyToken,
  type Named,
} from '../access/authorize.js'
import { type Answer, cutDownload } from '../answer.js'
import type { GatewayRequest } from '../request.js'
import type { RouteHandler } from '../route.js'
import { createTurns } from './lanes.js'

export interface ForCustomerOptions extends AuthorizeOptions {
  readonly customers: Customers
  readonly perCustomerMax: number
}

/**
 * Makes routes for the customer of a bearer token. The token and the account are judged as at login,
 * with each request: a token that expires between two pages is refused at the second, and a download is
 * cut when its token ends. A customer's turn lasts as long as his download.
 */
export function createForCustomer(options: ForCustomerOptions) {
  const enter = createTurns(options.perCustomerMax)
  const judge = async (request: GatewayRequest): Promise<Answer | Named> => {
    const named = await authenticate(options, request)
    if (named.kind === 'refused') return denyToken(named)
    const status = await options.customers.status(named.clientId)
    return (await authorize(options, named, status)) ?? named
  }
  return (read: ReadForCustomer): RouteHandler =>
    async (request) => {
      const judged = await judge(request)
      if (!('clientId' in judged)) return judged
      const { clientId, pseudonym } = judged
      const leave = enter(clientId)
      if (leave === undefined) return { kind: 'bare', status: 429, pseudonym }
      const expectAccess = async () => {
        if (!('clientId' in (await judge(request)))) throw cutDownload('token or account ended')
      }
      try {
        const answer = await read(clientId, request, expectAccess)
        if (answer.kind === 'download') finished(answer.stream, leave)
        else leave()
        return { ...answer, pseudonym }
      } catch (error) {
        leave()
        throw error
      }
    }
}

/** Judges a request once more, and throws if it would be refused now. */
export type ExpectAccess = () => Promise<void>

export type ReadForCustomer = (
  clientId: string,
  request: GatewayRequest,
  expectAccess: ExpectAccess,
) => Promise<Answer>
