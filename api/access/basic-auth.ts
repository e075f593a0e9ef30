import { createHmac, randomBytes } from 'node:crypto'
import { Fault } from '../../schemas/fault.js'
import type { BindSettings } from '../../schemas/settings/gateway-bind.js'
import type { GatewayRequest } from '../request.js'
import { isPassword } from './password.js'

const scheme = /^basic +([A-Za-z0-9+/]{1,1024}={0,2})$/i

/** The part of a request that identifies its account. */
type Authorized = Pick<GatewayRequest, 'authorization'>

interface AccountsOptions extends Pick<BindSettings, 'users'> {
  /** Concurrent password checks, each some 0.1 s of a core; unlimited by default. */
  readonly checksMax?: number
}

/**
 * Finds the account of a request's name and password (RFC 7617), undefined if they are wrong. An
 * unknown name takes as long as a wrong password. Correct credentials are cached by a keyed hash,
 * because scrypt is slow on purpose and rows arrive a thousand times a second; failed logins never
 * lock out cached accounts. Throws `OVERLOAD` above `checksMax` concurrent checks.
 */
export function createAccounts({
  users,
  checksMax = Number.POSITIVE_INFINITY,
}: AccountsOptions): (request: Authorized) => Promise<string | undefined> {
  let checking = 0
  const key = randomBytes(32)
  const proven = new Map<string, string>()
  return async ({ authorization }) => {
    const field = scheme.exec(authorization ?? '')?.[1]
    if (field === undefined) return undefined
    const hashed = createHmac('sha256', key).update(field).digest('base64')
    const again = proven.get(hashed)
    if (again !== undefined) return again
    const text = Buffer.from(field, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    if (colon < 0) return undefined
    if (checking >= checksMax)
      throw new Fault('OVERLOAD', `${checksMax} password checks are running`)
    checking++
    const known = users.find(({ name }) => name === text.slice(0, colon))
    const [some] = users
    const hash = (known ?? some)?.passwordHash ?? ''
    const isRight = await isPassword(text.slice(colon + 1), hash).finally(() => checking--)
    if (!isRight || known === undefined) return undefined
    if (proven.size < users.length) proven.set(hashed, known.name)
    return known.name
  }
}
