import { identifierSchema } from '../../schemas/gateway/customer.js'
import type { IssuerSettings, OidcSettings } from '../../schemas/settings/gateway-identity.js'
import { createFairQueue } from '../fair-queue.js'
import { createHttpClient } from '../http-client.js'
import type { Identified, Identity, IdentityOptions } from './identity.js'
import { type TrustedKey, type Verdict, verifyToken } from './jose.js'
import {
  type Claims,
  claimAt,
  findGrantProblem,
  grantOf,
  isIdToken,
  mayBeAccess,
  readJwt,
  refuseUnnamed,
} from './jwt.js'
import { createKeySet, type KeySet } from './key-set.js'
import { describeMismatch, type Refused, refused } from './refusal.js'
import { createTokenCache } from './token-cache.js'

/** A signature takes the main thread some 50 us. */
const checksATurnMax = 32

export interface OidcOptions extends IdentityOptions {
  readonly settings: OidcSettings
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
 * Judges JWTs of OpenID providers (RFC 7519, RFC 8725, RFC 9068). A verified token is remembered by
 * its hash until it expires or its key is withdrawn.
 */
export function createOidc(options: OidcOptions): Identity {
  const { settings, now, onFailure, report } = options
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
          report,
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
  const [first] = issuers.values()
  const judging = { ...options, issuers, sole: issuers.size === 1 ? first : undefined }
  const judgeAndKeep = (token: string): Identified | Promise<Identified> => {
    const verified = judge(token, judging)
    if (verified instanceof Promise) return verified.then((one) => keep(token, one))
    return verified
  }
  const turns = createFairQueue(checksATurnMax)
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

interface JudgeOptions extends OidcOptions {
  readonly issuers: ReadonlyMap<string, Issuer>
  /** Where there is one issuer only, and its key is known, `iss` is read after the signature. */
  readonly sole: Issuer | undefined
}
type Judged = Verified | Identified

/** Synchronous if the token is refused before its signature is verified. */
function judge(token: string, options: JudgeOptions): Identified | Promise<Judged> {
  const { settings, issuers } = options
  const jwt = readJwt(token)
  if (jwt === undefined) return refused('malformed token')
  const { header } = jwt
  const algorithm = settings.algorithms.find((name) => name === header.alg)
  if (algorithm === undefined) return refused('algorithm')
  if (!mayBeAccess(header, settings.tokenType)) return refused('token type')
  const prove = (issuer: Issuer, key: TrustedKey | undefined) =>
    key === undefined ? refused('unknown key') : verifyBy({ token, key, issuer }, options)
  const issuerOf = (): Issuer | Refused => {
    const iss = jwt.claims()?.['iss']
    const issuer = typeof iss === 'string' ? issuers.get(iss) : undefined
    return issuer ?? refused('issuer', describeMismatch(iss, [...issuers.keys()]))
  }
  const known = options.sole?.keys.known(algorithm, header.kid)
  if (options.sole !== undefined && known !== undefined) {
    return verifyBy({ token, key: known, issuer: options.sole }, options).then((judged) => {
      if (!('kind' in judged && judged.kind === 'refused' && judged.reason === 'signature')) {
        return judged
      }
      // Without key ids the key of any token is known: it may be that of another provider.
      const issuer = issuerOf()
      return 'kind' in issuer ? issuer : judged
    })
  }
  const issuer = issuerOf()
  if ('kind' in issuer) return issuer
  const found = issuer.keys.find(algorithm, header.kid)
  return found instanceof Promise ? found.then((key) => prove(issuer, key)) : prove(issuer, found)
}

function verifyBy(candidate: Candidate, options: OidcOptions): Promise<Judged> {
  const { token, key, issuer } = candidate
  const { clockToleranceSeconds } = options.settings
  const expected = { issuer: issuer.settings.issuer, clockToleranceSeconds, now: options.now() }
  return verifyToken(token, key, expected).then((verdict) => conclude(verdict, candidate, options))
}

interface Candidate {
  readonly token: string
  readonly key: TrustedKey
  readonly issuer: Issuer
}

/** No claim is used before the signature is verified. */
function conclude(verdict: Verdict, candidate: Candidate, options: OidcOptions): Judged {
  if (verdict.problem !== undefined) return refused(verdict.problem, verdict.detail)
  const { claims, expiresAt } = verdict
  if (isIdToken(claims)) return refused('ID token')
  const { key, issuer } = candidate
  return { identified: identify(claims, candidate, options), expiresAt, key, keys: issuer.keys }
}

/** The customer of a verified token. */
function identify(
  claims: Claims,
  { issuer }: Candidate,
  { settings, pseudonymize }: OidcOptions,
): Identified {
  const named = identifierSchema.safeParse(claimAt(claims, issuer.settings.claim ?? settings.claim))
  if (!named.success) return refuseUnnamed(claims, issuer.settings)
  const clientId = named.data
  const problem = findGrantProblem(claims, issuer.settings)
  if (problem !== undefined) return problem
  return { kind: 'customer', clientId, pseudonym: pseudonymize(clientId), grant: grantOf(claims) }
}
