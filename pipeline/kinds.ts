import { type FeedKind, type FeedName, feeds } from '../schemas/feed.js'
import type { Kind } from './kind.js'
import { recordKind } from './records/kind.js'
import { usageKind } from './usage/kind.js'

const kinds: Readonly<Record<FeedKind, Kind>> = { usage: usageKind, records: recordKind }

/** How the feed of a file that was taken in goes down the line. */
export function kindOf({ feed }: { readonly feed: string }): Kind {
  return kinds[feeds[feed as FeedName].kind]
}
