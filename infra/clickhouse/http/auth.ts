import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { headerOf } from './call.js'
import { exceptionOf } from './exception.js'

export interface Credentials {
  readonly user: string
  readonly password: string
}

export type Role = 'writer' | 'reader'

/**
 * Authenticates a request by X-ClickHouse headers, Basic or URL, in ClickHouse's order. Throws
 * AUTHENTICATION_FAILED (516) in constant time, without revealing whether user or password was wrong.
 */
export function roleOf(
  request: IncomingMessage,
  fields: URLSearchParams,
  known: Readonly<Record<Role, Credentials>>,
): Role {
  const shown = credentialsOf(request, fields)
  const isWriter = matches(shown, known.writer)
  const isReader = matches(shown, known.reader)
  if (isWriter) return 'writer'
  if (isReader) return 'reader'
  throw exceptionOf(
    'AUTHENTICATION_FAILED',
    `${shown.user}: Authentication failed: password is incorrect, or there is no user with such name`,
  )
}

function credentialsOf(request: IncomingMessage, fields: URLSearchParams): Credentials {
  const user = headerOf(request, 'x-clickhouse-user')
  const key = headerOf(request, 'x-clickhouse-key')
  if (user !== undefined || key !== undefined)
    return { user: user ?? 'default', password: key ?? '' }
  const basic = /^Basic (\S+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1]
  if (basic !== undefined) {
    const text = Buffer.from(basic, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    if (colon === -1) return { user: text, password: '' }
    return { user: text.slice(0, colon), password: text.slice(colon + 1) }
  }
  return { user: fields.get('user') ?? 'default', password: fields.get('password') ?? '' }
}

function matches(shown: Credentials, known: Credentials): boolean {
  const hash = ({ user, password }: Credentials): Buffer =>
    createHash('sha256')
      .update(JSON.stringify([user, password]))
      .digest()
  return timingSafeEqual(hash(shown), hash(known))
}
