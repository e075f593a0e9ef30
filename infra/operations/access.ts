import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { createAccounts } from '../../api/access/basic-auth.js'
import { Fault } from '../../schemas/fault.js'
import type { OperationsSettings } from '../../schemas/settings/worker.js'

/** Who may see the page, or how the others are answered. */
export type Admission =
  | { readonly who: string }
  | { readonly status: 401 | 403 | 503; readonly text: string }

export type Admit = (request: IncomingMessage) => Promise<Admission>

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i
/** Half of the threads that read and write files. */
const judgedMax = 2

/** What a name of nobody in particular stands for: whoever may use the machine itself. */
export const localWho = 'loopback'

/**
 * Who opens the page. On loopback it is whoever is on the machine, unless the profile names users;
 * on any other address it takes a client certificate of `tls.clientCaFile` or one of `users`. What
 * comes to loopback under another name than its own was sent there by some page in a browser.
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
      if (who === overload) return { status: 503, text: 'too many log in at once; try again' }
      return who === undefined ? { status: 401, text: 'name and password, please' } : { who }
    }
    if (takesCertificates) {
      return { status: 403, text: 'a client certificate of tls.clientCaFile is needed here' }
    }
    if (!loopback.test(host)) {
      const text = `this page is not shown on ${host}: give worker.operations users or tls.clientCaFile`
      return { status: 403, text }
    }
    const named = (request.headers.host ?? '').replace(/:\d+$/, '')
    if (loopback.test(named)) return { who: localWho }
    return { status: 403, text: 'this page is called by a name of loopback: localhost, 127.0.0.1' }
  }
}

const overload = Symbol('too many passwords are judged')

function onOverload(error: unknown): typeof overload {
  if (error instanceof Fault && error.code === 'OVERLOAD') return overload
  throw error
}

/** The common name of a certificate that its authority vouches for. */
function holderOf(socket: TLSSocket): string | undefined {
  if (!socket.authorized) return undefined
  const name = socket.getPeerCertificate().subject?.CN
  return Array.isArray(name) ? name[0] : name
}

/** Whether a request that changes something comes from the page itself. */
export function isOwn({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers
  if (origin === undefined || !URL.canParse(origin)) return false
  const site = headers['sec-fetch-site']
  return new URL(origin).host === host && (site === undefined || site === 'same-origin')
}
