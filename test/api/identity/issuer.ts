import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { createOfficeServer } from '../../../infra/demo/back-office/server.js'

export interface Signer {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly jwk: object
}

/** An issuer whose keys and tokens a test makes as it likes. */
export interface Issuer {
  readonly url: string
  /** What the next fetch of the keys gives. */
  keys: object[]
  /** How often keys were fetched. */
  fetches(): number
  token(more?: TokenParts): string
  close(): Promise<void>
}

export interface TokenParts {
  readonly header?: object
  readonly claims?: object
  readonly by?: Signer
}

export function createSigner(modulusLength = 2_048): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength })
  const kid = randomUUID()
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
  return { kid, privateKey, publicKey, jwk }
}

export async function createIssuer(signer: Signer): Promise<Issuer> {
  let fetches = 0
  const server = await createOfficeServer(0, ({ path }) => {
    if (path !== '/jwks') {
      return { status: 200, body: { issuer: server.url, jwks_uri: `${server.url}/jwks` } }
    }
    fetches++
    return { status: 200, body: { keys: issuer.keys } }
  })
  const issuer: Issuer = {
    url: server.url,
    keys: [signer.jwk],
    fetches: () => fetches,
    token: ({ header, claims, by = signer } = {}) => {
      const now = Math.floor(Date.now() / 1_000)
      const body = { iss: server.url, sub: 'C-1', aud: 'tieline', exp: now + 600, ...claims }
      const signed = `${part({ alg: 'RS256', kid: by.kid, ...header })}.${part(body)}`
      return `${signed}.${sign('sha256', Buffer.from(signed), by.privateKey).toString('base64url')}`
    },
    close: server.close,
  }
  return issuer
}

export function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Signed with a shared secret, for which somebody takes the public key. */
export function hs256(header: object, claims: object, secret: string): string {
  const signed = `${part({ alg: 'HS256', ...header })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
