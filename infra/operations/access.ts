import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { createAccounts } from '../../api/access/basic-auth.js'
import { Fault } from '../../schemas/fault.js'
import type { OperationsSettings } from '../../schemas/settings/worker.js'

/** The user of a request, or the response that refuses it. */
export type Admission =
  | { readonly who: string }
  | { readonly status: 401 | 403 | 503; readonly text: string }

export type Admit = (request: IncomingMessage) => Promise<Admission>

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i
/** Half of the thread pool, which file access shares. */
const judgedMax = 2

/** The user name of everyone who can use the machine itself. */
export const localWho = 'loopback'

/**
 * Access to the page. On loopback everyone on the machine has access, unless the profile names users.
 * Any other address requires a client certificate of `tls.clientCaFile` or one of `users`. A request
 * to loopback under another host name comes from a foreign page in a browser (DNS rebinding).
 */
export function createAdmit(
  { host, users, tls }: OperationsSettings,
  onFailure: (fault: Fault) => void = () => undefined,
): Admit {
  const reportWrong = createWrongLogins(onFailure)
  const whose = users && createAccounts({ users, checksMax: judgedMax })
  const takesCertificates = tls?.clientCaFile !== undefined
  return async (request) => {
    const holder = takesCertificates ? holderOf(request.socket as TLSSocket) : undefined
    if (holder !== undefined) return { who: holder }
    if (whose !== undefined) {
      const { authorization } = request.headers
      const who = await whose({ authorization }).catch(onOverload)
      if (who === overload) return { status: 503, text: 'too many concurrent logins; try again' }
      if (who !== undefined) return { who }
      const name = toName(authorization)
      if (name !== undefined) reportWrong(users?.find((user) => user.name === name)?.name)
      return { status: 401, text: 'user name and password required' }
    }
    if (takesCertificates) {
      return { status: 403, text: 'client certificate required, signed by tls.clientCaFile' }
    }
    if (!loopback.test(host)) {
      const text = `this page is not served on ${host}: set worker.operations.users or tls.clientCaFile`
      return { status: 403, text }
    }
    const named = (request.headers.host ?? '').replace(/:\d+$/, '')
    if (loopback.test(named)) return { who: localWho }
    return { status: 403, text: 'open this page as localhost or 127.0.0.1' }
  }
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

/** The name of basic authentication; undefined if a browser has not asked for one yet. */
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

/** The common name of a certificate that its authority signed. */
function holderOf(socket: TLSSocket): string | undefined {
  if (!socket.authorized) return undefined
  const name = socket.getPeerCertificate().subject?.CN
  return Array.isArray(name) ? name[0] : name
}

/** Whether a request that changes something was sent by the page itself. */
export function isOwn({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers
  if (origin === undefined || !URL.canParse(origin)) return false
  const site = headers['sec-fetch-site']
  return new URL(origin).host === host && (site === undefined || site === 'same-origin')
}
