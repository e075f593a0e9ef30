import { bucketSizes, type PriceBuckets } from './price-buckets.js'
import type { Slots } from './slots.js'

/** Days since 1970, both inclusive. */
export interface Days {
  readonly from: number
  readonly to: number
}

/**
 * The past days that the rest of an open bill is projected from, and how many of them and of each type
 * must have reads.
 */
export const pastDays = { all: 28, min: 7, ofTypeMin: 2 } as const

/** Fifty-two weeks: working days fall on working days. */
export const yearDays = 364

/** Working days, and weekends with holidays; each hour of the clock for itself. */
const hours = 24
const hourTypeCount = 2 * hours

/** The rest of an open period: what it is projected from, and which slots of both are alike. */
export interface Projection {
  readonly past: Days
  readonly ahead: Days
  /**
   * Of each slot: 0 where it is neither, from 1 the hour type of a slot of the past, then the
   * hour type of a slot ahead.
   */
  readonly labels: Uint8Array
  /** For each type of day that lies ahead the days of the past that are of it, bit by bit. */
  readonly needed: readonly number[]
}

export function createProjection(
  slots: Slots,
  ahead: Days,
  holidays: ReadonlySet<number>,
): Projection {
  const past = { from: ahead.from - pastDays.all, to: ahead.from - 1 }
  const typeOf = (day: number) => {
    const weekday = (day + 4) % 7
    return weekday === 0 || weekday === 6 || holidays.has(day) ? 1 : 0
  }
  const labels = new Uint8Array(slots.count)
  for (let slot = 0; slot < slots.count; slot++) {
    const day = slots.day[slot] as number
    const periodDay = slots.periodDay[slot] as number
    const hourType = typeOf(day) * hours + Math.floor((slots.quarter[slot] as number) / 4) + 1
    if (periodDay >= ahead.from && periodDay <= ahead.to) labels[slot] = hourTypeCount + hourType
    else if (periodDay >= past.from && periodDay <= past.to) labels[slot] = hourType
  }
  const daysAhead = Array.from({ length: ahead.to - ahead.from + 1 }, (_, at) => ahead.from + at)
  const needed = [...new Set(daysAhead.map(typeOf))].map((type) =>
    Array.from({ length: pastDays.all }, (_, at) => at)
      .filter((at) => typeOf(past.from + at) === type)
      .reduce((bits, at) => bits + 2 ** at, 0),
  )
  return { past, ahead, labels, needed }
}

/** What the price buckets of a projection hold; none holds slots of both the past and ahead. */
export interface ProjectedBuckets {
  /** For each hour type the price buckets of its past, counted from 1. */
  readonly past: readonly (readonly number[])[]
  /** For each price bucket its hour type, counted from 1, where it lies ahead, else 0. */
  readonly hourTypes: readonly number[]
  /** For each price bucket ahead its quarter hours, and the noons among them: one for each day. */
  readonly quarters: readonly number[]
  readonly noons: readonly number[]
}

const noon = 48

export function toProjectedBuckets(
  { labels }: Projection,
  classes: PriceBuckets,
  slots: Slots,
): ProjectedBuckets {
  const past = Array.from({ length: hourTypeCount }, (): number[] => [])
  const hourTypes = new Array<number>(classes.count).fill(0)
  const seen = new Set<number>()
  for (let slot = 0; slot < slots.count; slot++) {
    const [label, at] = [labels[slot] as number, classes.bucketOf[slot] as number]
    if (label === 0 || seen.has(at)) continue
    seen.add(at)
    if (label > hourTypeCount) hourTypes[at] = label - hourTypeCount
    else past[label - 1]?.push(at + 1)
  }
  const isAhead = (slot: number) => (labels[slot] as number) > hourTypeCount
  return {
    past,
    hourTypes,
    quarters: bucketSizes(classes, isAhead),
    noons: bucketSizes(classes, (slot) => isAhead(slot) && slots.quarter[slot] === noon),
  }
}
