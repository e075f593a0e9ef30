import type { Store } from '../../store/clickhouse.js'
import { id, sql, typed } from '../../store/sql.js'
import { arrivalOf } from '../../store/versions.js'
import { isProvisional } from './provisional.js'

/** Usable rows of a file in a staging table, and the local days that they cover. */
export interface UsableRows {
  readonly arrival: number
  readonly feed: string
  readonly table: string
  readonly firstDay: string
  readonly lastDay: string
}

/** The arrival of a row, and how many of its meters have another length than before. */
export interface Changed {
  readonly arrival: number
  readonly meters: number
}

/**
 * How many meters have another length in a file than on the same days, or on the last day before
 * them, in the store, for each arrival among its rows that has any: the days of each are its own. Where the
 * file and the store have one length only, no meter is looked at. Provisional lengths do not count: those that the file proves to
 * be others are replaced.
 */
export async function countChanged(store: Store, usable: UsableRows): Promise<readonly Changed[]> {
  const { arrival, feed, table, firstDay, lastDay } = usable
  const first = typed('Date', firstDay)
  const before = sql`(SELECT local_day FROM usage_read
      WHERE local_day < ${first} AND commodity = ${feed} ORDER BY local_day DESC LIMIT 1)`
  const near = sql`local_day BETWEEN ifNull(${before}, ${first})
      AND ${typed('Date', lastDay)} AND commodity = ${feed}
    AND bitShiftRight(version, 32) != ${arrival}`
  const [all] = await store.rows<{ lengths: readonly number[] }>({
    sql: sql`SELECT groupUniqArray(seconds) AS lengths FROM (
        SELECT DISTINCT seconds FROM ${id(table)}
        UNION DISTINCT SELECT DISTINCT seconds FROM usage_read WHERE ${near})`,
  })
  if ((all?.lengths.length ?? 0) < 2) return []
  const days = sql`SELECT ${arrivalOf} AS of, min(local_day) AS first, max(local_day) AS last,
      arraySort(one -> one, arrayFilter(one -> one < first,
        (SELECT groupUniqArray(local_day) FROM usage_read WHERE ${near}))) AS before,
      if(empty(before), first, before[-1]) AS from
    FROM ${id(table)} GROUP BY of`
  return store.rows<Changed>({
    sql: sql`SELECT f.of AS arrival, toUInt32(count()) AS meters
      FROM (SELECT meter_id, groupUniqArray(seconds) AS lengths, max(${arrivalOf}) AS of
        FROM ${id(table)} GROUP BY meter_id) AS f
      INNER JOIN (${days}) AS d ON d.of = f.of
      INNER JOIN (
        SELECT meter_id, groupUniqArray((local_day, seconds)) AS reads FROM usage_current
        WHERE ${near} AND NOT ${isProvisional(sql`1`)} GROUP BY meter_id
      ) AS s ON s.meter_id = f.meter_id
      WHERE notEmpty(arrayFilter(one -> one.1 BETWEEN d.from AND d.last, s.reads) AS own)
        AND NOT hasAll(own.2, f.lengths) GROUP BY arrival`,
  })
}
