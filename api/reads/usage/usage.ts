import type { UsageQuery } from '../../../schemas/gateway/reads.js'
import type { Zone } from '../../../schemas/time/zone.js'
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
} from '../range.js'
import { badCursor, badQuery, type Reading } from '../reading.js'
import type { ReadSource } from '../source.js'
import { readChangedDays } from './changed-days.js'
import { readMeterBills } from './costs.js'
import { type OwnMeter, readOwnMeter } from './meter.js'
import { readOwnPeriods } from './periods.js'
import { readPoints } from './points.js'

export interface UsageContext {
  readonly source: ReadSource
  readonly zone: Zone
  readonly daysMax: number
  readonly pageMax: number
  readonly now: () => Date
}

/**
 * A page of the usage of a customer's meter, `missing` if he never had it. Each page shows one state of
 * the store; what changes between two pages has a number above the `publishedSeq` of both.
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
  const meter = await readOwnMeter(source, { clientId, meterId })
  if (meter === undefined) return { kind: 'missing' }
  const [start, end] = spanOf(zone, query)
  const at = Math.max(start, page.at)
  if (at >= end) return badCursor
  const { changed, covered, buckets } = await scopeOf(context, clientId, {
    query,
    meter,
    span: [at, end],
  })
  const scope = merge(buckets)
  const wanted = { clientId, meterId, timeZone: zone.timeZone, days: localDaysOf(zone, covered) }
  const lines = await readPoints(source, {
    ...wanted,
    granularity,
    buckets,
    bills: buckets.length === 0 ? [] : await readMeterBills(source, wanted),
    expected: intersect(intersect(meter.expected, scope), [[0, todayOf(context)]]),
    pageMax,
  })
  const beyond = lines.length > pageMax ? startOf(lines[pageMax]) : undefined
  const shown = lines.slice(0, pageMax)
  // Points of one start are not divided by a page.
  while (beyond !== undefined && startOf(shown.at(-1)) === beyond) shown.pop()
  const later = changed.find(([, to]) => to > covered[1])
  const next = beyond ?? (later && Math.max(later[0], covered[1]))
  const publishedSeq = page.publishedSeq || meter.publishedSeq
  const cursor = next === undefined ? null : toCursor({ at: next, publishedSeq }, partsOf(query))
  const spans = query.since !== undefined && {
    changed: intersect(scope, [[at, beyond ?? end]]).map(toInstants),
  }
  const head = { meterId, granularity, timeZone: zone.timeZone, publishedSeq, cursor, ...spans }
  const points = shown.join(',')
  return { kind: 'found', body: `${JSON.stringify(head).slice(0, -1)},"points":[${points}]}` }
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

function startOf(line: string | undefined): number {
  const { start } = JSON.parse(line ?? '{}') as { readonly start: string }
  return Date.parse(start) / 1_000
}

const toInstants = ([start, end]: Span) => ({ start: isoOf(start), end: isoOf(end) })
const isoOf = (at: number) => new Date(at * 1_000).toISOString().replace('.000', '')

/** A day that has not ended lacks reads that nobody expects yet. */
function todayOf({ zone, now }: UsageContext): number {
  const at = Math.floor(now().getTime() / 1_000)
  return spanOf(zone, localDaysOf(zone, [at, at + 1]))[0]
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
  { source, zone }: UsageContext,
  clientId: string,
  { query, meter, span }: Asked,
): Promise<Scope> {
  const { granularity, since, meterId } = query
  const [at, end] = span
  const changed =
    since === undefined
      ? [span]
      : await readChangedDays(source, zone, { clientId, meterId, since, span })
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
      ? intersect(await readOwnPeriods(source, zone, { cycles: meter.cycles, span }), [span])
      : divide(zone, covered, granularity)
  return { changed, covered, buckets: all.filter(isChanged) }
}
