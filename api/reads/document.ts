import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { Answer } from '../answer.js'
import type { GatewayRequest } from '../request.js'

const compress = promisify(gzip)
/** A smaller answer fits into one packet. */
const gzipBytesMin = 1_400

/**
 * The answer with a document, in JSON unless said otherwise: compressed if the client takes gzip, 304 if it has it already. The
 * tag is weak, for it is the same with and without compression.
 */
export async function toDocument(
  request: GatewayRequest,
  body: string,
  type = 'application/json',
): Promise<Answer> {
  const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  const headers = [
    ['ETag', etag],
    ['Cache-Control', 'private, no-cache'],
    ['Vary', 'Authorization, Accept-Encoding'],
  ] as const
  if (hasTag(request.field?.('if-none-match'), etag)) {
    return { kind: 'read', status: 304, body: '', headers }
  }
  const typed = [['Content-Type', type], ...headers] as const
  const isLarge = body.length >= gzipBytesMin
  if (!isLarge || !takesGzip(request.field?.('accept-encoding'))) {
    return { kind: 'read', status: 200, body, headers: typed }
  }
  const packed = await compress(body, { level: constants.Z_BEST_SPEED })
  return {
    kind: 'read',
    status: 200,
    body: packed,
    headers: [...typed, ['Content-Encoding', 'gzip']],
  }
}

export type FeedDownload = Extract<Answer, { readonly kind: 'download' }>

/**
 * A download, compressed if the client takes gzip, no faster than the client takes it: 300 kB for each. What
 * one piece became is sent before the next is asked for, as a connection without traffic would be closed. It
 * has no tag, which would have to be known before the body.
 */
export function toDownload(request: GatewayRequest, { stream, headers }: FeedDownload): Answer {
  const fields = [...headers, ['Vary', 'Authorization, Accept-Encoding']] as const
  if (!takesGzip(request.field?.('accept-encoding'))) {
    return { kind: 'download', stream, headers: fields }
  }
  const packed = createGzip({ level: constants.Z_BEST_SPEED, flush: constants.Z_SYNC_FLUSH })
  // What fails or ends one of the two ends the other; who reads it sees the error.
  pipeline(stream, packed, () => undefined)
  const encoded = [...fields, ['Content-Encoding', 'gzip']] as const
  return { kind: 'download', stream: packed, headers: encoded }
}

/** RFC 9110, section 13.1.2: a list of tags, or `*`, compared without their strength. */
function hasTag(field: string | undefined, etag: string): boolean {
  if (field === undefined) return false
  const opaque = etag.slice(2)
  return field.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || tag.replace(/^W\//, '') === opaque
  })
}

/** RFC 9110, section 12.5.3; a client without the field gets the plain text. */
function takesGzip(field: string | undefined): boolean {
  const weights = new Map(
    (field ?? '').split(',').map((one) => {
      const [name = '', ...parameters] = one.toLowerCase().split(';')
      const weight = parameters.map((text) => /^\s*q=([\d.]+)\s*$/.exec(text)?.[1]).find(Boolean)
      return [name.trim(), Number(weight ?? 1)] as const
    }),
  )
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}
