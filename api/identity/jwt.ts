/** The two parts of a token that are read before its signature is. */
export interface JwtHeader {
  readonly alg: string
  readonly kid: string | undefined
  readonly typ: string | undefined
}

const kidCharactersMax = 512

/**
 * Reads a token's header where the token is three parts of canonical base64url (RFC 4648, section 5:
 * no padding, no stray bits) and no extension must be understood; undefined for anything else.
 */
export function readHeader(token: string): JwtHeader | undefined {
  const parts = token.split('.')
  const [head = ''] = parts
  if (parts.length !== 3 || !parts.every(isCanonical)) return undefined
  const header = parsePart(head)
  if (header === undefined) return undefined
  const { alg, kid, typ, crit } = header
  if (typeof alg !== 'string' || crit !== undefined) return undefined
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > kidCharactersMax)) {
    return undefined
  }
  return { alg, kid, typ: typeof typ === 'string' ? typ.toLowerCase() : undefined }
}

/** What a token claims, not proved yet; undefined where it is no object. */
export function readClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  return parsePart(token.split('.')[1] ?? '')
}

const stray2 = /[AQgw]$/
const stray3 = /[AEIMQUYcgkosw048]$/

export function isCanonical(part: string): boolean {
  if (part === '' || !/^[A-Za-z0-9_-]+$/.test(part)) return false
  const rest = part.length % 4
  if (rest === 2) return stray2.test(part)
  return rest === 3 ? stray3.test(part) : rest === 0
}

function parsePart(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

const accessTypes = new Set(['at+jwt', 'application/at+jwt'])
const plainTypes = new Set([undefined, 'jwt', 'application/jwt'])

/** Whether the header's type may be an access token's: RFC 9068's own, or a plain JWT's. */
export function mayBeAccess(header: JwtHeader, tokenType: 'any' | 'accessToken'): boolean {
  if (header.typ !== undefined && accessTypes.has(header.typ)) return true
  return tokenType === 'any' && plainTypes.has(header.typ)
}

/** Claims that only ID tokens carry (OpenID Connect Core 1.0), and how two providers mark them. */
export function isIdToken(claims: Readonly<Record<string, unknown>>): boolean {
  const marks = ['nonce', 'at_hash', 'c_hash', 's_hash']
  if (marks.some((name) => claims[name] !== undefined)) return true
  return claims['token_use'] === 'id' || claims['typ'] === 'ID'
}

/** The identifier at a claim's path: a text, or a whole number as text. */
export function claimAt(
  claims: Readonly<Record<string, unknown>>,
  path: readonly string[],
): string | undefined {
  let value: unknown = claims
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  return typeof value === 'string' ? value : undefined
}

/** What a proven token was not given: it is meant for somebody else, or for less. */
export function findGrantProblem(
  claims: Readonly<Record<string, unknown>>,
  needed: { readonly audience: readonly string[]; readonly scopes: readonly string[] },
): 'audience' | 'scope' | undefined {
  const { aud, scope } = claims
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isMeant = named.some((one) => typeof one === 'string' && needed.audience.includes(one))
  if (needed.audience.length > 0 && !isMeant) return 'audience'
  const scopes = String(scope ?? '').split(' ')
  return needed.scopes.every((one) => scopes.includes(one)) ? undefined : 'scope'
}
