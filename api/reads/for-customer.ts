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
 * cut when its token ends.
 */
export function createForCustomer(options: ForCustomerOptions) {
  const inTurn = createInTurn(options.perCustomerMax)
  const judge = async (request: GatewayRequest): Promise<Answer | Named> => {
    const named = await authenticate(options, request)
    if (named.kind === 'refused') return denyToken(named)
    const status = await options.customers.status(named.clientId)
    return (await authorize(options, named, status)) ?? named
  }
  return (read: ReadForCustomer): RouteHandler =>
    (request) =>
      inTurn(
        () => judge(request),
        ({ clientId }, expectAccess) => read(clientId, request, expectAccess),
      )
}

/**
 * Answers requests for customers, `perCustomerMax` of one at the same time. A customer's turn lasts as long
 * as his download, and `judge` is asked again before each part of it.
 */
export function createInTurn(perCustomerMax: number) {
  const enter = createTurns(perCustomerMax)
  return async <A extends Pick<Named, 'clientId' | 'pseudonym'>>(
    judge: () => Promise<Answer | A>,
    read: (allowed: A, expectAccess: ExpectAccess) => Promise<Answer>,
  ): Promise<Answer> => {
    const judged = await judge()
    if (!('clientId' in judged)) return judged
    const { clientId, pseudonym } = judged
    const leave = enter(clientId)
    if (leave === undefined) return { kind: 'bare', status: 429, pseudonym }
    const expectAccess = async () => {
      if (!('clientId' in (await judge()))) throw cutDownload('token or account ended')
    }
    try {
      const answer = await read(judged, expectAccess)
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
