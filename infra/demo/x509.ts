import {
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'

/** A certificate and its key, PEM. */
export interface CertifiedKey {
  readonly name: string
  readonly cert: string
  readonly key: KeyObject
}

const dayMs = 86_400_000
const validDays = 825
const oids = {
  ecdsaWithSha256: [1, 2, 840, 10_045, 4, 3, 2],
  commonName: [2, 5, 4, 3],
  basicConstraints: [2, 5, 29, 19],
  subjectAltName: [2, 5, 29, 17],
  extendedKeyUsage: [2, 5, 29, 37],
  serverAuth: [1, 3, 6, 1, 5, 5, 7, 3, 1],
  clientAuth: [1, 3, 6, 1, 5, 5, 7, 3, 2],
} as const
type Oid = keyof typeof oids

/** A self-signed authority (RFC 5280) with a P-256 key. */
export function createAuthority(name: string): CertifiedKey {
  const constraints = extension('basicConstraints', sequence(der(0x01, Buffer.of(0xff))))
  return issue(name, [constraints], undefined)
}

/** A certificate for a server on loopback. */
export function createServerIdentity(authority: CertifiedKey): CertifiedKey {
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)))
  const usage = extension('extendedKeyUsage', sequence(oid('serverAuth')))
  return issue('localhost', [extension('subjectAltName', names), usage], authority)
}

const clientUsage = extension('extendedKeyUsage', sequence(oid('clientAuth')))

/** A certificate for a client. */
export function createClientIdentity(authority: CertifiedKey, name: string): CertifiedKey {
  return issue(name, [clientUsage], authority)
}

/** A certificate for a client whose only name is an alternative one. */
export function createAlternativeIdentity(authority: CertifiedKey, name: string): CertifiedKey {
  const names = sequence(der(0x82, Buffer.from(name)))
  return issue('', [extension('subjectAltName', names), clientUsage], authority)
}

/** A list of revoked certificates (RFC 5280, section 5), PEM, valid for a day. */
export function createRevocationList(
  authority: CertifiedKey,
  revoked: readonly CertifiedKey[],
): string {
  const algorithm = sequence(oid('ecdsaWithSha256'))
  const now = Date.now()
  const entries = revoked.map(({ cert }) => {
    const serial = Buffer.from(new X509Certificate(cert).serialNumber, 'hex')
    return sequence(der(0x02, serial), time(now - dayMs))
  })
  const tbs = sequence(
    der(0x02, Buffer.of(1)),
    algorithm,
    distinguished(authority.name),
    ...[time(now - dayMs), time(now + dayMs)],
    ...(entries.length === 0 ? [] : [sequence(...entries)]),
  )
  const signature = sign('sha256', tbs, { key: authority.key, dsaEncoding: 'der' })
  const bits = der(0x03, Buffer.concat([Buffer.of(0), signature]))
  return toPem(sequence(tbs, algorithm, bits), 'X509 CRL')
}

function issue(
  name: string,
  extensions: readonly Buffer[],
  authority: CertifiedKey | undefined,
): CertifiedKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid('ecdsaWithSha256'))
  const now = Date.now()
  const tbs = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    distinguished(authority?.name ?? name),
    sequence(time(now - dayMs), time(now + validDays * dayMs)),
    distinguished(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', tbs, { key: authority?.key ?? privateKey, dsaEncoding: 'der' })
  const bits = der(0x03, Buffer.concat([Buffer.of(0), signature]))
  return { name, cert: toPem(sequence(tbs, algorithm, bits)), key: privateKey }
}

function extension(name: Oid, value: Buffer): Buffer {
  const critical = name === 'basicConstraints' ? [der(0x01, Buffer.of(0xff))] : []
  return sequence(oid(name), ...critical, der(0x04, value))
}

function distinguished(name: string): Buffer {
  if (name === '') return sequence()
  return sequence(der(0x31, sequence(oid('commonName'), der(0x0c, Buffer.from(name)))))
}

function time(at: number): Buffer {
  const text = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(text.slice(2)))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function oid(name: Oid): Buffer {
  const [first = 0, second = 0, ...rest] = oids[name]
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** Seven bits per byte, highest first; all but the last byte have the high bit set. */
function base128(number: number): number[] {
  const bytes = [number & 0x7f]
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

/** Tag, length and content (X.690). */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 128) return Buffer.concat([Buffer.of(tag, length), content])
  const size = length < 256 ? [0x81, length] : [0x82, length >>> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function toPem(bytes: Buffer, label = 'CERTIFICATE'): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
