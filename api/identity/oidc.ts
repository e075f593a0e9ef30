import type { Fault } from '../../schemas/fault.js'
import { identifier } from '../../schemas/gateway/customer.js'
import type { IssuerSettings, OidcSettings } from '../../schemas/settings/gateway-identity.js'
import type { Pseudonymize } from '../access/pseudonym.js'
import { createFairQueue } from '../fair-queue.js'
import { createHttpClient } from '../http-client.js'
import type { Identified, Identity } from './identity.js'
import { claimAt, findGrantProblem, isIdToken, mayBeAccess, readClaims, readHeader } from './jwt.js'
import type { TrustedKey } from './key.js'
import { createKeySet, type KeySet } from './key-set.js'
import { findTimeProblem, isSigned } from './signature.js'
import { createTokenCache } from './token-cache.js'

export interface OidcOptions {
  readonly settings: OidcSettings
  readonly pseudonymize: Pseudonymize
  /** Verified tokens that are remembered, at most. */
  readonly tokensCachedMax: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly onFailure: (fault: Fault) => void
}

interface Issuer {
  readonly settings: IssuerSettings
  readonly keys: KeySet
}

interface Verified {
  readonly identified: Identified
  readonly expiresAt: number
  readonly key: TrustedKey
  readonly keys: KeySet
}

const keyAnswerBytesMax = 256 * 1024

/**
 * Judges JWTs of OpenID providers (RFC 7519, RFC 8725, RFC 9068). A token that proved good is known
 * again by its hash until it expires or its key is withdrawn.
 */
export function createOidc(options: OidcOptions): Identity {
  const { settings, now, onFailure } = options
  const caller = createHttpClient({
    fault: 'IDENTITY_UNREACHABLE',
    name: 'the identity provider',
    timeoutMs: settings.timeoutMs,
    caFile: settings.caFile,
    connectionsMax: 4,
    answerBytesMax: keyAnswerBytesMax,
  })
  const issuers = new Map<string, Issuer>(
    settings.issuers.map((issuer) => [
      issuer.issuer,
      {
        settings: issuer,
        keys: createKeySet({
          ...settings,
          ...issuer,
          jwksUri: issuer.jwksUri,
          caller,
          now,
          onFailure,
        }),
      },
    ]),
  )
  const cache = createTokenCache<Verified>(options.tokensCachedMax)
  const keep = (token: string, verified: Verified | Identified): Identified => {
    if ('kind' in verified) return verified
    if (verified.identified.kind === 'customer') cache.set(token, verified)
    return verified.identified
  }
  const judging = { ...options, issuers }
  const judgeAndKeep = (token: string): Identified | Promise<Identified> => {
    const verified = judge(token, judging)
    if (verified instanceof Promise) return verified.then((one) => keep(token, one))
    return verified
  }
  const turns = createFairQueue()
  const verify = (token: string): Identified | Promise<Identified> =>
    turns()?.then(() => judgeAndKeep(token)) ?? judgeAndKeep(token)
  return {
    identify: (token) => {
      const known = cache.get(token)
      if (known === undefined) return verify(token)
      if (known.expiresAt > now() && known.keys.has(known.key)) return known.identified
      cache.delete(token)
      return verify(token)
    },
    ready: async () => {
      await Promise.all([...issuers.values()].map(({ keys }) => keys.ready()))
    },
    figures: () => ({
      cache: cache.counts(),
      keys: [...issuers].map(([issuer, { keys }]) => ({ issuer, fetchedAt: keys.fetchedAt() })),
    }),
    close: async () => {
      for (const { keys } of issuers.values()) keys.close()
      caller.close()
    },
  }
}

type JudgeOptions = OidcOptions & { readonly issuers: ReadonlyMap<string, Issuer> }
type Judged = Verified | Identified

/** At once where the token is refused for its form. */
function judge(token: string, options: JudgeOptions): Identified | Promise<Judged> {
  const { settings, issuers } = options
  const header = readHeader(token)
  if (header === undefined) return refused('malformed token')
  const algorithm = settings.algorithms.find((name) => name === header.alg)
  if (algorithm === undefined) return refused('algorithm')
  if (!mayBeAccess(header, settings.tokenType)) return refused('token type')
  const claims = readClaims(token)
  const issuer = issuers.get(String(claims?.['iss']))
  if (claims === undefined || issuer === undefined) return refused('issuer')
  const candidate = { token, algorithm, claims, issuer }
  const key = issuer.keys.find(algorithm, header.kid)
  if (key instanceof Promise) return key.then((one) => prove(candidate, one, options))
  return prove(candidate, key, options)
}

interface Candidate {
  readonly token: string
  readonly algorithm: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly issuer: Issuer
}

/** The signature first: nothing that a token says is worth a word before it is its issuer's. */
async function prove(
  { token, algorithm, claims, issuer }: Candidate,
  key: TrustedKey | undefined,
  options: JudgeOptions,
): Promise<Judged> {
  if (key === undefined) return refused('unknown key')
  if (!(await isSigned(token, algorithm, key.object))) return refused('signature')
  const { clockToleranceSeconds } = options.settings
  const problem = findTimeProblem(claims, options.now() / 1_000, clockToleranceSeconds)
  if (problem !== undefined) return refused(problem)
  if (isIdToken(claims)) return refused('ID token')
  const identified = identify(claims, { issuer: issuer.settings, token }, options)
  const expiresAt = Number(claims['exp']) * 1_000
  return { identified, expiresAt, key, keys: issuer.keys }
}

/** Whom a proven token names; a wrong audience or scope is this customer's failed attempt. */
function identify(
  claims: Readonly<Record<string, unknown>>,
  { issuer, token }: { readonly issuer: IssuerSettings; readonly token: string },
  { settings, pseudonymize }: OidcOptions,
): Identified {
  const named = identifier.safeParse(claimAt(claims, issuer.claim ?? settings.claim))
  if (!named.success) return refused('no customer claim')
  const clientId = named.data
  const known = { clientId, pseudonym: pseudonymize(clientId) }
  const counted = (reason: string) => ({ kind: 'counted', ...known, reason, token }) as const
  const problem = findGrantProblem(claims, issuer)
  if (problem !== undefined) return counted(problem)
  return { kind: 'customer', ...known }
}

function refused(reason: string): Identified {
  return { kind: 'refused', reason }
}
