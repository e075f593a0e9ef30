import { type Classes, classSizes } from './classes.js'
import type { Slots } from './slots.js'

/** Days since 1970, both inclusive. */
export interface Days {
  readonly from: number
  readonly to: number
}

/** The days by which an open bill's rest is told, how many of them must be there, and of each type. */
export const pastDays = { all: 28, min: 7, ofTypeMin: 2 } as const

/** Fifty-two weeks: working days fall on working days. */
export const yearDays = 364

/** Working days, and weekends with holidays; each hour of the clock for itself. */
const hours = 24
export const bucketCount = 2 * hours

/** The rest of an open period: what it is told by, and which slots of both are alike. */
export interface Projection {
  readonly past: Days
  readonly ahead: Days
  /**
   * Of each slot: 0 where it is neither, from 1 the bucket of a slot of the past, behind them the
   * bucket of a slot ahead.
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
    const bucket = typeOf(day) * hours + Math.floor((slots.quarter[slot] as number) / 4) + 1
    if (periodDay >= ahead.from && periodDay <= ahead.to) labels[slot] = bucketCount + bucket
    else if (periodDay >= past.from && periodDay <= past.to) labels[slot] = bucket
  }
  const daysAhead = Array.from({ length: ahead.to - ahead.from + 1 }, (_, at) => ahead.from + at)
  const needed = [...new Set(daysAhead.map(typeOf))].map((type) =>
    Array.from({ length: pastDays.all }, (_, at) => at)
      .filter((at) => typeOf(past.from + at) === type)
      .reduce((bits, at) => bits + 2 ** at, 0),
  )
  return { past, ahead, labels, needed }
}

/** What the classes of a projection hold; those of the past and ahead are told apart by them. */
export interface ProjectedClasses {
  /** For each bucket the classes of its past, counted from 1. */
  readonly past: readonly (readonly number[])[]
  /** For each class its bucket, counted from 1, where it lies ahead, else 0. */
  readonly buckets: readonly number[]
  /** For each class that lies ahead its quarter hours, and the noons among them: one for each day. */
  readonly quarters: readonly number[]
  readonly noons: readonly number[]
}

const noon = 48

export function toProjectedClasses(
  { labels }: Projection,
  classes: Classes,
  slots: Slots,
): ProjectedClasses {
  const past = Array.from({ length: bucketCount }, (): number[] => [])
  const buckets = new Array<number>(classes.count).fill(0)
  const seen = new Set<number>()
  for (let slot = 0; slot < slots.count; slot++) {
    const [label, at] = [labels[slot] as number, classes.classOf[slot] as number]
    if (label === 0 || seen.has(at)) continue
    seen.add(at)
    if (label > bucketCount) buckets[at] = label - bucketCount
    else past[label - 1]?.push(at + 1)
  }
  const isAhead = (slot: number) => (labels[slot] as number) > bucketCount
  return {
    past,
    buckets,
    quarters: classSizes(classes, isAhead),
    noons: classSizes(classes, (slot) => isAhead(slot) && slots.quarter[slot] === noon),
  }
}
