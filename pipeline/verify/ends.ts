import type { Store } from '../store/clickhouse.js'
import { literal, sql } from '../store/sql.js'

/** Keys of stored reads that a file has ended without a row of its own. */
export interface Ends {
  readonly rows: number
  /** How many of these reads show again: the rows that end them are gone. */
  readonly lost: number
}

/**
 * The ends of published files by arrival. Rows that end a key are not among those that are counted, since later
 * ones replace them; without them the read shows that the file took away.
 */
export async function readEnds(
  store: Store,
  only: readonly number[] | undefined,
): Promise<ReadonlyMap<number, Ends>> {
  const ofOnly = only === undefined ? sql`1` : sql`arrival IN ${literal(only)}`
  const files = await store.rows<{ arrival: number; rows: string }>({
    sql: sql`SELECT arrival, toString(${ends}) AS rows FROM (${ending}) WHERE ${ofOnly}`,
  })
  if (files.length === 0) return new Map()
  const taken = sql`SELECT local_day, meter_id, starts_at, seconds, old_version AS version, new_version
    FROM restatement FINAL WHERE toUInt32(bitShiftRight(new_version, 32)) IN (SELECT arrival FROM (${ending}))`
  const shown = await store.rows<{ of: number; rows: string }>({
    sql: sql`SELECT toUInt32(bitShiftRight(new_version, 32)) AS of, toString(count()) AS rows
      FROM (${taken}) AS r
      INNER JOIN (SELECT local_day, meter_id, starts_at, seconds, version FROM usage_current
        WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM (${taken}))) AS c
        USING (local_day, meter_id, starts_at, seconds, version)
      GROUP BY of`,
  })
  const lost = new Map(shown.map(({ of, rows }) => [of, Number(rows)]))
  return new Map(
    files.map(({ arrival, rows }) => {
      return [arrival, { rows: Number(rows), lost: lost.get(arrival) ?? 0 }]
    }),
  )
}

const ends = sql`JSONExtractUInt(notes, 'ended') + JSONExtractUInt(notes, 'rekeyed', 'rows')`

/** Published files that have ended reads; those of repairs are of the file that they repair. */
const ending = sql`SELECT arrival, notes FROM file_state FINAL
  WHERE status = 'published' AND ${ends} > 0 AND NOT JSONHas(notes, 'repairs')`
