import { finished, Readable } from 'node:stream'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import { type FeedQuery, feedQuerySchema } from '../../schemas/gateway/reads.js'
import type { ReadsSettings } from '../../schemas/gateway/reads-settings.js'
import { createSemaphore } from '../semaphore.js'
import type { ExpectAccess, ReadForCustomer } from './for-customer.js'
import { refuseDays } from './range.js'
import { badQuery, type Reading, withQuery } from './reading.js'
import type { ReadSource } from './source.js'

/**
 * Opens the Green Button feed of a client, in pieces; undefined if the client has no reads in the days.
 * `beforePart` is called before the statements of each further part; what it throws ends the feed.
 */
export type OpenFeed = (
  store: Pick<Store, 'rows'>,
  wanted: FeedQuery & { readonly clientId: string },
  beforePart: () => Promise<void>,
) => Promise<AsyncIterable<string> | undefined>

export interface FeedRouteContext {
  readonly source: ReadSource
  readonly openFeed: OpenFeed
  readonly daysMax: number
  readonly download: SendFeed
}

const headers = [
  ['Content-Type', 'application/atom+xml; charset=utf-8'],
  ['Content-Disposition', 'attachment; filename="green-button.xml"'],
  ['Cache-Control', 'private, no-store'],
] as const

/**
 * A customer's Green Button feed as a download. No statement is open while the client is written to: each
 * reads some days completely, so a slow client holds memory of a fixed size and no lane. Before each of
 * them the request is judged again.
 */
export function createFeedRoute(context: FeedRouteContext): ReadForCustomer {
  const { source, openFeed, daysMax, download } = context
  return withQuery(feedQuerySchema, async (clientId, query, expectAccess: ExpectAccess) => {
    const refusal = refuseDays(query, daysMax)
    if (refusal !== undefined) return badQuery(refusal)
    return download(() => openFeed(source, { ...query, clientId }, expectAccess))
  })
}

/** Sends a feed that is opened when it is its turn; missing if there is none. */
export type SendFeed = (open: () => Promise<AsyncIterable<string> | undefined>) => Promise<Reading>

/** Limits the downloads at the same time. Throws `OVERLOAD` for one that waits too long. */
export function createDownloads({
  feedsMax,
  waitMsMax,
}: Pick<ReadsSettings, 'feedsMax' | 'waitMsMax'>): SendFeed {
  const semaphore = createSemaphore(feedsMax)
  return async (open) => {
    const leave = await semaphore.acquire(waitMsMax)
    if (leave === undefined) {
      throw new Fault('OVERLOAD', `${feedsMax} downloads are under way; raise reads.feedsMax`)
    }
    try {
      const feed = await open()
      if (feed === undefined) {
        leave()
        return { kind: 'missing', reason: 'no reads in these days' }
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
