import { createHmac, randomBytes } from 'node:crypto'
import { Fault } from '../../schemas/fault.js'
import type { BindSettings } from '../../schemas/settings/gateway-bind.js'
import type { GatewayRequest } from '../request.js'
import { isPassword } from './password.js'

const scheme = /^basic +([A-Za-z0-9+/]{1,1024}={0,2})$/i

/** Where a request says who it is. */
type Authorized = Pick<GatewayRequest, 'authorization'>

interface AccountsOptions extends Pick<BindSettings, 'users'> {
  /** Passwords that are judged at once, each some 0.1 s of a core; without it any number. */
  readonly judgedMax?: number
}

/**
 * Tells whose name and password a request carries (RFC 7617), undefined where they are nobody's. A
 * name that is not known costs as much time as one with a wrong password. What was right is known
 * again by its hash under a key of this process: a password is made to be slow, and rows come a
 * thousand times a second; whoever guesses does not keep such a one out. Throws `OVERLOAD` beyond
 * `judgedMax`.
 */
export function createAccounts({
  users,
  judgedMax = Number.POSITIVE_INFINITY,
}: AccountsOptions): (request: Authorized) => Promise<string | undefined> {
  let judged = 0
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
    if (judged >= judgedMax) throw new Fault('OVERLOAD', `${judgedMax} passwords are judged`)
    judged++
    const known = users.find(({ name }) => name === text.slice(0, colon))
    const [some] = users
    const hash = (known ?? some)?.passwordHash ?? ''
    const isRight = await isPassword(text.slice(colon + 1), hash).finally(() => judged--)
    if (!isRight || known === undefined) return undefined
    if (proven.size < users.length) proven.set(hashed, known.name)
    return known.name
  }
}

/** Whether a request carries name and password of a service account. */
export function createBasicAuth(
  settings: Pick<BindSettings, 'users'>,
): (request: GatewayRequest) => Promise<boolean> {
  const accountOf = createAccounts(settings)
  return async (request) => (await accountOf(request)) !== undefined
}
