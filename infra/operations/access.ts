import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { type Accept, certificateNames, createAccept } from '../../api/listeners/clients.js'
import type { Fault } from '../../schemas/fault.js'
import type { OperationsSettings } from '../../schemas/settings/worker.js'
import { type Admission, createPasswordCheck, type Login, signInText } from './logins.js'
import { createPageSessions, type PageSessions } from './sessions.js'

/** `holds` is there for a session: whether it has not ended; to ask counts as its use. */
export type Admit = (
  request: IncomingMessage,
) => Promise<Admission & { readonly holds?: () => boolean }>

/** How the users of the profile sign in. */
export interface People {
  readonly login: Login
  readonly sessions: PageSessions
}

/** Undefined if the profile names no users. */
export function createPeople(
  { users }: OperationsSettings,
  onFailure: (fault: Fault) => void,
): People | undefined {
  return users && { login: createPasswordCheck(users, onFailure), sessions: createPageSessions() }
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i

/** The user name of everyone who can use the machine itself. */
const localWho = 'loopback'

/**
 * Access to the page. On loopback everyone on the machine has access, unless the profile names users.
 * Any other address requires a client certificate of `tls.clientCaFile`, of one of `clients` if there
 * are any, or one of `users`, by a session or by basic authentication. A request to loopback under
 * another host name comes from a foreign page in a browser (DNS rebinding).
 */
export function createAdmit(
  { host, tls, clients }: OperationsSettings,
  onFailure: (fault: Fault) => void,
  people?: People,
): Admit {
  const setting = 'worker.operations.clients'
  const accept = createAccept({ clients, setting, isRequired: true, onRefused: onFailure })
  const takesCertificates = tls?.clientCaFile !== undefined
  return async (request) => {
    const holder = takesCertificates ? holderOf(request.socket as TLSSocket, accept) : undefined
    if (holder !== undefined) return { who: holder }
    if (people !== undefined) {
      const { authorization } = request.headers
      if (authorization !== undefined) return people.login(authorization)
      return bySession(people.sessions, request) ?? { status: 401, text: signInText }
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

function bySession(sessions: PageSessions, request: IncomingMessage) {
  for (const id of sessionIds(request)) {
    const who = sessions.find(id)
    if (who !== undefined) return { who, holds: () => sessions.find(id) !== undefined }
  }
  return undefined
}

/** Cookies of a host are shared by its ports, and each worker has sessions of its own. */
export function cookieName({ socket }: Pick<IncomingMessage, 'socket'>): string {
  return `tieline_${socket.localPort}`
}

/** The ids that a browser sends; it may have one of another path of the same host. */
export function sessionIds(request: IncomingMessage): readonly string[] {
  const name = `${cookieName(request)}=`
  const cookies = (request.headers.cookie ?? '').split(';').map((one) => one.trim())
  return cookies.filter((one) => one.startsWith(name)).map((one) => one.slice(name.length))
}

/** The first name of an accepted certificate: the common one, or an alternative one where it has none. */
function holderOf(socket: TLSSocket, accept: Accept): string | undefined {
  if (!socket.encrypted || !accept(socket)) return undefined
  const certificate = socket.getPeerX509Certificate()
  return certificate && certificateNames(certificate)[0]
}

/** Answers a request that is not the page's own. */
export const foreignText =
  'only the operations page may send this request; open the page and act there'

/** Whether a request that changes something was sent by the page itself. */
export function isOwn({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers
  if (origin === undefined || !URL.canParse(origin)) return false
  const site = headers['sec-fetch-site']
  return new URL(origin).host === host && (site === undefined || site === 'same-origin')
}
