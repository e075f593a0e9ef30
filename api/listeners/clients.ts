import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { Fault } from '../../schemas/fault.js'

/** Whether a client may connect that shows a certificate of the authority, or none. */
export type Accept = (socket: TLSSocket) => boolean

export interface AcceptOptions {
  /** Accepted common or alternative names; empty accepts every name. */
  readonly clients: readonly string[]
  /** The setting of these names, for messages. */
  readonly setting: string
  readonly isRequired: boolean
  readonly onRefused: (fault: Fault) => void
}

const reportMs = 60_000

/**
 * Accepts the certificates of some names. Refusals are reported once a minute at most, with the names
 * of the latest certificate, which are those of a system and not of a person.
 */
export function createAccept(options: AcceptOptions): Accept {
  const { clients, setting, isRequired, onRefused } = options
  let refused = 0
  let reportedAt = Number.NEGATIVE_INFINITY
  return (socket) => {
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) return !isRequired
    const names = certificateNames(certificate)
    if (socket.authorized && isNamed(names, clients)) return true
    refused++
    if (performance.now() - reportedAt >= reportMs) {
      const why = socket.authorized ? `not in ${setting}` : socket.authorizationError
      const shown = names.join(', ').slice(0, 200)
      const detail = `client certificates refused: ${refused}; the latest is of ${shown} (${why})`
      onRefused(new Fault('PERMISSION', detail))
      reportedAt = performance.now()
      refused = 0
    }
    return false
  }
}

function isNamed(names: readonly string[], clients: readonly string[]): boolean {
  return clients.length === 0 || names.some((name) => clients.includes(name))
}

/**
 * The common names of the subject, then the alternative names. Node quotes a name with a comma, whose
 * parts could look like names of their own: then no alternative name counts.
 */
export function certificateNames({
  subject,
  subjectAltName = '',
}: Pick<X509Certificate, 'subject' | 'subjectAltName'>): readonly string[] {
  const common = (subject ?? '').split('\n').filter((line) => line.startsWith('CN='))
  const alternative = subjectAltName.includes('"') ? [] : subjectAltName.split(', ')
  return [
    ...common.map((line) => line.slice('CN='.length)),
    ...alternative.map((one) => one.replace(/^(DNS|URI|email|IP Address):/, '')),
  ].filter((name) => name !== '')
}
