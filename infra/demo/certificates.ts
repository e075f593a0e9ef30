import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** PEM files of a small authority, a server on loopback and a client, in one folder. */
export interface Certificates {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  readonly clientCertFile: string
  readonly clientKeyFile: string
}

const days = '825'

/**
 * Makes certificates for trying things out on one machine, unless the folder has them: an authority
 * of its own, for the server `localhost` and for one client. Needs `openssl`.
 */
export function demoCertificates(folder: string): Certificates {
  const place = (name: string) => join(folder, name)
  const files: Certificates = {
    caFile: place('ca.pem'),
    certFile: place('server.pem'),
    keyFile: place('server.key'),
    clientCertFile: place('client.pem'),
    clientKeyFile: place('client.key'),
  }
  if (existsSync(files.clientCertFile)) return files
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const caKey = place('ca.key')
  const self = ['req', '-x509', ...key, '-days', days, '-subj', '/CN=Demo authority']
  openssl([...self, '-keyout', caKey, '-out', files.caFile])
  const issue = (name: string, extension: string) => {
    const request = place(`${name}.csr`)
    const config = place(`${name}.ext`)
    writeFileSync(config, extension)
    openssl([
      'req',
      ...key,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      place(`${name}.key`),
      '-out',
      request,
    ])
    openssl([
      ...['x509', '-req', '-in', request, '-CA', files.caFile, '-CAkey', caKey, '-CAcreateserial'],
      ...['-days', days, '-extfile', config, '-out', place(`${name}.pem`)],
    ])
  }
  issue('server', 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n')
  issue('client', 'extendedKeyUsage=clientAuth\n')
  return files
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'ignore' })
}
