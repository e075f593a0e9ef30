import { createHmac, randomBytes } from 'node:crypto'
import type { BindSettings } from '../schemas/gateway-bind.js'
import { isPassword } from './password.js'
import type { GatewayRequest } from './request.js'

const scheme = /^basic +([A-Za-z0-9+/]{1,1024}={0,2})$/i

/**
 * Whether a request carries name and password of a service account (RFC 7617). A name that is not
 * known costs as much time as one with a wrong password. What was right is known again by its hash
 * under a key of this process: a password is made to be slow, and rows come a thousand times a second.
 */
export function createBasicAuth({
  users,
}: Pick<BindSettings, 'users'>): (request: GatewayRequest) => Promise<boolean> {
  const key = randomBytes(32)
  const proven = new Set<string>()
  return async (request) => {
    const field = scheme.exec(request.authorization ?? '')?.[1]
    if (field === undefined) return false
    const hashed = createHmac('sha256', key).update(field).digest('base64')
    if (proven.has(hashed)) return true
    const text = Buffer.from(field, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    if (colon < 0) return false
    const known = users.find(({ name }) => name === text.slice(0, colon))
    const [some] = users
    const hash = (known ?? some)?.passwordHash ?? ''
    const isRight = await isPassword(text.slice(colon + 1), hash)
    if (!isRight || known === undefined) return false
    if (proven.size < users.length) proven.add(hashed)
    return true
  }
}
