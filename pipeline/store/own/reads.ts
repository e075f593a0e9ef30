import type { Commodity } from '../../../schemas/feed.js'
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
  /** Start of the last one, epoch seconds. */
  readonly last: number
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
  if (wanted.holds.length === 0) return []
  return source.rows<ReadsByDay>({
    sql: sql`SELECT toString(local_day) AS day, seconds, commodity, registered, toString(sum(quantity)) AS quantity,
        max(rank) AS quality, toUInt32(count()) AS reads,
        toUnixTimestamp(max(starts_at)) AS last
      FROM (${await ownReads(source, wanted)}) 
      GROUP BY day, seconds, commodity, registered, if(seconds >= 86400, 0, arrayCount(at -> at <= toUnixTimestamp(starts_at), ${typed('Array(UInt32)', cuts)}))`,
  })
}

/** The reads of stretches one by one, in order of time. */
async function readEach(source: RowSource, wanted: ReadsWanted): Promise<readonly OneRead[]> {
  if (wanted.holds.length === 0) return []
  return source.rows<OneRead>({
    sql: sql`SELECT toUnixTimestamp(starts_at) AS start, toString(local_day) AS day, seconds, commodity, registered,
        toString(quantity) AS quantity, rank AS quality
      FROM (${await ownReads(source, wanted)}) ORDER BY start`,
  })
}

/** A read is corrected where it has replaced another quantity; most meters have none. */
async function ownReads(source: RowSource, wanted: ReadsWanted): Promise<Sql> {
  const restated = sql`SELECT starts_at, seconds, min(new_version) AS restated_by
    FROM restatement WHERE ${ofDays(wanted)} AND old_quantity != new_quantity GROUP BY starts_at, seconds`
  const some = await source.rows({ sql: sql`${restated} LIMIT 1` })
  const rankWhere = (isCorrected: Sql) =>
    sql`multiIf(quality = 'estimated', 4, quality = 'substituted', 3, ${isCorrected}, 2, 1) AS rank`
  const own = sql`SELECT *, ${unitOf(wanted)} AS registered FROM usage_current WHERE ${isOwn(wanted)}`
  if (some.length === 0) return sql`SELECT *, ${rankWhere(sql`false`)} FROM (${own})`
  return sql`SELECT *, ${rankWhere(sql`restated_by BETWEEN 1 AND version`)}
    FROM (${own}) AS u LEFT JOIN (${restated}) AS r USING (starts_at, seconds)`
}

function ofDays({ meterId, days }: ReadsWanted): Sql {
  return sql`meter_id = ${meterId} AND local_day BETWEEN ${typed('Date', days.from)} AND ${typed('Date', days.to)}`
}

/**
 * The rule of `registered_usage`. The number of the series replaces account and premise, whose texts are
 * many times as long.
 */
function isOwn(wanted: ReadsWanted): Sql {
  const unknown = sql`account_number NOT IN (SELECT account_number FROM tenancy)`
  const held = wanted.holds.map(({ site, account, from, to }) => {
    const carries =
      account === anyUnknown
        ? sql`external_site_id = ${site} AND ${unknown}`
        : sql`series = ${seriesNumber(sql`${wanted.meterId}`, sql`${account}`, sql`${site}`)}`
    return sql`${carries} AND starts_at >= toDateTime(${literal(from)}) AND starts_at < toDateTime(${literal(to)})`
  })
  return sql`${ofDays(wanted)} AND (${join(held, sql` OR `)})`
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
