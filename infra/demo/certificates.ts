import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type CertifiedKey,
  createAuthority,
  createClientIdentity,
  createServerIdentity,
} from './x509.js'

/** PEM files of a demo authority, a server on loopback and a client, in one folder. */
export interface Certificates {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  readonly clientCertFile: string
  readonly clientKeyFile: string
}

/** Creates certificates for tests on one machine, unless the folder has them. */
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
  const authority = createAuthority('Demo authority')
  writeFileSync(files.caFile, authority.cert)
  write(createServerIdentity(authority), files.certFile, files.keyFile)
  write(createClientIdentity(authority, 'platform'), files.clientCertFile, files.clientKeyFile)
  return files
}

function write({ cert, key }: CertifiedKey, certFile: string, keyFile: string): void {
  writeFileSync(keyFile, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  writeFileSync(certFile, cert)
}
