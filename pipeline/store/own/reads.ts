import type { Commodity } from '../../../schemas/feed.js'
import { addDays } from '../../../schemas/time/zone.js'
import { seriesNumber } from '../series.js'
import { join, literal, type Sql, sql, typed } from '../sql.js'
import {
  anyUnknown,
  type DayRange,
  type OwnHold,
  type RegisteredUnit,
  type RowSource,
} from './holds.js'

/** Whose reads of a meter are wanted, on which local days. */
export interface ReadsWanted {
  readonly meterId: string
  readonly holds: readonly OwnHold[]
  readonly days: DayRange
  readonly registered: RegisteredUnit | undefined
}

/** Reads of one length, commodity and registered unit, which is empty for that of the profile. */
interface Reads {
  readonly day: string
  readonly seconds: number
  readonly commodity: Commodity
  readonly registered: string
  /** As sent. */
  readonly quantity: string
  /** The last of `qualities` that a read has, counted from 1. */
  readonly quality: number
}

/** The reads of a local day, or of its part between two cuts. */
export interface ReadsByDay extends Reads {
  readonly reads: number
  /** Start of the last one, epoch seconds, where cuts are asked for. */
  readonly last?: number
}

/** One read; `start` in epoch seconds. */
export interface OneRead extends Reads {
  readonly start: number
}

/** The quality of a read; of several a point has the last in this order. */
export const qualities = ['asSent', 'corrected', 'substituted', 'estimated'] as const

/** The reads of stretches, added up by local day; but what starts before and after a cut (epoch seconds) apart. */
export async function readByDay(
  source: RowSource,
  { cuts, ...wanted }: ReadsWanted & { readonly cuts: readonly number[] },
): Promise<readonly ReadsByDay[]> {
  // The starts of a year's reads take as long to decode as half of their other columns.
  const isCut = cuts.length > 0
  const last = isCut ? sql`, toUnixTimestamp(max(starts_at)) AS last` : sql``
  const part = isCut
    ? sql`, if(seconds >= 86400, 0, arrayCount(at -> at <= toUnixTimestamp(starts_at), ${typed('Array(UInt32)', cuts)}))`
    : sql``
  const sums = (reads: Sql) =>
    sql`SELECT toString(local_day) AS day, seconds, commodity, registered, toString(sum(quantity)) AS quantity,
        max(rank) AS quality, toUInt32(count()) AS reads${last}
      FROM (${reads}) GROUP BY day, seconds, commodity, registered${part}`
  return readOwn(source, wanted, sums)
}

/** The reads of stretches one by one, in order of time. */
function readEach(source: RowSource, wanted: ReadsWanted): Promise<readonly OneRead[]> {
  const each = (reads: Sql) =>
    sql`SELECT toUnixTimestamp(starts_at) AS start, toString(local_day) AS day, seconds, commodity, registered,
        toString(quantity) AS quantity, rank AS quality
      FROM (${reads}) ORDER BY start`
  return readOwn(source, wanted, each)
}

/**
 * A read is corrected where it has replaced another quantity. Most meters have none, which is looked up
 * beside their reads.
 */
async function readOwn<T>(
  source: RowSource,
  wanted: ReadsWanted,
  select: (reads: Sql) => Sql,
): Promise<readonly T[]> {
  if (wanted.holds.length === 0) return []
  const restated = sql`SELECT starts_at, seconds, min(new_version) AS restated_by
    FROM restatement WHERE ${ofDays(wanted)} AND old_quantity != new_quantity GROUP BY starts_at, seconds`
  const rankWhere = (isCorrected: Sql) =>
    sql`multiIf(quality = 'estimated', 4, quality = 'substituted', 3, ${isCorrected}, 2, 1) AS rank`
  // As the view usage_current, but columns of other meters are not read. The days and the meter are in the key, so
  // that no version of a read is left out.
  const own = sql`SELECT *, ${unitOf(wanted)} AS registered FROM usage_read FINAL PREWHERE ${ofDays(wanted)}
    WHERE NOT is_rekeyed AND (${isOwn(wanted)})`
  const [rows, some] = await Promise.all([
    source.rows<T>({ sql: select(sql`SELECT *, ${rankWhere(sql`false`)} FROM (${own})`) }),
    source.rows({ sql: sql`${restated} LIMIT 1` }),
  ])
  if (some.length === 0) return rows
  return source.rows<T>({
    sql: select(sql`SELECT *, ${rankWhere(sql`restated_by BETWEEN 1 AND version`)}
      FROM (${own}) AS u LEFT JOIN (${restated}) AS r USING (starts_at, seconds)`),
  })
}

function ofDays({ meterId, days }: ReadsWanted): Sql {
  return sql`meter_id = ${meterId} AND local_day BETWEEN ${typed('Date', days.from)} AND ${typed('Date', days.to)}`
}

/**
 * The rule of `registered_usage`. The number of the series replaces account and premise, whose texts are many
 * times as long. A bound of a stretch that no read of the days reaches is left out.
 */
function isOwn(wanted: ReadsWanted): Sql {
  const unknown = sql`account_number NOT IN (SELECT account_number FROM tenancy)`
  const [first, last] = [midnight(wanted.days.from, -2), midnight(wanted.days.to, 3)]
  const held = wanted.holds.map(({ site, account, from, to }) => {
    const carries =
      account === anyUnknown
        ? sql`external_site_id = ${site} AND ${unknown}`
        : sql`series = ${seriesNumber(sql`${wanted.meterId}`, sql`${account}`, sql`${site}`)}`
    const since = from > first ? sql` AND starts_at >= toDateTime(${literal(from)})` : sql``
    const until = to < last ? sql` AND starts_at < toDateTime(${literal(to)})` : sql``
    return sql`${carries}${since}${until}`
  })
  return join(held, sql` OR `)
}

/** Midnight of UTC so many days from a day, epoch seconds. */
function midnight(day: string, more: number): number {
  return Date.parse(addDays(day, more)) / 1_000
}

function unitOf({ registered }: ReadsWanted): Sql {
  if (registered === undefined) return sql`''`
  if (registered.unit !== '') return sql`${registered.unit}`
  const stretches = join(
    registered.stretches.map(
      ([site, from, to, unit]) => sql`(${site}, ${literal(from)}, ${literal(to)}, ${unit})`,
    ),
    sql`, `,
  )
  return sql`arrayFirst(s -> s.1 = external_site_id AND s.2 <= toUnixTimestamp(starts_at) AND toUnixTimestamp(starts_at) < s.3, [${stretches}]).4`
}

/** The same for several lists of stretches; each list is asked for once. */
export function createReadsOf(source: RowSource, of: Omit<ReadsWanted, 'holds'>) {
  const known = new Map<string, Promise<readonly OneRead[]>>()
  return (holds: readonly OwnHold[]): Promise<readonly OneRead[]> => {
    const key = JSON.stringify(holds)
    const reads = known.get(key) ?? readEach(source, { ...of, holds })
    known.set(key, reads)
    return reads
  }
}
