import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { headerOf } from './call.js'
import { exceptionOf } from './exception.js'

export interface Credentials {
  readonly user: string
  readonly password: string
}

export type Role = 'writer' | 'reader'

/** The user of a request. */
export interface StoreUser {
  readonly role: Role
  /** Name of its user. */
  readonly name: string
  /** Whether a reader may also see running statements, login attempts and the audit log. */
  readonly seesAudit: boolean
}

export interface KnownUsers extends Readonly<Record<Role, Credentials>> {
  /** A reader with a name and password of its own; undefined if there is none or the password is wrong. */
  readonly named: (credentials: Credentials) => StoreUser | undefined
}

/**
 * Authenticates a request by X-ClickHouse headers, Basic or URL, in ClickHouse's order. Throws
 * AUTHENTICATION_FAILED (516) without saying whether user or password was wrong. Passwords are compared in
 * constant time; the time of the whole answer may reveal whether a named reader exists.
 */
export function userOf(
  request: IncomingMessage,
  fields: URLSearchParams,
  known: KnownUsers,
): StoreUser {
  const shown = credentialsOf(request, fields)
  const isWriter = matches(shown, known.writer)
  const isReader = matches(shown, known.reader)
  if (isWriter) return { role: 'writer', name: shown.user, seesAudit: true }
  if (isReader) return { role: 'reader', name: shown.user, seesAudit: false }
  const named = known.named(shown)
  if (named !== undefined) return named
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
