import type { Unit } from '../../pipeline/formats/scale.js'
import type { Receipt } from '../../schemas/receipt.js'
import { daySeconds } from '../../schemas/time/zone.js'
import { grouped } from '../commands/output/table.js'

interface FeedFacts {
  /** The section of the profile that has the format of its files. */
  readonly section: 'usage' | 'files'
  /** Where its readers see what was loaded. */
  readonly view: string
  readonly quantity: string
  /** Unit and lengths, seconds, that the profile has unless it says otherwise; none where it states neither. */
  readonly usual?: { readonly unit: Unit; readonly lengths: readonly number[] }
  /** What a person compares with the system that a file is from. */
  readonly totals: (receipt: Receipt) => string
}

const reads = {
  section: 'usage',
  view: 'usage',
  quantity: 'quantity',
  totals: ({ rows, meters, quantity, firstIntervalStart, lastIntervalEnd }) => {
    const all = `${grouped(rows.accepted)} reads of ${grouped(meters ?? 0)} meters`
    const span = `from ${firstIntervalStart ?? ''} to ${lastIntervalEnd ?? ''}`
    return `${all}, sum ${grouped(quantity?.accepted ?? '')}, ${span}`
  },
} as const satisfies FeedFacts

/** The feeds that files can be proposed for: reads of a commodity, or billed periods. */
const proposedFeeds = {
  Electric: { ...reads, usual: { unit: 'kWh', lengths: [900, 3_600] } },
  Gas: { ...reads, usual: { unit: 'ccf', lengths: [daySeconds, 3_600] } },
  Billing: {
    section: 'files',
    view: 'billing_period',
    quantity: 'total_consumption',
    totals: ({ rows, quantity }) =>
      `${grouped(rows.accepted)} billed periods, sum ${grouped(quantity?.accepted ?? '')}`,
  },
} as const satisfies Readonly<Record<string, FeedFacts>>

export type ProposedFeed = keyof typeof proposedFeeds

export function factsOf(feed: ProposedFeed): FeedFacts {
  return proposedFeeds[feed]
}
