import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { z } from 'zod'
import { createOfficeServer, type OfficeServer } from './server.js'

interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly jwk: object
}

const tokenRequest = z.object({
  clientId: z.string(),
  audience: z.string().default('tieline'),
  seconds: z.int().default(3_600),
})

/**
 * The simulated identity provider: discovery, keys, `POST /token` for the token of a customer without
 * a login page, and `POST /rotate` for a new key.
 */
export async function createDemoIdp(port: number): Promise<OfficeServer> {
  const keys = [createKey()]
  const server = await createOfficeServer(port, (request, fault) => {
    const issuer = server.url
    if (fault.kind === 'refuse') return { status: 500, body: {} }
    switch (request.path) {
      case '/.well-known/openid-configuration':
        return { status: 200, body: { issuer, jwks_uri: `${issuer}/jwks` } }
      case '/jwks':
        return { status: 200, body: { keys: keys.map(({ jwk }) => jwk) } }
      case '/rotate':
        keys.splice(0, keys.length, createKey())
        return { status: 200, body: {} }
      case '/token': {
        const { clientId, audience, seconds } = tokenRequest.parse(request.body)
        const key = keys.at(-1) as SigningKey
        const claims = { iss: issuer, sub: clientId, aud: audience }
        return { status: 200, body: { access_token: signToken(key, claims, seconds) } }
      }
      default:
        return { status: 404, body: {} }
    }
  })
  return server
}

function createKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const kid = randomUUID()
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
  return { kid, privateKey, jwk }
}

function signToken({ kid, privateKey }: SigningKey, claims: object, seconds: number): string {
  const now = Math.floor(Date.now() / 1_000)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = part({ alg: 'RS256', typ: 'at+jwt', kid })
  const payload = part({ ...claims, iat: now, exp: now + seconds, jti: randomUUID() })
  const signed = `${header}.${payload}`
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
}
