import { createHmac, randomBytes } from 'node:crypto'
import { Fault } from '../../schemas/fault.js'
import type { BindSettings } from '../../schemas/settings/gateway-bind.js'
import type { GatewayRequest } from '../request.js'
import { createSemaphore } from '../semaphore.js'
import { createSingleFlight } from '../single-flight.js'
import { isPassword } from './password.js'

const scheme = /^basic +([A-Za-z0-9+/]{1,1024}={0,2})$/i

/** The part of a request that identifies its account. */
type Authorized = Pick<GatewayRequest, 'authorization'>

interface AccountsOptions extends Pick<BindSettings, 'users'> {
  /** Password checks, each some 0.1 s of a core, that run and that wait for others. */
  readonly checks?: { readonly atOnce: number; readonly waiting: number }
}

/** One of the four threads of the process, which tokens and files share: each kind of account has its own. */
const checksByDefault = { atOnce: 1, waiting: 100 }

/**
 * Finds the account of a request's name and password (RFC 7617), undefined if they are wrong. An
 * unknown name takes as long as a wrong password. Correct credentials are cached by a keyed hash,
 * because scrypt is slow on purpose and rows arrive a thousand times a second; failed logins never
 * lock out cached accounts. Throws `OVERLOAD` if too many checks wait.
 */
export function createAccounts({
  users,
  checks = checksByDefault,
}: AccountsOptions): (request: Authorized) => Promise<string | undefined> {
  const semaphore = createSemaphore(checks.atOnce)
  const checkOnce = createSingleFlight<string | undefined>()
  const key = randomBytes(32)
  /** By name, so that the same credentials, written in another way, take no place of others. */
  const proven = new Map<string, string>()
  const check = async (hashed: string, name: string, password: string) => {
    const checksMax = checks.atOnce + checks.waiting
    if (semaphore.inUse() >= checksMax)
      throw new Fault('OVERLOAD', `${checksMax} password checks run or wait`)
    const leave = await semaphore.acquire()
    const known = users.find((user) => user.name === name)
    const [some] = users
    const hash = (known ?? some)?.passwordHash ?? ''
    const isRight = await isPassword(password, hash).finally(leave)
    if (!isRight || known === undefined) return undefined
    proven.set(name, hashed)
    return name
  }
  return async ({ authorization }) => {
    const field = scheme.exec(authorization ?? '')?.[1]
    if (field === undefined) return undefined
    const text = Buffer.from(field, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    if (colon < 0) return undefined
    const name = text.slice(0, colon)
    const hashed = createHmac('sha256', key).update(text).digest('base64')
    if (proven.get(name) === hashed) return name
    return checkOnce(hashed, () => check(hashed, name, text.slice(colon + 1)))
  }
}
