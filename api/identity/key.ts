import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'

/** A key of a provider that may be trusted. */
export interface TrustedKey {
  readonly kid: string | undefined
  /** The algorithm that it is for, where the provider says so. */
  readonly algorithm: string | undefined
  readonly type: 'RSA' | 'EC' | 'OKP'
  readonly curve: string | undefined
  readonly object: KeyObject
  /** Equal for equal keys, whatever they are called. */
  readonly id: string
}

const rsaBitsMin = 2_048
const exponentMin = 65_537n
const keysMax = 100
const curves = { EC: ['P-256', 'P-384', 'P-521'], OKP: ['Ed25519'] } as const

/**
 * The keys of a JWKS (RFC 7517) that may verify a token: for signatures, asymmetric, RSA of at least
 * 2,048 bits with an exponent of at least 65,537. Others are passed over, as the RFC asks.
 */
export function readKeys(jwks: Readonly<Record<string, unknown>>): readonly TrustedKey[] {
  const { keys } = jwks
  if (!Array.isArray(keys)) return []
  return keys.slice(0, keysMax).flatMap((jwk: unknown) => {
    const key = toKey(jwk)
    return key === undefined ? [] : [key]
  })
}

function toKey(value: unknown): TrustedKey | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const jwk = value as JsonWebKey & Readonly<Record<string, unknown>>
  const { kty, use, kid, alg, crv } = jwk
  if (kty !== 'RSA' && kty !== 'EC' && kty !== 'OKP') return undefined
  if (use !== undefined && use !== 'sig') return undefined
  const operations = jwk['key_ops']
  if (Array.isArray(operations) && !operations.includes('verify')) return undefined
  if (kty !== 'RSA' && !(curves[kty] as readonly (string | undefined)[]).includes(crv)) {
    return undefined
  }
  const object = importKey(jwk)
  if (object === undefined || !isStrong(object)) return undefined
  return {
    kid: typeof kid === 'string' ? kid : undefined,
    algorithm: typeof alg === 'string' ? alg : undefined,
    type: kty,
    curve: crv,
    object,
    id: object.export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

function importKey(jwk: JsonWebKey): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
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

const kinds: Readonly<Record<string, { type: TrustedKey['type']; curve?: string }>> = {
  RS256: { type: 'RSA' },
  RS384: { type: 'RSA' },
  RS512: { type: 'RSA' },
  PS256: { type: 'RSA' },
  PS384: { type: 'RSA' },
  PS512: { type: 'RSA' },
  ES256: { type: 'EC', curve: 'P-256' },
  ES384: { type: 'EC', curve: 'P-384' },
  ES512: { type: 'EC', curve: 'P-521' },
  EdDSA: { type: 'OKP', curve: 'Ed25519' },
}

/** Whether a key may verify a signature of an algorithm. */
export function fits(key: TrustedKey, algorithm: string): boolean {
  const kind = kinds[algorithm]
  if (kind === undefined || kind.type !== key.type) return false
  if (kind.curve !== undefined && kind.curve !== key.curve) return false
  return key.algorithm === undefined || key.algorithm === algorithm
}
