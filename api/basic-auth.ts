import type { BindSettings } from '../schemas/gateway-bind.js'
import { isPassword } from './password.js'
import type { GatewayRequest } from './request.js'

const scheme = /^basic +([A-Za-z0-9+/]{1,1024}={0,2})$/i

/**
 * Whether a request carries name and password of a service account (RFC 7617). A name that is not
 * known costs as much time as one with a wrong password.
 */
export function createBasicAuth({
  users,
}: BindSettings): (request: GatewayRequest) => Promise<boolean> {
  return async (request) => {
    const field = scheme.exec(request.authorization ?? '')?.[1]
    if (field === undefined) return false
    const text = Buffer.from(field, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    if (colon < 0) return false
    const known = users.find(({ name }) => name === text.slice(0, colon))
    const [some] = users
    const hash = (known ?? some)?.passwordHash ?? ''
    const isRight = await isPassword(text.slice(colon + 1), hash)
    return isRight && known !== undefined
  }
}
