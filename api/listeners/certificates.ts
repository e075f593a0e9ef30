import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { readCertificate, readKeyPair } from '../../pipeline/tls-files.js'
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
  readonly cert: string
  readonly key: string
  readonly ca?: string
  readonly crl?: string
}

/** Reads a certificate and its key. Throws `LISTENER` with the setting and the file that is wrong. */
export function readCertificates(files: CertificateFiles, setting: string): ServerCertificates {
  const { clientCaFile, crlFile } = files
  try {
    return {
      ...readKeyPair(files),
      ...(clientCaFile !== undefined && { ca: readClientCa(clientCaFile) }),
      ...(crlFile !== undefined && { crl: readCrl(crlFile) }),
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('LISTENER', `the certificate files of ${setting} are not usable: ${reason}`, {
      cause,
    })
  }
}

/** TLS takes a file without a certificate, and then trusts no client. */
function readClientCa(path: string): string {
  const ca = readFileSync(path, 'utf8')
  readCertificate(path, ca)
  return ca
}

function readCrl(path: string): string {
  const crl = readFileSync(path, 'utf8')
  try {
    createSecureContext({ crl })
  } catch (cause) {
    throw new Error(`${path} does not contain a list of revoked certificates in PEM format`, {
      cause,
    })
  }
  return crl
}
