import type { z } from 'zod'
import { readQuery } from '../../schemas/gateway/reads.js'
import { type Answer, wrongRequest } from '../answer.js'
import type { GatewayRequest } from '../request.js'
import { type FeedDownload, toDocument, toDownload } from './document.js'

/** A document (JSON unless it has a type), a download, or why there is none. */
export type Reading =
  | { readonly kind: 'found'; readonly body: string; readonly type?: string }
  | FeedDownload
  /** The customer has no such thing, or it does not exist; the reason is for the log. */
  | { readonly kind: 'missing'; readonly reason?: string }
  /** The data that the answer would need are no longer kept. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'wrong'; readonly detail: string }

export const badQuery = (detail: string): Reading => ({ kind: 'wrong', detail })

export const badCursor = badQuery('cursor: use the cursor of the answer before, and its query')

/** Answers with what is read for someone by the query of a request, or with what is wrong with it. */
export function withQuery<S extends z.ZodObject, More extends readonly unknown[], Who = string>(
  schema: S,
  read: (who: Who, query: z.output<S>, ...more: More) => Promise<Reading>,
) {
  return async (who: Who, request: GatewayRequest, ...more: More): Promise<Answer> => {
    const asked = readQuery(schema, request.query)
    if (asked.detail !== undefined) return toAnswer(request, { kind: 'wrong', ...asked })
    return toAnswer(request, await read(who, asked.query, ...more))
  }
}

async function toAnswer(request: GatewayRequest, reading: Reading): Promise<Answer> {
  switch (reading.kind) {
    case 'found':
      return toDocument(request, reading.body, reading.type)
    case 'download':
      return toDownload(request, reading)
    case 'missing':
      return { kind: 'bare', status: 404, reason: reading.reason ?? 'not of the customer' }
    case 'gone':
      return { kind: 'bare', status: 410, reason: 'older than what is kept' }
    case 'wrong':
      return wrongRequest(reading.detail)
  }
}
