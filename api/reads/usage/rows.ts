import type { CostRow } from '../../../pipeline/store/own/costs.js'
import type { OneRead, ReadsByDay } from '../../../pipeline/store/own/reads.js'
import type { Commodity } from '../../../schemas/feed.js'
import type { Granularity } from '../../../schemas/gateway/reads.js'
import { parseTotal } from '../../../schemas/quantity.js'
import { lastsUntil } from '../../../schemas/time/daily.js'
import { daySeconds, type Zone } from '../../../schemas/time/zone.js'
import { intersect, type Span, secondsOf, spanOf } from '../range.js'

/** Something that a point has: reads, or what a bill says of a part of its time. */
export interface PointRow {
  readonly at: number
  readonly upto: number
  /** Whether it is the projected rest of a bill. */
  readonly isAhead: boolean
  readonly day: string
  /** Billionths of the unit; undefined if the row has no quantity of its own. */
  readonly nanos: bigint | undefined
  readonly unit: string | undefined
  readonly reads: number
  /** The last of `qualities` that a read has, counted from 1. */
  readonly quality: number
  /** Seconds of the reads. */
  readonly present: number
  readonly cost: CostRow | undefined
}

export interface Buckets {
  readonly granularity: Granularity
  readonly zone: Zone
  /** In order. */
  readonly buckets: readonly Span[]
}

/** The unit of the profile for each commodity. */
export type Units = Readonly<Record<Commodity, string>>

/** The bucket in which an instant lies. */
function bucketOf(buckets: readonly Span[], at: number): Span | undefined {
  let [low, high] = [0, buckets.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((buckets[middle] as Span)[0] <= at) low = middle + 1
    else high = middle
  }
  const found = buckets[low - 1]
  return found !== undefined && at < found[1] ? found : undefined
}

/** The reads of the finest series of each day, as `usage_day` has it. */
function finest<T extends ReadsByDay | OneRead>(reads: readonly T[]): readonly T[] {
  const shortest = new Map<string, number>()
  for (const { day, seconds } of reads) {
    shortest.set(day, Math.min(seconds, shortest.get(day) ?? seconds))
  }
  return reads.filter(({ day, seconds }) => seconds === shortest.get(day))
}

const gasUnits = ['ccf', 'cm', 'therm']

/** Quantity and unit as the view `usage` shows them. */
function shownAs({ commodity, registered, quantity }: ReadsByDay | OneRead, units: Units) {
  const micros = parseTotal(quantity) as bigint
  if (commodity === 'Gas') {
    const unit = gasUnits.includes(registered) ? registered : units.Gas
    return { nanos: micros * 1_000n, unit }
  }
  const sent = registered === 'Wh' || registered === 'kWh' ? registered : units.Electric
  return { nanos: sent === 'Wh' ? micros : micros * 1_000n, unit: 'kWh' }
}

interface DayBuckets extends Buckets {
  /** Where reads are expected. */
  readonly expected: readonly Span[]
  /** The span of a day as the buckets have it. */
  readonly spanOfDay: (day: string) => Span
}

/** Rows of reads that are added up by day. */
export function rowsOfDays(
  reads: readonly ReadsByDay[],
  { buckets, expected, spanOfDay }: DayBuckets,
  units: Units,
): readonly PointRow[] {
  return finest(reads).flatMap((one): PointRow[] => {
    const span = spanOfDay(one.day)
    const [start] = span
    // A daily read counts for its day, at whatever hour it starts: for what is expected of the day.
    const isDaily = one.seconds === daySeconds
    const at = isDaily || one.last === undefined ? start + daySeconds / 2 : one.last
    const bucket = bucketOf(buckets, at)
    if (bucket === undefined) return []
    const present = isDaily ? secondsOf(intersect(expected, [span])) : one.seconds * one.reads
    return [
      {
        ...{ at: bucket[0], upto: bucket[1], isAhead: false, day: one.day, cost: undefined },
        ...{ reads: one.reads, quality: one.quality, present },
        ...shownAs(one, units),
      },
    ]
  })
}

/** The span of each local day, found once. */
function createDaySpans(zone: Zone): (day: string) => Span {
  const spans = new Map<string, Span>()
  return (day) => {
    const span = spans.get(day) ?? spanOf(zone, { from: day, to: day })
    spans.set(day, span)
    return span
  }
}

/** Single reads as points have them. */
export interface ReadRows {
  readonly read: readonly PointRow[]
  /** The spans of reads that start outside the buckets and last into one. */
  readonly into: readonly Span[]
}

/** Rows of single reads. One that is longer than the bucket in which it starts keeps its own span. */
export function rowsOfReads(
  reads: readonly OneRead[],
  { granularity, zone, buckets }: Buckets,
  units: Units,
): ReadRows {
  const ends = endsOf(reads, createDaySpans(zone))
  const read: PointRow[] = []
  const into: Span[] = []
  for (const one of finest(reads)) {
    const end = ends.get(one) as number
    const bucket = bucketOf(buckets, one.start)
    if (bucket === undefined) {
      if (bucketOf(buckets, end - 1) !== undefined) into.push([one.start, end])
      continue
    }
    const isWhole = granularity === 'interval' || one.seconds > 3_600
    const [at, upto] = isWhole ? [one.start, end] : bucket
    read.push({
      ...{ at, upto, isAhead: false, day: one.day, cost: undefined },
      ...{ reads: 1, quality: one.quality, present: end - one.start },
      ...shownAs(one, units),
    })
  }
  return { read, into }
}

/**
 * Where each read ends. One of a day lasts until the next one, an hour sooner or later where the clock changes;
 * without a next one until midnight if it starts at midnight.
 */
function endsOf(
  reads: readonly OneRead[],
  spanOfDay: (day: string) => Span,
): ReadonlyMap<OneRead, number> {
  const next = new Map<number, number>()
  const ends = new Map<OneRead, number>()
  for (const one of [...reads].reverse()) {
    const { start, seconds, day } = one
    const following = next.get(seconds) ?? 0
    next.set(seconds, start)
    const [midnight, nextMidnight] = spanOfDay(day)
    if (seconds !== daySeconds) ends.set(one, start + seconds)
    else if (lastsUntil(start, following)) ends.set(one, following)
    else ends.set(one, start === midnight ? nextMidnight : start + seconds)
  }
  return ends
}

/** Rows of what bills say. */
export function rowsOfCosts(costs: readonly CostRow[], { buckets }: Buckets): readonly PointRow[] {
  return costs.flatMap((cost): PointRow[] => {
    const bucket = bucketOf(buckets, cost.from)
    if (bucket === undefined) return []
    const [at, upto] = cost.isWhole ? [cost.from, cost.to] : bucket
    const { isProjected } = cost
    return [
      {
        ...{
          at,
          upto,
          isAhead: isProjected,
          day: cost.day,
          cost,
          reads: 0,
          quality: 0,
          present: 0,
        },
        nanos: isProjected ? cost.used * 1_000n : undefined,
        unit: isProjected ? cost.unit : undefined,
      },
    ]
  })
}
