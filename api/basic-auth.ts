import { createHmac, randomBytes } from 'node:crypto'
import type { BindSettings } from '../schemas/gateway-bind.js'
import { isPassword } from './password.js'
import type { GatewayRequest } from './request.js'

const scheme = /^basic +([A-Za-z0-9+/]{1,1024}={0,2})$/i

/** Where a request says who it is. */
type Authorized = Pick<GatewayRequest, 'authorization'>

/**
 * Tells whose name and password a request carries (RFC 7617), undefined where they are nobody's. A name that is not known costs as much time as one with a wrong password. What was right
 * is known again by its hash under a key of this process: a password is made to be slow, and rows
 * come a thousand times a second.
 */
export function createAccounts({
  users,
}: Pick<BindSettings, 'users'>): (request: Authorized) => Promise<string | undefined> {
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
    const known = users.find(({ name }) => name === text.slice(0, colon))
    const [some] = users
    const hash = (known ?? some)?.passwordHash ?? ''
    const isRight = await isPassword(text.slice(colon + 1), hash)
    if (!isRight || known === undefined) return undefined
    if (proven.size < users.length) proven.set(hashed, known.name)
    return known.name
  }
}

/** Whether a request carries name and password of a service account. */
export function createBasicAuth(
  settings: Pick<BindSettings, 'users'>,
): (request: GatewayRequest) => Promise<boolean> {
  const whose = createAccounts(settings)
  return async (request) => (await whose(request)) !== undefined
}
