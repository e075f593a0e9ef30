import { nanosOf } from './amount.js'
import type { RateFeed, RateRow } from './rate-book.js'
import type { Slots } from './slots.js'

/**
 * A line of energy of whatever kind: `quantity = clip(usage in through) - clip(usage in before)`,
 * where `clip(x) = least(greatest(x, lower), upper)`. Segments number the slots of a component, from 1.
 */
export interface EnergyLine {
  readonly component: string
  readonly name: string
  /** `Energy`, or the kind of a charge for each unit. */
  readonly kind: string
  readonly taxable: boolean
  /** Counted from 1; 0 where the price has no tiers. */
  readonly tier: number
  /** 10^-9 dollars for one unit. */
  readonly price: bigint
  readonly fileId: string
  /** The days that it is for, since 1970, both inclusive. */
  readonly from: number
  readonly to: number
  readonly through: readonly number[]
  readonly before: readonly number[]
  /** Millionths of a unit; undefined where there is none. */
  readonly lower?: bigint
  readonly upper?: bigint
}

/** One part of the price over a interval of days. */
export interface Component {
  readonly name: string
  /** The segment of each slot; 0 outside the interval and where nothing is priced. */
  readonly segmentOf: Uint16Array
  readonly lines: readonly EnergyLine[]
}

/** Days of one rate code inside a period, since 1970, both inclusive, with the slots around them. */
export interface RateInterval {
  readonly slots: Slots
  readonly from: number
  readonly to: number
  readonly holidays: ReadonlySet<number>
  readonly tierLimitRounding: 'none' | 'unit'
  /** Days of the bill that the interval is a part of. */
  readonly periodDays: number
  /** Days that limits of tiers are longer than the interval. */
  readonly moreTierDays: number
  /** Whether percents apply to energy of a component. */
  readonly isTaxed: (component: string) => boolean
}

/** What became of a bill. Those that could not be computed have no amounts. */
const billStatuses = [
  'computed',
  'projected',
  'incomplete',
  'sparse',
  'noUsage',
  'noRate',
  'noPrice',
  'unit',
  'notProjectable',
] as const
export type BillStatus = (typeof billStatuses)[number]

/** A rate cannot be priced: which rate, when, and why. */
export interface Unpriced {
  readonly status: BillStatus
  readonly reason: string
}

/** A kind of price: the feed of its rows and how those of one component become lines. */
export interface RateKind {
  readonly feed: RateFeed
  compile(rows: readonly RateRow[], interval: RateInterval): Component | Unpriced
}

/** The line of a row that prices energy; `own` is what its kind of price adds. */
export function energyLine(
  { row, fileId }: RateRow,
  { isTaxed }: RateInterval,
  own: Omit<EnergyLine, 'component' | 'kind' | 'taxable' | 'price' | 'fileId'>,
): EnergyLine {
  const component = row['Component'] ?? ''
  const price = nanosOf(row['Amount'])
  return { component, kind: 'Energy', taxable: isTaxed(component), price, fileId, ...own }
}
