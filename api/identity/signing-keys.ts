import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Fault } from '../../schemas/fault.js'
import { createRenewal } from '../listeners/renewal.js'
import { isStrong } from './jose.js'

export interface SigningKeysOptions {
  /** PEM files with certificates or public keys, one or several in each. */
  readonly files: readonly string[]
  readonly everyMs: number
  /** Called for changed files that cannot be used. */
  readonly onFailure: (fault: Fault) => void
}

export interface SigningKeys {
  current(): readonly KeyObject[]
  close(): void
}

/**
 * The keys that an identity provider may sign with, read again when a file changes: add the new
 * certificate, then remove the old one. The file makes a key trusted; the dates in a certificate are
 * ignored (SAML V2.0 Metadata Interoperability Profile, 2.6.1). Throws `PROFILE` for a bad file.
 */
export function createSigningKeys({ files, everyMs, onFailure }: SigningKeysOptions): SigningKeys {
  let keys = files.flatMap(readKeyFile)
  const renew = async () => {
    keys = files.flatMap(readKeyFile)
  }
  const renewal = createRenewal({ renew, files, everyMs, onFailure })
  return { current: () => keys, close: renewal.close }
}

const pem = /-----BEGIN (CERTIFICATE|PUBLIC KEY)-----[^-]+-----END \1-----/g

/** Throws `PROFILE` for a file without a strong key. */
export function readKeyFile(path: string): readonly KeyObject[] {
  const place = `identity.certFiles: ${path}`
  let keys: readonly KeyObject[]
  try {
    keys = (readFileSync(path, 'utf8').match(pem) ?? []).map((one) => createPublicKey(one))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('PROFILE', `${place} cannot be read (${reason})`, { cause })
  }
  if (keys.length === 0) throw new Fault('PROFILE', `${place} holds no certificate: write PEM`)
  if (keys.every((key) => key.asymmetricKeyType === 'rsa' && isStrong(key))) return keys
  throw new Fault('PROFILE', `${place} holds a key that is not RSA of at least 2048 bits`)
}
