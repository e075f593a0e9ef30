import { createAccounts } from '../../api/access/basic-auth.js'
import { Fault } from '../../schemas/fault.js'
import type { OperationsSettings } from '../../schemas/settings/worker.js'

/** The user of a name and a password, or the response that refuses them. */
export type Admission =
  | { readonly who: string }
  | { readonly status: 401 | 403 | 503; readonly text: string }

/** Checks the field `Authorization` of basic authentication. */
export type Login = (authorization: string | undefined) => Promise<Admission>

/** Half of the thread pool, which file access shares. */
const checks = { atOnce: 2, waiting: 0 }

export const signInText = 'user name and password required'

/** Checks passwords, two at one time, and reports wrong ones. */
export function createPasswordCheck(
  users: NonNullable<OperationsSettings['users']>,
  onFailure: (fault: Fault) => void,
): Login {
  const reportWrong = createWrongLogins(onFailure)
  const whose = createAccounts({ users, checks })
  return async (authorization) => {
    const who = await whose({ authorization }).catch(onOverload)
    if (who === overload) return { status: 503, text: 'too many concurrent logins; try again' }
    if (who !== undefined) return { who }
    const name = toName(authorization)
    if (name !== undefined) reportWrong(users.find((user) => user.name === name)?.name)
    return { status: 401, text: signInText }
  }
}

/** The field of basic authentication for a name and a password. */
export function toAuthorization(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

const reportMs = 10_000

/**
 * Reports wrong logins: the first at once, others together every ten seconds. A name that is not a
 * user's may be a password in the wrong field, so it is not written down.
 */
function createWrongLogins(onFailure: (fault: Fault) => void): (name: string | undefined) => void {
  const counts = new Map<string, number>()
  let waiting: NodeJS.Timeout | undefined
  const report = () => {
    waiting = undefined
    if (counts.size === 0) return
    const shown = [...counts].map(([name, count]) => `${name} ${count}`).join(', ')
    counts.clear()
    onFailure(new Fault('PERMISSION', `wrong logins to the operations page: ${shown}`))
    waiting = setTimeout(report, reportMs).unref()
  }
  return (name = 'unknown names') => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    if (waiting === undefined) report()
  }
}

/** The name of basic authentication; undefined without one. */
function toName(authorization: string | undefined): string | undefined {
  const field = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (field === undefined) return undefined
  return Buffer.from(field, 'base64').toString('utf8').split(':')[0]
}

const overload = Symbol('too many concurrent logins')

function onOverload(error: unknown): typeof overload {
  if (error instanceof Fault && error.code === 'OVERLOAD') return overload
  throw error
}
