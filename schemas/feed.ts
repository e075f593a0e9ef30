import { billing } from './feeds/billing.js'
import { billingCycles } from './feeds/billing-cycles.js'
import { billingLines } from './feeds/billing-lines.js'
import { holidays } from './feeds/holidays.js'
import { invoices } from './feeds/invoices.js'
import { paymentPlans } from './feeds/payment-plans.js'
import { rateCodes } from './feeds/rate-codes.js'
import { rateFixed } from './feeds/rate-fixed.js'
import { rateFlat } from './feeds/rate-flat.js'
import { rateTiers } from './feeds/rate-tiers.js'
import { rateTou } from './feeds/rate-tou.js'
import { terminations } from './feeds/terminations.js'
import type { RecordFeed } from './record-feed.js'

export type Commodity = 'Electric' | 'Gas'

interface UsageFeed {
  readonly name: string
  readonly kind: 'usage'
  readonly commodity: Commodity
  readonly columns: readonly string[]
}

export type Feed = UsageFeed | RecordFeed

const usageColumns = [
  'AccountNumber',
  'ExternalSiteID',
  'MeterID',
  'TimeStamp',
  'TotalUnit',
] as const

/**
 * Every feed that a file may carry, under the name that its file's name has; columns in the
 * order of the header. Specification 2.8 names the columns of usage; of the other feeds 2.9 to 2.11
 * name the content only. A feed is added by its line here, its file in `feeds/` and its table.
 */
export const feeds = {
  Electric: { name: 'Electric', kind: 'usage', commodity: 'Electric', columns: usageColumns },
  Gas: { name: 'Gas', kind: 'usage', commodity: 'Gas', columns: usageColumns },
  Billing: billing,
  BillingLines: billingLines,
  Invoices: invoices,
  PaymentPlans: paymentPlans,
  Terminations: terminations,
  BillingCycles: billingCycles,
  RateCodes: rateCodes,
  RateTou: rateTou,
  RateTiers: rateTiers,
  RateFlat: rateFlat,
  RateFixed: rateFixed,
  Holidays: holidays,
} as const satisfies Record<string, Feed>

export type FeedName = keyof typeof feeds
export type FeedKind = Feed['kind']

export const feedNames = Object.keys(feeds) as readonly FeedName[]

/** The feed of a file, if it is one of records. */
export function recordFeedOf(name: string): RecordFeed | undefined {
  const feed: Feed | undefined = feeds[name as FeedName]
  return feed?.kind === 'records' ? feed : undefined
}

/** Whether each file of a feed is complete and replaces the one before (decision 26). */
export function isSchedule(name: string): boolean {
  return recordFeedOf(name)?.schedule !== undefined
}
