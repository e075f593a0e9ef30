import type { PriceBuckets } from './price-buckets.js'
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
export const hourTypeCount = 2 * hours

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
  /** For each price bucket its hour type, counted from 1, where it lies in the past, else 0. */
  readonly pastTypes: readonly number[]
  /** For each price bucket its hour type, counted from 1, where it lies ahead, else 0. */
  readonly hourTypes: readonly number[]
  /**
   * For each price bucket ahead which quarter hours of its hour type it has, and which noons, of which
   * there is one for each day: stretches from so many on, the second number exclusive.
   */
  readonly quarters: readonly (readonly Stretch[])[]
  readonly noons: readonly (readonly Stretch[])[]
}

type Stretch = readonly [number, number]

const noon = 48

export function toProjectedBuckets(
  { labels }: Projection,
  classes: PriceBuckets,
  slots: Slots,
): ProjectedBuckets {
  const pastTypes = new Array<number>(classes.count).fill(0)
  const hourTypes = new Array<number>(classes.count).fill(0)
  for (let slot = 0; slot < slots.count; slot++) {
    const [label, at] = [labels[slot] as number, classes.bucketOf[slot] as number]
    if (label > hourTypeCount) hourTypes[at] = label - hourTypeCount
    else if (label > 0) pastTypes[at] = label
  }
  const ahead = [...labels.keys()].filter((slot) => (labels[slot] as number) > hourTypeCount)
  const quarterOf = (slot: number) => slots.quarter[slot] as number
  return {
    pastTypes,
    hourTypes,
    // By the clock first, so that days of the same prices are one stretch.
    quarters: stretchesOf(
      classes,
      labels,
      ahead.sort((a, b) => quarterOf(a) - quarterOf(b) || a - b),
    ),
    noons: stretchesOf(
      classes,
      labels,
      ahead.filter((slot) => quarterOf(slot) === noon),
    ),
  }
}

/** Of each bucket its stretches of some slots, which are counted for each label by itself. */
function stretchesOf(
  { count, bucketOf }: PriceBuckets,
  labels: Uint8Array,
  slots: readonly number[],
): readonly (readonly Stretch[])[] {
  const stretches = Array.from({ length: count }, (): [number, number][] => [])
  const counts = new Map<number, number>()
  for (const slot of slots) {
    const label = labels[slot] as number
    const at = counts.get(label) ?? 0
    counts.set(label, at + 1)
    const own = stretches[bucketOf[slot] as number] ?? []
    const last = own.at(-1)
    if (last?.[1] === at) last[1] = at + 1
    else own.push([at, at + 1])
  }
  return stretches
}
