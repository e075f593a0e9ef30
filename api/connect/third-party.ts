import type { Subscription } from '../../schemas/gateway/connect.js'
import { type EspiScope, isEspiScope, readEspiScope } from '../../schemas/gateway/espi-scope.js'
import type { Customers } from '../access/account-status.js'
import { type AuthorizeOptions, authorize, identifyRequest } from '../access/authorize.js'
import type { Answer } from '../answer.js'
import type { Grant, Identified } from '../identity/identity.js'
import { logRefusal } from '../identity/refusal.js'
import type { GatewayRequest } from '../request.js'

export interface ThirdPartyOptions extends AuthorizeOptions {
  readonly customers: Customers
}

/** What the token of an application opens. */
export interface OpenedShare extends Subscription {
  readonly pseudonym: string
}

/**
 * Judges the token of a third party as RFC 6750 says: 401 where a token proves nothing, 403 where it grants
 * nothing here. It never counts as a failed attempt of the customer, who did not send it.
 */
export function createThirdParties(options: ThirdPartyOptions) {
  const { applications, customers } = options
  /** A token that names two applications is nobody's. */
  const applicationOf = (grant: Grant | undefined) => {
    const [application, ...more] = grant?.applications ?? []
    if (application === undefined || more.length > 0) return undefined
    return applications?.has(application) ? application : undefined
  }
  return {
    /** What a token opens, or why it is refused. */
    judge: async (request: GatewayRequest): Promise<Answer | OpenedShare> => {
      const identified = await identifyRequest(options, request)
      if (identified.kind !== 'customer') return challenge(request, identified)
      const { clientId, pseudonym, grant } = identified
      const application = applicationOf(grant)
      if (application === undefined) return forbid('application', pseudonym)
      const scope = scopeOf(grant)
      if (scope === undefined) return forbid('scope', pseudonym)
      const denied = await authorize(options, identified, await customers.status(clientId))
      if (denied !== undefined) return forbid(denied.reason ?? 'account', pseudonym)
      return { clientId, pseudonym, application, scope }
    },
    /** The application of a token, which need not name a customer; or why it is refused. */
    judgeApplication: async (request: GatewayRequest): Promise<Answer | string> => {
      const identified = await identifyRequest(options, request)
      const grant = identified.kind === 'counted' ? undefined : identified.grant
      if (grant === undefined) return challenge(request, identified)
      if (scopeOf(grant) === undefined) return forbid('scope')
      return applicationOf(grant) ?? forbid('application')
    },
  }
}

/** The one scope of ESPI; of two, nobody could say which of them the customer meant. */
function scopeOf(grant: Grant | undefined): EspiScope | undefined {
  const [scope, ...more] = (grant?.scopes ?? []).filter(isEspiScope)
  return scope === undefined || more.length > 0 ? undefined : readEspiScope(scope)
}

function challenge(request: GatewayRequest, identified: Identified): Answer {
  const error = request.authorization === undefined ? '' : ' error="invalid_token"'
  const why = identified.kind === 'refused' ? logRefusal(identified) : { reason: 'revoked' }
  const headers = [['WWW-Authenticate', `Bearer${error}`]] as const
  return { kind: 'bare', status: 401, headers, ...why }
}

function forbid(reason: string, pseudonym?: string): Answer {
  const headers = [['WWW-Authenticate', 'Bearer error="insufficient_scope"']] as const
  return { kind: 'bare', status: 403, headers, reason, ...(pseudonym && { pseudonym }) }
}
