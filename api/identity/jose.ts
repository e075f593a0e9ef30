import { KeyObject } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  createLocalJWKSet,
  errors,
  type JWK,
  type JWTPayload,
  jwtVerify,
} from 'jose'
import { describeExpiry, describeMismatch } from './refusal.js'

/** A key of a provider, for one algorithm. */
export interface TrustedKey {
  readonly kid: string | undefined
  readonly algorithm: string
  readonly key: CryptoKey
  /** RFC 7638: equal for equal keys, whatever their `kid`. */
  readonly thumbprint: string
}

const keysMax = 100
const rsaBitsMin = 2_048
const exponentMin = 65_537n

/**
 * The keys of a JWKS (RFC 7517), once for each algorithm that jose allows them to verify. Keys that
 * are weak or not usable are skipped, as section 5 of the RFC asks.
 */
export async function readKeys(
  jwks: Readonly<Record<string, unknown>>,
  algorithms: readonly string[],
): Promise<readonly TrustedKey[]> {
  const { keys } = jwks
  if (!Array.isArray(keys)) return []
  const read = await Promise.all(
    keys
      .slice(0, keysMax)
      .flatMap((jwk: JWK) => algorithms.map((algorithm) => readKey(jwk, algorithm))),
  )
  return read.filter((key) => key !== undefined)
}

/** jose decides by `kty`, `crv`, `alg`, `use` and `key_ops`; it does not look at the exponent. */
async function readKey(jwk: JWK, algorithm: string): Promise<TrustedKey | undefined> {
  try {
    const key = await createLocalJWKSet({ keys: [jwk] })({ alg: algorithm })
    if (!isStrong(KeyObject.from(key))) return undefined
    const kid = typeof jwk.kid === 'string' ? jwk.kid : undefined
    return { kid, algorithm, key, thumbprint: await calculateJwkThumbprint(jwk) }
  } catch {
    return undefined
  }
}

/** RSA of at least 2,048 bits with an exponent of at least 65,537, or another kind of key. */
export function isStrong(key: KeyObject): boolean {
  if (key.asymmetricKeyType !== 'rsa') return true
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  return modulusLength >= rsaBitsMin && publicExponent >= exponentMin
}

export interface Expected {
  readonly issuer: string
  readonly clockToleranceSeconds: number
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The claims of a token that its issuer signed and that is valid now, or why they do not count. */
export type Verdict =
  | { readonly claims: JWTPayload; readonly expiresAt: number; readonly problem?: never }
  | { readonly problem: string; readonly detail?: string }

/**
 * Verifies signature, issuer and times. The audience is checked later: a token for another audience
 * counts against its customer, but only if it is valid in every other respect.
 */
export function verifyToken(
  token: string,
  { key, algorithm }: TrustedKey,
  { issuer, clockToleranceSeconds, now }: Expected,
): Promise<Verdict> {
  return jwtVerify(token, key, {
    issuer,
    algorithms: [algorithm],
    requiredClaims: ['exp'],
    clockTolerance: clockToleranceSeconds,
    currentDate: new Date(now),
  }).then(toVerdict, (error: unknown) => toProblem(error, { issuer, now }))
}

/** JSON has numbers beyond the largest double, such as 1e999: jose would accept them forever. */
function toVerdict({ payload }: { readonly payload: JWTPayload }): Verdict {
  const expiresAt = Number(payload.exp) * 1_000
  return Number.isFinite(expiresAt) ? { claims: payload, expiresAt } : { problem: 'claim exp' }
}

/** Signature before claims: what an error shows of them is the issuer's own. */
function toProblem(error: unknown, { issuer, now }: Pick<Expected, 'issuer' | 'now'>): Verdict {
  if (error instanceof errors.JWSSignatureVerificationFailed) return { problem: 'signature' }
  if (error instanceof errors.JWTExpired) {
    const detail = describeExpiry(Number(error.payload.exp) * 1_000, now)
    return { problem: 'expired', detail }
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim !== 'iss') return { problem: `claim ${error.claim}` }
    return { problem: 'issuer', detail: describeMismatch(error.payload.iss, [issuer]) }
  }
  if (error instanceof errors.JOSEError) return { problem: 'malformed token' }
  throw error
}
