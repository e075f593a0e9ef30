import { isGroup } from '../../ledger/file-state.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { id, literal, type Sql, sql, typed } from '../../store/sql.js'
import { arrivalOf } from '../../store/versions.js'

/** Days of meters that are listed one by one; a file with more makes its days stale for all meters. */
const meterDaysMax = 1_000

export interface StagedReads {
  /** Of a file its arrival, else the number of its group. */
  readonly number: number
  readonly table: string
  /** The first arrival of a file that comes in again as a repair: its reads have versions of that one. */
  readonly repairs?: number | undefined
  /** Whether all rows of the table are known to be of this arrival. */
  readonly isOwn?: boolean
}

/**
 * Records which days the reads of a staging table change, before they are attached: from then on the
 * view `usage_day` adds up the reads of these days. Repeating it changes nothing.
 */
export function markStaged({ number, table, repairs, isOwn = false }: StagedReads): Statement {
  // Of a file alone, reads of other arrivals are those that it stores under another length.
  const own = typed('UInt32', repairs ?? number)
  const [change, arrival] = isGroup(number)
    ? [arrivalOf, arrivalOf]
    : [typed('UInt32', number), isOwn ? own : sql`if(${arrivalOf} = ${own}, ${own}, 0)`]
  const few = sql`(SELECT count() FROM (
      SELECT DISTINCT local_day, meter_id FROM ${id(table)} LIMIT ${literal(meterDaysMax + 1)}
    )) <= ${literal(meterDaysMax)}`
  return mark(sql`SELECT DISTINCT ${change}, ${arrival},
      if(${few}, meter_id, ''), local_day, local_day, 'file', false
    FROM ${id(table)}`)
}

/** The same of what a change takes from readers or gives to them, as it is announced. */
export function markAnnounced(
  change: string,
  cause: 'claim' | 'erasure',
  where = sql`1`,
): Statement {
  return mark(sql`SELECT change, 0, meter_id, min(r.local_day),
      greatest(max(r.last_local_day), min(r.local_day) + 1), ${cause}, false
    FROM usage_change_row AS r
    WHERE change = ${typed('UInt64', change)} AND meter_id != '' AND r.cause IN ('read', 'erasure') AND ${where}
    GROUP BY change, meter_id`)
}

/** Has some local days made again for all meters, `yyyy-mm-dd`. */
export function markDays(change: string, days: readonly string[]): Statement {
  return mark(sql`SELECT ${typed('UInt64', change)}, 0, '', day, day, 'repair', false
    FROM (SELECT arrayJoin(${literal(days)})::Date AS day)`)
}

/** Records that the days of some changes are stored as their reads are. */
export function markBuilt(changes: readonly string[]): Statement {
  return mark(sql`SELECT change, arrival, meter_id, local_day, last_local_day, cause, true
    FROM ${staleOf(changes)}`)
}

function mark(rows: Sql): Statement {
  return {
    sql: sql`INSERT INTO stale_day
        (change, arrival, meter_id, local_day, last_local_day, cause, is_built) ${rows}`,
  }
}

/** What is stale because of some changes; for a FROM. */
export function staleOf(changes: readonly string[]): Sql {
  const own = literal(changes.map(BigInt))
  return sql`(SELECT * FROM stale_day FINAL WHERE NOT is_built AND change IN ${own})`
}

export interface StaleChange {
  readonly change: string
  readonly cause: 'file' | 'claim' | 'erasure' | 'repair'
}

const open = sql`SELECT change FROM stale_day FINAL WHERE NOT is_built`

/**
 * What can be stored: its reads are stored and have a number, or the change came to nothing. A change that is
 * repeated after a crash may be published before its last reads are stored or erased, so claims and
 * erasures must be over too.
 */
const ready = sql`stale_day AS s FINAL
      WHERE NOT is_built AND (s.cause = 'repair'
        OR s.change IN (SELECT change FROM publication WHERE change IN (${open}))
        OR s.change IN (SELECT toUInt64(arrival) FROM file_state FINAL
          WHERE toUInt64(arrival) IN (${open}) AND status IN ('quarantined', 'duplicate', 'replaced')))
        AND (s.cause != 'claim' OR s.change NOT IN (SELECT claim FROM held_claim))
        AND (s.cause != 'erasure' OR (SELECT count() FROM erasure FINAL WHERE rank = 1) = 0)`

/** The changes of days that can be stored. */
export const readyDays = sql`SELECT s.change FROM ${ready}`

/** Changes whose days can be stored, at most `max`. */
export function readStale(store: Store, max: number): Promise<readonly StaleChange[]> {
  return store.rows<StaleChange>({
    sql: sql`SELECT toString(s.change) AS change, toString(any(s.cause)) AS cause
      FROM ${ready}
      GROUP BY s.change ORDER BY s.change LIMIT ${literal(max)}`,
  })
}

/** Since when the oldest of the days that can be stored are stale; undefined if there are none. */
export async function staleSince(store: Store): Promise<Date | undefined> {
  const [row] = await store.rows<{ since: number; changes: number }>({
    sql: sql`SELECT toUnixTimestamp(min(s.recorded_at)) AS since, toUInt32(count()) AS changes FROM ${ready}`,
  })
  return row === undefined || row.changes === 0 ? undefined : new Date(row.since * 1_000)
}

/** Whether stored days may have sums of erased reads, because a later erasure is not over yet. */
export async function areErasedStale(store: Store): Promise<boolean> {
  const found = sql`SELECT 1 FROM stale_day FINAL WHERE NOT is_built AND cause = 'erasure' LIMIT 1`
  return (await store.rows({ sql: found })).length > 0
}
