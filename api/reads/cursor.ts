import { createHash } from 'node:crypto'

/** Where the next page begins, and the number up to which the first page was published. */
export interface PageStart {
  /** Epoch seconds, or how many rows came before. */
  readonly at: number
  readonly publishedSeq: number
}

/** An opaque cursor; it belongs to the query whose other parameters are `of`. */
export function toCursor({ at, publishedSeq }: PageStart, of: readonly unknown[]): string {
  return Buffer.from(`${at}.${publishedSeq}.${markOf(of)}`).toString('base64url')
}

/** Undefined if it is not a cursor of this query. */
export function fromCursor(text: string, of: readonly unknown[]): PageStart | undefined {
  const decoded = Buffer.from(text, 'base64url').toString('latin1')
  const [, at, publishedSeq, mark] = /^(\d{1,15})\.(\d{1,15})\.([\w-]{8})$/.exec(decoded) ?? []
  if (mark === undefined || mark !== markOf(of)) return undefined
  return { at: Number(at), publishedSeq: Number(publishedSeq) }
}

function markOf(of: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(of)).digest('base64url').slice(0, 8)
}
