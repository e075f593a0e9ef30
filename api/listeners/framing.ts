import type { Fields } from './fields.js'

/** Whether a body follows the header, and how it ends. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'body'; readonly isChunked: boolean }
  | { readonly kind: 'refused'; readonly status: 400 | 413 | 505 }

const none: Framing = { kind: 'none' }

/**
 * Determines where a request ends (RFC 9112, section 6). It refuses whatever two servers might read
 * differently: a repeated length, a length together with an encoding, any encoding but chunked, no
 * host or several (section 3.2).
 */
export function framingOf(fields: Readonly<Fields>, bodyBytesMax: number): Framing {
  const { contentLength: length, transferEncoding: encoding } = fields
  if (fields.hosts !== 1) return { kind: 'refused', status: 400 }
  if (length === undefined && encoding === undefined) return none
  if (encoding !== undefined) {
    const isChunked = encoding.toLowerCase() === 'chunked'
    if (length !== undefined || !isChunked) return { kind: 'refused', status: 400 }
    return { kind: 'body', isChunked }
  }
  if (length === undefined || !/^\d{1,15}$/.test(length)) return { kind: 'refused', status: 400 }
  if (Number(length) > bodyBytesMax) return { kind: 'refused', status: 413 }
  return Number(length) === 0 ? none : { kind: 'body', isChunked: false }
}
