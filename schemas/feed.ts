export type Commodity = 'Electric' | 'Gas'

interface UsageFeed {
  readonly name: string
  readonly kind: 'usage'
  readonly commodity: Commodity
  readonly columns: readonly string[]
}

const usageColumns = [
  'AccountNumber',
  'ExternalSiteID',
  'MeterID',
  'TimeStamp',
  'TotalUnit',
] as const

/**
 * Every feed that a file may carry, under the name that stands in its file's name; columns in the
 * order of the header (specification section 2.8). A feed is added by its line here.
 */
export const feeds = {
  Electric: { name: 'Electric', kind: 'usage', commodity: 'Electric', columns: usageColumns },
  Gas: { name: 'Gas', kind: 'usage', commodity: 'Gas', columns: usageColumns },
} as const satisfies Record<string, UsageFeed>

export type FeedName = keyof typeof feeds
export type Feed = (typeof feeds)[FeedName]

export const feedNames = Object.keys(feeds) as readonly FeedName[]
