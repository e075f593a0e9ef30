import { Agent } from 'node:https'
import { readTlsFiles, type TlsFiles } from '../tls-files.js'

interface User {
  readonly username: string
  readonly password: string
}

/**
 * The options of the client for a server with a private authority or with client certificates. Its own
 * option always sends the certificate as the identity, which the server refuses beside a password.
 */
export function tlsOptionsOf(
  { tlsFiles, username, password }: User & { readonly tlsFiles?: TlsFiles | undefined },
  connectionsMax: number,
) {
  if (tlsFiles === undefined) return {}
  const contents = readTlsFiles('CLICKHOUSE', tlsFiles)
  const http_agent = new Agent({ keepAlive: true, maxSockets: connectionsMax, ...contents })
  if (contents.cert === undefined || password !== '') return { http_agent }
  const http_headers = {
    'X-ClickHouse-User': username,
    'X-ClickHouse-SSL-Certificate-Auth': 'on',
  }
  return { http_agent, http_headers, set_basic_auth_header: false }
}

const untrusted = /^(DEPTH_ZERO_)?SELF_SIGNED|^UNABLE_TO_(VERIFY_LEAF|GET_ISSUER)/
const certificateWanted = /^ERR_SSL_\w+_ALERT_(CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|UNKNOWN_CA)/

/** The code of a server that answers TLS with something else, whatever OpenSSL calls it. */
export const notTls = 'ERR_SSL_WRONG_VERSION_NUMBER'

const remedies: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another host; name a host of the certificate in CLICKHOUSE_URL, or issue one for this host',
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it, or set the clock of this machine',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; set the clock of this machine',
  [notTls]: 'its port does not speak TLS; name its port for HTTPS in CLICKHOUSE_URL',
}

/** What to do about the code of a failed TLS connection; undefined for any other failure. */
export function tlsRemedyOf(code: string): string | undefined {
  if (untrusted.test(code)) {
    return 'its certificate is not trusted; set CLICKHOUSE_CA_FILE to a PEM file of its authority'
  }
  if (certificateWanted.test(code)) {
    return 'it asks for a client certificate; set CLICKHOUSE_CERT_FILE and CLICKHOUSE_KEY_FILE'
  }
  return remedies[code]
}
