import { constants, type KeyObject, verify } from 'node:crypto'

interface Method {
  readonly hash: string | undefined
  readonly padding?: number
  readonly saltLength?: number
  readonly dsaEncoding?: 'ieee-p1363'
}

const pkcs1 = { padding: constants.RSA_PKCS1_PADDING } as const
const pss = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
} as const
const plain = { dsaEncoding: 'ieee-p1363' } as const

/** How each algorithm signs (RFC 7518, section 3; RFC 8037): a table, so that no token chooses more. */
const methods: Readonly<Record<string, Method>> = {
  RS256: { hash: 'sha256', ...pkcs1 },
  RS384: { hash: 'sha384', ...pkcs1 },
  RS512: { hash: 'sha512', ...pkcs1 },
  PS256: { hash: 'sha256', ...pss },
  PS384: { hash: 'sha384', ...pss },
  PS512: { hash: 'sha512', ...pss },
  ES256: { hash: 'sha256', ...plain },
  ES384: { hash: 'sha384', ...plain },
  ES512: { hash: 'sha512', ...plain },
  EdDSA: { hash: undefined },
}

/**
 * Whether a token's signature is its key's. The key must fit the algorithm, which the caller has
 * seen to. The work is done beside this thread, by the call with the least to do on it: WebCrypto's
 * costs the thread more than the verification takes, some 30 microseconds for RSA with 2,048 bits.
 */
export function isSigned(token: string, algorithm: string, key: KeyObject): Promise<boolean> {
  const method = Object.hasOwn(methods, algorithm) ? methods[algorithm] : undefined
  if (method === undefined) return Promise.resolve(false)
  const dot = token.lastIndexOf('.')
  const { hash, ...how } = method
  const signed = Buffer.from(token.slice(0, dot), 'latin1')
  const signature = Buffer.from(token.slice(dot + 1), 'base64url')
  return new Promise((resolve, reject) => {
    verify(hash, signed, { key, ...how }, signature, (error, isGood) => {
      if (error === null) resolve(isGood)
      else reject(error)
    })
  })
}

/** What is wrong with a token's times (RFC 7519, sections 4.1.4 and 4.1.5); seconds since 1970. */
export function findTimeProblem(
  claims: Readonly<Record<string, unknown>>,
  now: number,
  toleranceSeconds: number,
): 'expired' | 'claim exp' | 'claim nbf' | undefined {
  const { exp, nbf } = claims
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'claim exp'
  if (nbf !== undefined && typeof nbf !== 'number') return 'claim nbf'
  if (exp <= now - toleranceSeconds) return 'expired'
  if (nbf !== undefined && nbf > now + toleranceSeconds) return 'claim nbf'
  return undefined
}
