import type { GatewayRequest } from '../request.js'

/** The token of a request, or why there is none that could be looked at. */
export type TokenReading =
  | { readonly token: string; readonly problem?: never }
  | { readonly token?: never; readonly problem: string }

const scheme = 'bearer '

/**
 * Reads `Authorization: Bearer <token>` (RFC 6750, section 2.1), the only place a token is taken
 * from. Two fields arrive joined by a comma, which no driver takes for a token.
 */
export function readToken(request: GatewayRequest, tokenBytesMax: number): TokenReading {
  const field = request.authorization
  if (field === undefined) return { problem: 'no token' }
  if (field.length > tokenBytesMax + scheme.length) return { problem: 'token too long' }
  if (!hasScheme(field)) return { problem: 'other scheme' }
  const token = field.slice(scheme.length)
  if (token === '') return { problem: 'no token' }
  return { token }
}

function hasScheme(field: string): boolean {
  if (field.startsWith('Bearer ')) return true
  return field.slice(0, scheme.length).toLowerCase() === scheme
}
