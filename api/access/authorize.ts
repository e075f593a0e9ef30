import { isEspiScope } from '../../schemas/gateway/espi-scope.js'
import type { Answer, Denial } from '../answer.js'
import type { Identified, Identity } from '../identity/identity.js'
import { type Refused, refused, spellRefusal } from '../identity/refusal.js'
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
  /** Whether tokens with a scope of Green Button are those of third parties. */
  readonly connects: boolean
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
  if (!options.connects) return identified
  return identified instanceof Promise
    ? identified.then(refuseThirdParty)
    : refuseThirdParty(identified)
}

function refuseThirdParty(identified: Identified): Identified {
  const isTheirs = identified.grant?.scopes.some(isEspiScope)
  return isTheirs ? refused('token of a third party') : identified
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
  return { kind: 'denied', denial: 'token', reason: spellRefusal(refusal) }
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

const byAttempt: readonly Denial[] = ['twoLeft', 'oneLeft', 'locked']

async function count(
  { attempts, locks, counts }: AuthorizeOptions,
  named: Extract<Named, { kind: 'counted' }>,
  { locked, attemptsRemaining }: AccountStatus,
): Promise<Answer> {
  const { clientId, pseudonym, reason, token } = named
  if (attemptsRemaining !== undefined) {
    const denial = byAttempt[Math.min(Math.max(2 - attemptsRemaining, 0), 2)] ?? 'locked'
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
