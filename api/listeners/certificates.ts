import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { Fault } from '../../schemas/fault.js'

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  /** The authority whose clients are known. */
  readonly clientCaFile?: string | undefined
}

/** What node:https serves with. */
export interface ServerCertificates {
  readonly cert: Buffer
  readonly key: Buffer
  readonly ca?: Buffer
}

/** Reads certificates that fit each other; `LISTENER` names the setting whose files do not. */
export function readCertificates(files: CertificateFiles, setting: string): ServerCertificates {
  try {
    const cert = readFileSync(files.certFile)
    const key = readFileSync(files.keyFile)
    const ca = files.clientCaFile && { ca: readFileSync(files.clientCaFile) }
    const certificates = { cert, key, ...ca }
    createSecureContext(certificates)
    return certificates
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('LISTENER', `certificates of ${setting} cannot be used: ${reason}`, { cause })
  }
}
