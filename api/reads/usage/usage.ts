import { readBillCosts } from '../../../pipeline/store/own/costs.js'
import { createReadsOf, readByDay } from '../../../pipeline/store/own/reads.js'
import type { Granularity, UsageQuery } from '../../../schemas/gateway/reads.js'
import { addDays, nextDay } from '../../../schemas/time/zone.js'
import { fromCursor, type PageStart, toCursor } from '../cursor.js'
import {
  divide,
  intersect,
  isPaged,
  localDaysOf,
  merge,
  pageOf,
  refuseDays,
  type Span,
  spanOf,
  subtract,
} from '../range.js'
import { badCursor, badQuery, type Reading } from '../reading.js'
import type { ReadSource } from '../source.js'
import { readChangedDays } from './changed-days.js'
import { type OwnMeter, readOwnMeter } from './meter.js'
import { type BillingClock, billedSpanOf, readOwnPeriods } from './periods.js'
import { isoSeconds, type Point, pointsOf, toText } from './points.js'
import { rowsOfCosts, rowsOfDays, rowsOfReads, type Units } from './rows.js'

export interface UsageContext extends BillingClock {
  readonly source: ReadSource
  readonly units: Units
  readonly daysMax: number
  readonly pageMax: number
  readonly now: () => Date
}

/**
 * A page of the usage of a customer's meter, `missing` if he never had it. What changes while a page is read,
 * or between two pages, has a number above the `publishedSeq` of both.
 */
export async function readUsage(
  context: UsageContext,
  clientId: string,
  query: UsageQuery,
): Promise<Reading> {
  const { source, zone, daysMax, pageMax } = context
  const { meterId, granularity } = query
  const refusal = refuseDays(query, daysMax)
  if (refusal !== undefined) return badQuery(refusal)
  const page = pageStartOf(query)
  if (page === undefined) return badCursor
  const meter = await readOwnMeter(source, context.units, { clientId, meterId })
  if (meter === undefined) return { kind: 'missing' }
  const [start, end] =
    granularity === 'billingPeriod' ? billedSpanOf(context, query) : spanOf(zone, query)
  const at = Math.max(start, page.at)
  if (at >= end) return badCursor
  const { changed, covered, buckets } = await scopeOf(context, clientId, {
    query,
    meter,
    span: [at, end],
  })
  const scope = merge(buckets)
  const points = await readPoints(context, clientId, {
    meterId,
    granularity,
    meter,
    buckets,
    covered,
  })
  const beyond = points[pageMax]?.start
  const shown = points.slice(0, pageMax)
  // Points of one start are not divided by a page.
  while (beyond !== undefined && shown.at(-1)?.start === beyond) shown.pop()
  const later = changed.find(([, to]) => to > covered[1])
  const next = beyond ?? (later && Math.max(later[0], covered[1]))
  const publishedSeq = page.publishedSeq || meter.publishedSeq
  const cursor = next === undefined ? null : toCursor({ at: next, publishedSeq }, partsOf(query))
  const spans = query.since !== undefined && {
    changed: intersect(scope, [[at, beyond ?? end]]).map(toInstants),
  }
  const head = { meterId, granularity, timeZone: zone.timeZone, publishedSeq, cursor, ...spans }
  const texts = await toText(shown)
  return { kind: 'found', body: `${JSON.stringify(head).slice(0, -1)},"points":[${texts}]}` }
}

interface Page extends Pick<Scope, 'covered' | 'buckets'> {
  readonly meterId: string
  readonly granularity: Granularity
  readonly meter: OwnMeter
}

/** The points of a page, and one more that says where the next one begins. */
async function readPoints(
  context: UsageContext,
  clientId: string,
  { meterId, granularity, meter, covered, buckets }: Page,
): Promise<readonly Point[]> {
  if (buckets.length === 0) return []
  const { source, zone, units, pageMax } = context
  const days = localDaysOf(zone, covered)
  const { holds, registered } = meter
  // Other buckets begin with a local day.
  const cuts = granularity === 'billingPeriod' ? buckets.flat() : []
  const divided = { granularity, zone, buckets }
  const { timeZone } = zone
  const wanted = { clientId, meterId, timeZone, granularity, days }
  const today = todayOf(context)
  // With the days beside them: a read may last over midnight, and until the next one starts.
  const around = { from: addDays(days.from, -1), to: nextDay(days.to) }
  const readsOf = createReadsOf(source, { meterId, days: around, registered })
  const expected = intersect(intersect(meter.expected, merge(buckets)), [[0, zone.dayStart(today)]])
  const spanOfDay = (day: string) =>
    granularity === 'billingPeriod'
      ? billedSpanOf(context, { from: day, to: day })
      : spanOf(zone, { from: day, to: day })
  const rows = isPaged(granularity)
    ? readsOf(holds).then((reads) => rowsOfReads(reads, divided, units))
    : readByDay(source, { meterId, days, registered, holds, cuts }).then((reads) => ({
        read: rowsOfDays(reads, { ...divided, expected, spanOfDay }, units),
        into: [],
      }))
  const [{ read, into }, costs] = await Promise.all([rows, readBillCosts(source, wanted, readsOf)])
  return pointsOf([...read, ...rowsOfCosts(costs, divided)], {
    ...divided,
    expected: subtract(expected, into),
    today,
    pointsMax: pageMax + 1,
  })
}

const partsOf = ({ meterId, from, to, granularity, since }: UsageQuery) => [
  meterId,
  from,
  to,
  granularity,
  since ?? '',
]

function pageStartOf(query: UsageQuery): PageStart | undefined {
  if (query.cursor === undefined) return { at: 0, publishedSeq: 0 }
  return fromCursor(query.cursor, partsOf(query))
}

const toInstants = ([start, end]: Span) => ({ start: isoSeconds(start), end: isoSeconds(end) })

/** A day that has not ended lacks reads that nobody expects yet. */
function todayOf({ zone, now }: UsageContext): string {
  const at = Math.floor(now().getTime() / 1_000)
  return localDaysOf(zone, [at, at + 1]).from
}

interface Asked {
  readonly query: UsageQuery
  readonly meter: OwnMeter
  readonly span: Span
}

interface Scope {
  /** What is asked for: all, or with `since` the days on which something has changed. */
  readonly changed: readonly Span[]
  /** The part of it that this page covers. */
  readonly covered: Span
  /** The buckets of this page. */
  readonly buckets: readonly Span[]
}

async function scopeOf(
  context: UsageContext,
  clientId: string,
  { query, meter, span }: Asked,
): Promise<Scope> {
  const { source, zone } = context
  const { granularity, since, meterId } = query
  const { shown } = meter
  const [at, end] = span
  const changed =
    since === undefined
      ? [span]
      : await readChangedDays(source, context, { clientId, meterId, since, span, shown })
  const covered = pageOf(
    zone,
    [isPaged(granularity) ? (changed[0]?.[0] ?? at) : at, end],
    granularity,
  )
  const isChanged = ([from, to]: Span) => changed.some(([a, b]) => a < to && b > from)
  if (granularity === 'interval')
    return { changed, covered, buckets: intersect(changed, [covered]) }
  const all =
    granularity === 'billingPeriod'
      ? intersect(await readOwnPeriods(source, context, { cycles: meter.cycles, span }), [span])
      : divide(zone, covered, granularity)
  return { changed, covered, buckets: all.filter(isChanged) }
}
