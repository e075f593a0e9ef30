import { createHash } from 'node:crypto'

/** Where the next page begins, and the number up to which the first page was published. */
export interface PageStart {
  /** Epoch seconds. */
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

/** The same where a page begins behind a row: with the texts by which rows are ordered. */
export function toKeyCursor(key: readonly string[], of: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([markOf(of), ...key])).toString('base64url')
}

/** Undefined if it is not a cursor of this query with so many texts. */
export function fromKeyCursor(
  text: string,
  of: readonly unknown[],
  texts: number,
): readonly string[] | undefined {
  const [mark, ...key] = stringsOf(Buffer.from(text, 'base64url').toString())
  return mark === markOf(of) && key.length === texts ? key : undefined
}

function stringsOf(json: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(json)
    return Array.isArray(parsed) && parsed.every((one) => typeof one === 'string') ? parsed : []
  } catch {
    return []
  }
}
