import type { Store } from '../../store/clickhouse.js'
import { type Sql, sql } from '../../store/sql.js'
import { dailySums } from './build.js'
import { daySteps } from './steps.js'

/** A day whose stored sums are not those of its reads, and of how many meters. */
export interface DayDifference {
  /** Local. */
  readonly day: string
  readonly meters: number
}

/**
 * Compares the stored days with what their reads add up to, except for those that are stale: these are
 * made again anyway. What a moment showed beside a file that was just published is found only once.
 */
export async function compareDays(store: Store): Promise<readonly DayDifference[]> {
  const steps = (await daySteps(store)).map(({ within }) => within)
  const found: DayDifference[] = []
  for (const scope of [...steps, sql`local_day NOT IN (SELECT local_day FROM usage_read)`]) {
    found.push(...(await store.rows<DayDifference>({ sql: differences(scope) })))
  }
  return found
}

function differences(scope: Sql): Sql {
  const stale = sql`(SELECT * FROM stale_day FINAL WHERE NOT is_built)`
  const isBuilt = sql`local_day NOT IN (SELECT local_day FROM ${stale} WHERE meter_id = '')
    AND (local_day, meter_id) NOT IN (SELECT local_day, meter_id FROM ${stale})
    AND meter_id NOT IN (SELECT meter_id FROM ${stale} WHERE local_day < last_local_day)`
  const own = sql`${scope} AND ${isBuilt}`
  return sql`SELECT toString(local_day) AS day, toUInt32(count()) AS meters
    FROM (
      SELECT local_day, meter_id, commodity
      FROM (
        SELECT local_day, meter_id, commodity, argMin(
            (series, quantity, intervals, exported, peak, seq), series) AS sums
        FROM (${dailySums(own)})
        GROUP BY local_day, meter_id, commodity
        UNION ALL
        SELECT local_day, meter_id, commodity, (seconds, quantity, intervals, exported,
          peak_quantity, published_seq)
        FROM usage_day_row FINAL WHERE intervals > 0 AND ${own}
      )
      GROUP BY local_day, meter_id, commodity
      HAVING count() != 2 OR uniqExact(sums) != 1
    )
    GROUP BY local_day ORDER BY local_day`
}
