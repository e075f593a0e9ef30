import { finished, Readable } from 'node:stream'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import { type FeedQuery, feedQuerySchema, readQuery } from '../../schemas/gateway/reads.js'
import { createSemaphore } from '../semaphore.js'
import type { ReadForCustomer } from './for-customer.js'
import { refuseDays } from './range.js'
import { badQuery, toAnswer } from './reading.js'
import type { ReadSource } from './source.js'

/** Opens the Green Button feed of a client, in pieces; undefined if the client has no reads in the days. */
export type OpenFeed = (
  store: Pick<Store, 'rows' | 'stream'>,
  wanted: FeedQuery & { readonly clientId: string },
) => Promise<AsyncIterable<string> | undefined>

export interface FeedRouteContext {
  readonly source: ReadSource
  readonly openFeed: OpenFeed
  readonly daysMax: number
  readonly feedsMax: number
  readonly waitMsMax: number
}

const headers = [
  ['Content-Type', 'application/atom+xml; charset=utf-8'],
  ['Content-Disposition', 'attachment; filename="green-button.xml"'],
  ['Cache-Control', 'private, no-store'],
  ['Vary', 'Authorization'],
] as const

/**
 * A customer's Green Button feed as a download. No statement is open while the client is written to: each
 * reads some days completely, so a slow client holds memory of a fixed size and no lane. Before each of
 * them the request is judged again.
 */
export function createFeedRoute(context: FeedRouteContext): ReadForCustomer {
  const { source, openFeed, daysMax, feedsMax, waitMsMax } = context
  const semaphore = createSemaphore(feedsMax)
  return async (clientId, request, expectAccess) => {
    const asked = readQuery(feedQuerySchema, request.query)
    const refusal = asked.detail ?? refuseDays(asked.query, daysMax)
    if (asked.query === undefined || refusal !== undefined) {
      return toAnswer(request, badQuery(refusal ?? ''))
    }
    const leave = await semaphore.acquire(waitMsMax)
    if (leave === undefined) {
      throw new Fault('OVERLOAD', `${feedsMax} downloads are under way; raise reads.feedsMax`)
    }
    try {
      const wanted = { ...asked.query, clientId }
      const feed = await openFeed(storeOf(source, expectAccess), wanted)
      if (feed === undefined) {
        leave()
        return { kind: 'bare', status: 404, reason: 'no reads in these days' }
      }
      const stream = Readable.from(feed)
      finished(stream, leave)
      return { kind: 'download', stream, headers }
    } catch (error) {
      leave()
      throw error
    }
  }
}

/** The source as a feed reads it: what is streamed is read completely before it is passed on. */
function storeOf(
  source: ReadSource,
  expectAccess: () => Promise<void>,
): Pick<Store, 'rows' | 'stream'> {
  return {
    rows: source.rows,
    stream: async (statement) => {
      await expectAccess()
      return Readable.from((await source.lines(statement)).map((line) => `${line}\n`))
    },
  }
}
