import { type JsonObject, parseObject } from '../../schemas/json.js'
import type { Grant, Identified } from './identity.js'
import { describeMismatch, type Refused, refused } from './refusal.js'

/** The members of a token's header that are judged before its signature. */
export interface JwtHeader {
  readonly alg: string
  readonly kid: string | undefined
  readonly typ: string | undefined
}

/** What a token says, not verified yet. */
export interface JwtParts {
  readonly header: JwtHeader
  /** Parses the payload; undefined where it is not a JSON object. */
  claims(): Claims | undefined
}

export type Claims = JsonObject

const kidCharactersMax = 512

/**
 * Reads a token without verifying it: undefined unless it has three parts of canonical base64url and
 * no critical extensions. jose also accepts padding and non-zero trailing bits, which would let one
 * token be written in many ways.
 */
export function readJwt(token: string): JwtParts | undefined {
  const [head, body, signature, more] = token.split('.')
  if (head === undefined || body === undefined || signature === undefined) return undefined
  if (more !== undefined || !isCanonical(body) || !isCanonical(signature)) return undefined
  const header = readHeader(head)
  return header && { header, claims: () => parsePart(body) }
}

let latest: { readonly head: string; readonly header: JwtHeader } | undefined

/** Tokens of one provider share their header, so the latest one is not parsed again. */
function readHeader(head: string): JwtHeader | undefined {
  if (head === latest?.head) return latest.header
  const values = isCanonical(head) ? parsePart(head) : undefined
  if (values === undefined) return undefined
  const { alg, kid, typ, crit } = values
  if (typeof alg !== 'string' || crit !== undefined) return undefined
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > kidCharactersMax)) {
    return undefined
  }
  const header = { alg, kid, typ: typeof typ === 'string' ? typ.toLowerCase() : undefined }
  latest = { head, header }
  return header
}

const lastOf2 = /[AQgw]$/
const lastOf3 = /[AEIMQUYcgkosw048]$/

/**
 * Whether text is base64url (RFC 4648, section 5) without padding, and its last character has no
 * bits that decoding drops.
 */
export function isCanonical(text: string): boolean {
  if (!/^[\w-]+$/.test(text)) return false
  const rest = text.length % 4
  if (rest === 2) return lastOf2.test(text)
  return rest === 3 ? lastOf3.test(text) : rest === 0
}

function parsePart(part: string): Claims | undefined {
  return parseObject(Buffer.from(part, 'base64url').toString('utf8'))
}

const accessTypes = new Set(['at+jwt', 'application/at+jwt'])
const plainTypes = new Set([undefined, 'jwt', 'application/jwt'])

/** Whether the header's `typ` may be that of an access token: of RFC 9068, or of a plain JWT. */
export function mayBeAccess(header: JwtHeader, tokenType: 'any' | 'accessToken'): boolean {
  if (header.typ !== undefined && accessTypes.has(header.typ)) return true
  return tokenType === 'any' && plainTypes.has(header.typ)
}

const idTokenClaims = ['at_hash', 'c_hash', 's_hash']

/**
 * Whether claims are those of an ID token (OpenID Connect Core 1.0), or marked so by Keycloak or
 * Cognito. `nonce` proves nothing: providers copy it into access tokens.
 */
export function isIdToken(claims: Claims): boolean {
  if (idTokenClaims.some((name) => claims[name] !== undefined)) return true
  return claims['token_use'] === 'id' || claims['typ'] === 'ID'
}

/** The identifier at a claim's path: a string, or a whole number as a string. */
export function claimAt(claims: Claims, path: readonly string[]): string | undefined {
  let value: unknown = claims
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Claims)[name]
  }
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  return typeof value === 'string' ? value : undefined
}

/** What a verified token does not grant: it is for another audience, or lacks a scope. */
export function findGrantProblem(
  claims: Claims,
  needed: { readonly audience: readonly string[]; readonly scopes: readonly string[] },
): Refused | undefined {
  const { aud } = claims
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isMeant = named.some((one) => typeof one === 'string' && needed.audience.includes(one))
  if (needed.audience.length > 0 && !isMeant) {
    return refused('audience', describeMismatch(aud, needed.audience))
  }
  const { scopes } = grantOf(claims)
  if (needed.scopes.every((one) => scopes.includes(one))) return undefined
  return refused('scope', describeMismatch(scopes, needed.scopes))
}

/** Of the application: RFC 9068, OpenID Connect Core, Okta, and Entra ID in its version 1.0. */
const applicationClaims = ['client_id', 'azp', 'cid', 'appid']

/**
 * What a token grants. Providers name the application and the scopes differently: `scope` is of RFC 9068,
 * `scp` of Okta (a list) and Entra ID (a text).
 */
export function grantOf(claims: Claims): Grant {
  const named = applicationClaims.map((name) => claims[name])
  return {
    applications: [...new Set(named.filter((one) => typeof one === 'string'))],
    scopes: [...new Set([...scopesOf(claims['scope']), ...scopesOf(claims['scp'])])],
  }
}

function scopesOf(claim: unknown): readonly string[] {
  if (typeof claim === 'string') return claim.split(' ')
  return Array.isArray(claim) ? claim.filter((one) => typeof one === 'string') : []
}

/** Refuses a token that names no customer. What it grants is known only if it is valid otherwise. */
export function refuseUnnamed(
  claims: Claims,
  needed: Parameters<typeof findGrantProblem>[1],
): Identified {
  const refusal = refused('no customer claim')
  if (findGrantProblem(claims, needed) !== undefined) return refusal
  return { ...refusal, grant: grantOf(claims) }
}
