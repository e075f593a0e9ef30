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
export function createAdmit({ host, users, tls }: OperationsSettings): Admit {
  const whose = users && createAccounts({ users, checksMax: judgedMax })
  const takesCertificates = tls?.clientCaFile !== undefined
  return async (request) => {
    const holder = takesCertificates ? holderOf(request.socket as TLSSocket) : undefined
    if (holder !== undefined) return { who: holder }
    if (whose !== undefined) {
      const { authorization } = request.headers
      const who = await whose({ authorization }).catch(onOverload)
      if (who === overload) return { status: 503, text: 'too many concurrent logins; try again' }
      return who === undefined ? { status: 401, text: 'user name and password required' } : { who }
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
