import {
  allowInsecureRequests,
  type Client,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
  processClientCredentialsResponse,
  ResponseBodyError,
  TlsClientAuth,
} from 'oauth4webapi'
import { Fault, type FaultCode } from '../schemas/fault.js'
import type { OauthSettings } from '../schemas/gateway/utility-server.js'
import type { SecretReference } from '../schemas/settings/secret.js'
import type { HttpClient } from './http-client.js'

/** Access tokens for a server of the utility's. */
export interface AccessTokens {
  /** A token that is valid for some time still; callers at the same time share one request. */
  get(): Promise<string>
  /** Has the next call ask for another token than this one. */
  drop(token: string): void
}

export interface AccessTokenOptions {
  readonly settings: OauthSettings
  readonly secret: (reference: SecretReference) => string
  readonly client: HttpClient
  /** The fault code of a token endpoint that gives no token, and the server it is for. */
  readonly fault: FaultCode
  readonly name: string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A token is used until a tenth of its time, at the most this long, is left. */
const marginMsMax = 60_000

/** The client credentials grant (RFC 6749, section 4.4). */
export function createAccessTokens(options: AccessTokenOptions): AccessTokens {
  let kept: { readonly token: string; readonly until: number } | undefined
  let asking: Promise<string> | undefined
  const ask = async (): Promise<string> => {
    const askedAt = options.now()
    const { access_token: token, expires_in: seconds } = await request(options)
    const ms = seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1_000
    kept = { token, until: askedAt + ms - Math.min(ms / 10, marginMsMax) }
    return token
  }
  return {
    get: async () => {
      if (kept !== undefined && kept.until > options.now()) return kept.token
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
    drop: (token) => {
      if (kept?.token === token) kept = undefined
    },
  }
}

async function request({ settings, secret, client, fault, name }: AccessTokenOptions) {
  const { tokenUrl, clientId, clientSecret, scope, audience, resource, secretIn } = settings
  const server = { issuer: tokenUrl, token_endpoint: tokenUrl }
  const self: Client = { client_id: clientId }
  const bySecret = secretIn === 'header' ? ClientSecretBasic : ClientSecretPost
  const authentication =
    clientSecret === undefined ? TlsClientAuth() : bySecret(secret(clientSecret))
  const wanted = { scope, audience, resource }
  const parameters = Object.entries(wanted).flatMap(([key, value]) => {
    return value === undefined ? [] : [[key, value]]
  })
  try {
    const response = await clientCredentialsGrantRequest(server, self, authentication, parameters, {
      // The settings allow http on loopback alone.
      [allowInsecureRequests]: true,
      [customFetch]: async (url, { headers, body }) => {
        const form = { type: 'application/x-www-form-urlencoded', body: String(body) }
        const answer = await client.send({
          method: 'POST',
          isIdempotent: true,
          url,
          headers,
          ...form,
        })
        return new Response(answer.text, {
          status: answer.status,
          headers: { 'Content-Type': answer.type },
        })
      },
    })
    return await processClientCredentialsResponse(server, self, response)
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const reason = cause instanceof ResponseBodyError ? cause.error : (cause as Error).message
    const detail = `${tokenUrl} gave no token for ${name} (${reason}): check oauth`
    throw new Fault(fault, detail, { cause })
  }
}
