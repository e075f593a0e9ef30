import { Fault } from '../../schemas/fault.js'

const forms = 'a folder, sftp://user@host/path, ftp://user@host/path or s3://bucket/prefix/'

/** The section `sources` of one address. Its secrets are references that the operator sets. */
export function sourceOf(address: string, hostKey: string): Readonly<Record<string, unknown>> {
  if (!address.includes('://')) return { kind: 'folder', name: 'inbox', path: address }
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) throw new Fault('CONFIG', `use ${forms}`)
  if (url.password !== '') throw new Fault('CONFIG', 'leave the password out of it')
  const kind = url.protocol.slice(0, -1)
  const path = decoded(url.pathname)
  const place = {
    kind,
    name: 'files',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    user: decoded(url.username),
  }
  switch (kind) {
    case 'sftp':
      return { ...place, password: { env: 'SFTP_PASSWORD' }, hostKeys: [hostKey], path }
    case 'ftp':
      return { ...place, password: { env: 'FTP_PASSWORD' }, path }
    case 's3':
      return { kind, name: 'files', bucket: url.hostname, prefix: path.slice(1) }
    default:
      throw new Fault('CONFIG', `use ${forms}`)
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new Fault('CONFIG', 'write % as %25', { cause })
  }
}

/** What an operator may want to change in a source, by kind. */
export const sourceComments: Readonly<Record<string, readonly string[]>> = {
  folder: ['path: a relative path starts at the data folder (--home)'],
  sftp: [
    'password: a variable, or { file: PATH }; or use key: { file: PATH } instead',
    'hostKeys: ask the operator of the server to confirm the fingerprint',
  ],
  ftp: ['password: a variable, or { file: PATH }', 'tls: explicit; or implicit'],
  s3: [
    'Without keys the role of the machine counts. region is us-east-1; endpoint, if not Amazon.',
    'accessKeyId: { env: S3_KEY }, secretAccessKey: { env: S3_SECRET }',
  ],
}
