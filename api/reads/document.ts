import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Answer } from '../answer.js'
import type { GatewayRequest } from '../request.js'

const compress = promisify(gzip)
/** A smaller answer fits into one packet. */
const gzipBytesMin = 1_400

/**
 * The answer with a JSON document: compressed if the client takes gzip, 304 if it has it already. The
 * tag is weak, for it is the same with and without compression.
 */
export async function toDocument(request: GatewayRequest, body: string): Promise<Answer> {
  const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  const headers = [
    ['ETag', etag],
    ['Cache-Control', 'private, no-cache'],
    ['Vary', 'Authorization, Accept-Encoding'],
  ] as const
  if (hasTag(request.field?.('if-none-match'), etag)) {
    return { kind: 'read', status: 304, body: '', headers }
  }
  const typed = [['Content-Type', 'application/json'], ...headers] as const
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
