import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { Fault } from '../../schemas/fault.js'

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  /** Authority that issues the client certificates. */
  readonly clientCaFile?: string | undefined
  /** Revoked client certificates. */
  readonly crlFile?: string | undefined
}

/** TLS options of node:https. */
export interface ServerCertificates {
  readonly cert: Buffer
  readonly key: Buffer
  readonly ca?: Buffer
  readonly crl?: Buffer
}

/** Reads a certificate and its key. Throws `LISTENER` with the setting if they do not match. */
export function readCertificates(files: CertificateFiles, setting: string): ServerCertificates {
  try {
    const cert = readFileSync(files.certFile)
    const key = readFileSync(files.keyFile)
    const ca = files.clientCaFile && { ca: readFileSync(files.clientCaFile) }
    const crl = files.crlFile && { crl: readFileSync(files.crlFile) }
    const certificates = { cert, key, ...ca, ...crl }
    createSecureContext(certificates)
    return certificates
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('LISTENER', `the certificate files of ${setting} are not usable: ${reason}`, {
      cause,
    })
  }
}
