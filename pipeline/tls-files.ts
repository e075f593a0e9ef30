import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { Fault } from '../schemas/fault.js'

/** PEM files for TLS to a server: authorities to trust instead of the system's, a certificate to show and its key. */
export interface TlsFiles {
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

/** The contents of the files, as Node's TLS takes them. */
export interface TlsContents {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** Reads the files that `<server>_CA_FILE`, `_CERT_FILE` and `_KEY_FILE` name. Throws `CONFIG`. */
export function readTlsFiles(
  server: 'CLICKHOUSE' | 'REDIS',
  { caFile, certFile, keyFile }: TlsFiles,
): TlsContents {
  const name = (kind: string) => `${server}_${kind}_FILE`
  const ca = caFile === undefined ? {} : { ca: readPem(name('CA'), caFile) }
  if (certFile === undefined && keyFile === undefined) return ca
  if (certFile === undefined || keyFile === undefined) {
    throw new Fault('CONFIG', `set both ${name('CERT')} and ${name('KEY')}, or neither`)
  }
  readPem(name('CERT'), certFile)
  readText(name('KEY'), keyFile)
  const pair = check(
    () => readKeyPair({ certFile, keyFile }),
    `${name('CERT')} ${certFile} and ${name('KEY')} ${keyFile} are not a valid certificate and key pair; name a PEM certificate and its PEM key`,
  )
  return { ...ca, ...pair }
}

export interface KeyPairFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Reads a certificate and its key. Throws an error that names the file that is wrong and the remedy. */
export function readKeyPair({ certFile, keyFile }: KeyPairFiles): {
  readonly cert: string
  readonly key: string
} {
  const [cert, key] = [readFileSync(certFile, 'utf8'), readFileSync(keyFile, 'utf8')]
  const certificate = readCertificate(certFile, cert)
  if (/ENCRYPTED/.test(key)) {
    const remedy = `write it without a passphrase: openssl pkey -in ${keyFile} -out NEW`
    throw new Error(`${keyFile} is encrypted; ${remedy}`)
  }
  const privateKey = explain(
    () => createPrivateKey(key),
    `${keyFile} does not contain a private key in PEM format`,
  )
  if (!certificate.checkPrivateKey(privateKey)) {
    const remedy = 'name the key that the certificate was issued for, and put the certificate first'
    throw new Error(`${keyFile} is not the key of the first certificate in ${certFile}; ${remedy}`)
  }
  createSecureContext({ cert, key })
  return { cert, key }
}

/** The first certificate of a PEM file. Throws an error that names the file. */
export function readCertificate(
  path: string,
  pem: string = readFileSync(path, 'utf8'),
): X509Certificate {
  return explain(
    () => new X509Certificate(pem),
    `${path} does not contain a certificate in PEM format`,
  )
}

function explain<T>(run: () => T, detail: string): T {
  try {
    return run()
  } catch (cause) {
    throw new Error(detail, { cause })
  }
}

function readPem(name: string, path: string): string {
  const pem = readText(name, path)
  const detail = `${name} ${path} does not contain a certificate; name a file in PEM format`
  check(() => new X509Certificate(pem), detail)
  return pem
}

function readText(name: string, path: string): string {
  const detail = `${name} ${path} cannot be read; fix the path or its permissions`
  return check(() => readFileSync(path, 'utf8'), detail)
}

function check<T>(run: () => T, detail: string): T {
  try {
    return run()
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('CONFIG', `${detail} (${reason})`, { cause })
  }
}
