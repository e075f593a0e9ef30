import { isEspiScope } from '../../schemas/gateway/espi-scope.js'
import type { Answer, Denial } from '../answer.js'
import type { Identified, Identity } from '../identity/identity.js'
import { logRefusal, type Refused, refused } from '../identity/refusal.js'
import type { GatewayRequest } from '../request.js'
import type { AccountStatus } from './account-status.js'
import type { Attempts } from './attempts.js'
import type { Locks } from './locks.js'

export interface AuthorizeOptions {
  readonly identity: Identity
  readonly attempts: Attempts
  readonly locks: Locks
  readonly tokenBytesMax: number
  /** Whether the service counts attempts itself where the CIS does not (decision 4). */
  readonly counts: boolean
  /** Third parties of Connect My Data, by `client_id`; undefined if it is not served. */
  readonly applications: ReadonlySet<string> | undefined
  /** Called for each customer whose account is closed. */
  readonly onClosed: (clientId: string) => void
}

/** An authenticated token of a customer: accepted, or refused and counted. */
export type Named = Exclude<Identified, { readonly kind: 'refused' }>

/**
 * What the token of a request proves to all but Connect My Data, which alone accepts third parties. Theirs
 * count as nobody's failed attempts.
 */
export function authenticate(
  options: AuthorizeOptions,
  request: GatewayRequest,
): Identified | Promise<Identified> {
  const identified = identifyRequest(options, request)
  const { applications } = options
  if (applications === undefined) return identified
  const refuseTheirs = (one: Identified) =>
    isThirdParty(one, applications) ? refused('token of a third party') : one
  return identified instanceof Promise ? identified.then(refuseTheirs) : refuseTheirs(identified)
}

/** An application that is listed, with any scope; or a scope of Green Button, in any application. */
function isThirdParty({ grant }: Identified, applications: ReadonlySet<string>): boolean {
  if (grant === undefined) return false
  return grant.applications.some((one) => applications.has(one)) || grant.scopes.some(isEspiScope)
}

/** What the token of a request proves; it is refused without one. */
export function identifyRequest(
  { identity, tokenBytesMax }: AuthorizeOptions,
  request: GatewayRequest,
): Identified | Promise<Identified> {
  const { token, problem } = readToken(request, tokenBytesMax)
  return token === undefined ? { kind: 'refused', reason: problem } : identity.identify(token)
}

/** Code 1 for an unverifiable token, which is not counted. */
export function denyToken(refusal: Refused): Answer {
  return { kind: 'denied', denial: 'token', ...logRefusal(refusal) }
}

/**
 * Checks a customer in the order of decision 3: no account, locked, closed, no meter, then
 * the token itself.
 * Undefined grants access. A refused token is counted durably before this resolves.
 */
export function authorize(
  options: AuthorizeOptions,
  named: Named,
  status: AccountStatus,
): Answer | undefined | Promise<Answer> {
  const { pseudonym, clientId } = named
  if (!status.isKnown) return { kind: 'denied', denial: 'unknown', pseudonym }
  if (status.locked ?? options.locks.has(clientId)) {
    return { kind: 'denied', denial: 'locked', pseudonym }
  }
  if (status.isClosed) {
    options.onClosed(clientId)
    return { kind: 'denied', denial: 'closed', pseudonym }
  }
  if (!status.hasMeter) {
    return { kind: 'denied', denial: 'unknown', pseudonym, reason: 'no electric or gas meter' }
  }
  return named.kind === 'counted' ? count(options, named, status) : undefined
}

/** The refusal for each number of attempts left; more than two have no code of their own (specification 7). */
const byRemaining: readonly Denial[] = ['locked', 'oneLeft', 'twoLeft']
const byAttempt = byRemaining.toReversed()

async function count(
  { attempts, locks, counts }: AuthorizeOptions,
  named: Extract<Named, { kind: 'counted' }>,
  { locked, attemptsRemaining }: AccountStatus,
): Promise<Answer> {
  const { clientId, pseudonym, reason, token } = named
  if (attemptsRemaining !== undefined) {
    const denial = byRemaining[Math.max(attemptsRemaining, 0)] ?? 'token'
    return { kind: 'denied', denial, pseudonym, reason }
  }
  if (!counts) return { kind: 'denied', denial: 'token', pseudonym, reason }
  const isOurs = locked === undefined
  const isLocked = () => isOurs && locks.has(clientId)
  const attempt = await attempts.count({ clientId, token, reason, isLocked })
  const denial = byAttempt[attempt - 1] ?? 'locked'
  if (denial === 'locked' && isOurs) locks.add(clientId)
  return { kind: 'denied', denial, pseudonym, reason }
}

/** The token of a request, or why it has none. */
type TokenReading =
  | { readonly token: string; readonly problem?: never }
  | { readonly token?: never; readonly problem: string }

const scheme = 'bearer '

/**
 * Reads `Authorization: Bearer <token>` (RFC 6750, section 2.1), the only accepted place of a token.
 * Repeated fields are joined by a comma, which makes the token invalid.
 */
function readToken(request: GatewayRequest, tokenBytesMax: number): TokenReading {
  const field = request.authorization
  if (field === undefined) return { problem: 'no token' }
  if (field.length > tokenBytesMax + scheme.length) return { problem: 'token too long' }
  if (!hasScheme(field)) return { problem: 'other scheme' }
  const token = field.slice(scheme.length)
  if (token === '') return { problem: 'no token' }
  return { token }
}

function hasScheme(field: string): boolean {
  if (field.startsWith('Bearer ')) return true
  return field.slice(0, scheme.length).toLowerCase() === scheme
}
