import type { Window } from '../../schemas/gateway/connect.js'
import type { ReadQuality } from '../../schemas/quantity.js'
import type { Store } from '../store/clickhouse.js'
import { type BillsOf, ownBills } from '../store/own/bills.js'
import { type Sql, sql, typed } from '../store/sql.js'

/** Whose usage is wanted, and of which local days; both are included. */
export interface UsageWanted {
  readonly clientId: string
  readonly from: string
  readonly to: string
}

/** What a feed needs of the store. */
export type FeedStore = Pick<Store, 'rows'>

/** Reads of one meter, unit and interval length. Instants are epoch seconds. */
export interface Series {
  readonly meter: string
  readonly commodity: string
  readonly unit: string
  readonly seconds: number
  /** Its first and last local day. */
  readonly from: string
  readonly to: string
  /** Whether some interval is negative: what was delivered less what was generated. */
  readonly isNet: boolean
  /** Whether some interval has more than six decimals. */
  readonly isFine: boolean
  /** The largest quantity without its sign. */
  readonly largest: string
  readonly first: number
  readonly last: number
}

/**
 * The reads of a series on one local day: start, quantity and quality, in order of time. `last` is also when
 * their costs, or which reads are the client's, changed last.
 */
export interface DayReads {
  readonly day: string
  readonly first: number
  readonly last: number
  readonly reads: readonly (readonly [number, string, ReadQuality])[]
}

/** Tenancies that a client has or had, or of which he may see reads: also of meters that no record lists. */
const tenanciesOf = (clientId: string): Sql =>
  sql`tenancy FINAL WHERE has(client_ids, ${clientId}) OR arrayExists(hold -> has(hold.4, ${clientId}), holds)`

/** Meters of a client, and whether he holds each one now. Empty for an unknown client. */
export async function readMeters(
  store: FeedStore,
  clientId: string,
): Promise<ReadonlyMap<string, boolean>> {
  const rows = await store.rows<{ readonly meter: string; readonly isHeld: boolean }>({
    sql: sql`SELECT meter_id AS meter,
        max(has(client_ids, ${clientId}) AND (isNull(valid_to) OR valid_to > now())) = 1 AS isHeld
      FROM ${tenanciesOf(clientId)} GROUP BY meter_id`,
  })
  return new Map(rows.map(({ meter, isHeld }) => [meter, isHeld]))
}

/** The series that the client has reads of, meter by meter. */
export function readSeries(store: FeedStore, wanted: UsageWanted): Promise<readonly Series[]> {
  const { clientId } = wanted
  return store.rows<Series>({
    sql: sql`SELECT meter_id AS meter, commodity, unit, seconds, toString(min(local_day)) AS from,
        toString(max(local_day)) AS to, min(quantity) < 0 AS isNet,
        max(quantity != round(quantity, 6)) = 1 AS isFine,
        toString(max(abs(quantity))) AS largest, toUnixTimestamp(toDateTime(min(published_at))) AS first,
        toUnixTimestamp(toDateTime(max(published_at))) AS last
      FROM registered_usage
      WHERE meter_id IN (SELECT meter_id FROM ${tenanciesOf(clientId)})
        AND ${ownReads(wanted)}
      GROUP BY meter, commodity, unit, seconds ORDER BY meter, commodity, unit, seconds`,
  })
}

export interface DaysWanted extends UsageWanted, BillsOf {
  readonly window: Window
  readonly hasCosts: boolean
}

/** The reads of a series, day by day: of the days that became visible in a window. */
export function readDays(
  store: FeedStore,
  wanted: DaysWanted,
  { meter, commodity, unit, seconds }: Series,
): Promise<readonly DayReads[]> {
  const { published, updated } = wanted.window
  return store.rows<DayReads>({
    sql: sql`WITH (${revisions(wanted, meter)}) AS revised
      SELECT toString(local_day) AS day, toUnixTimestamp(toDateTime(min(published_at))) AS first,
        greatest(toUnixTimestamp(toDateTime(max(published_at))),
          arrayMax(arrayMap(r -> if(local_day BETWEEN r.1 AND r.2, r.3, 0), revised))) AS last,
        arraySort(groupArray((toUnixTimestamp(starts_at), toString(quantity), quality))) AS reads
      FROM registered_usage
      WHERE meter_id = ${meter} AND commodity = ${commodity} AND unit = ${unit}
        AND seconds = ${typed('UInt32', seconds)} AND ${ownReads(wanted)}
      GROUP BY local_day
      HAVING first ${within(published)} AND last ${within(updated)}
      ORDER BY day`,
  })
}

/**
 * When days of a meter changed otherwise than by a read: first and last day, and epoch seconds. Costs of a
 * bill that ends in standard time go beyond its last day. An erasure is of reads of somebody else.
 */
function revisions({ clientId, from, to, timeZone, hasCosts }: DaysWanted, meter: string): Sql {
  const columns = (first: Sql, last: Sql) =>
    sql`${first} AS first_day, ${last} AS end_day, toUnixTimestamp(toDateTime(published_at)) AS at`
  return sql`SELECT arrayPushBack(groupArray((first_day, end_day, at)), (toDate(0), toDate(0), 0))
    FROM (
      SELECT ${columns(sql`local_day`, sql`last_local_day`)} FROM usage_change
      WHERE meter_id = ${meter} AND cause IN ('ownership', 'read')
        AND (has(client_ids_before, ${clientId}) OR has(client_ids_after, ${clientId}))
      UNION ALL
      SELECT ${columns(sql`start_date`, sql`last_date + 1`)} FROM (${ownBills({ clientId, timeZone, meterId: meter })})
      WHERE meter_id = ${meter} AND days_projected = 0 AND ${typed('Bool', hasCosts)}
    )
    WHERE first_day <= ${typed('Date', to)} AND end_day >= ${typed('Date', from)}`
}

const within = ([from, to]: readonly [number, number]): Sql =>
  sql`BETWEEN ${typed('UInt32', from)} AND ${typed('UInt32', to)}`

/** Reads whose file is not published yet have no number. */
function ownReads({ clientId, from, to }: UsageWanted): Sql {
  return sql`has(client_ids, ${clientId}) AND published_seq IS NOT NULL
    AND local_day BETWEEN ${typed('Date', from)} AND ${typed('Date', to)}`
}
