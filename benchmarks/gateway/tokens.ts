import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { demoPeople } from '../../infra/demo/back-office/people.js'

const signLater = promisify<string, Buffer, KeyObject, Buffer>(sign)

export interface SignedTokens {
  readonly jwk: object
  /** The public key, PEM. */
  readonly pem: string
  readonly tokens: readonly string[]
}

/** The customers of the CIS; those who may log in have tokens. */
export const people = { seed: 1, count: 3_000 } as const
const lifetimeSeconds = 6 * 3_600
const atOnce = 64

/** Customers of the CIS who may log in. */
const active = (): readonly string[] =>
  [...demoPeople(people.seed, people.count).values()]
    .filter(({ locked, AcctStatus }) => !locked && AcctStatus !== 'F')
    .map(({ clientId }) => clientId)

/** Signs access tokens for customers in turn, RS256 with a key of 2,048 bits. */
export async function signTokens(
  issuer: string,
  count: number,
  clientIds = active(),
): Promise<SignedTokens> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = part({ alg: 'RS256', typ: 'at+jwt', kid: 'bench' })
  const iat = Math.floor(Date.now() / 1_000)
  const shared = { iss: issuer, aud: 'tieline', iat, exp: iat + lifetimeSeconds }
  const signOne = async (index: number): Promise<string> => {
    const payload = part({ ...shared, sub: clientIds[index % clientIds.length], jti: index })
    const signature = await signLater('sha256', Buffer.from(`${header}.${payload}`), privateKey)
    return `${header}.${payload}.${signature.toString('base64url')}`
  }
  const tokens: string[] = []
  for (let from = 0; from < count; from += atOnce) {
    const length = Math.min(atOnce, count - from)
    tokens.push(...(await Promise.all(Array.from({ length }, (_, at) => signOne(from + at)))))
  }
  return {
    jwk: { ...publicKey.export({ format: 'jwk' }), kid: 'bench', use: 'sig', alg: 'RS256' },
    pem: String(publicKey.export({ type: 'spki', format: 'pem' })),
    tokens,
  }
}
