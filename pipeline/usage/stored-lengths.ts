import type { Store } from '../store/clickhouse.js'
import { stagingOf } from '../store/staging.js'
import { irregularMeters } from './irregular-meters.js'

/** What the reads of one meter in a file look like. */
export interface OddMeter {
  readonly meterId: string
  /** Smallest gap between two different starts, seconds; 0 where there is one start only. */
  readonly gap: number
}

/**
 * The meters of a file whose smallest gap is another than `seconds`, the length that its sample
 * showed. Where `all` is not set only those are looked at whose shape does not prove it.
 */
export async function oddMeters(
  store: Store,
  arrival: number,
  wanted: { readonly seconds: number; readonly all: boolean },
): Promise<readonly OddMeter[]> {
  const { seconds, all } = wanted
  const { reads } = stagingOf(arrival)
  const irregular = irregularMeters(reads, seconds)
  const rows = await store.rows<{ meter_id: string; gap: number }>({
    sql: `SELECT meter_id,
        toUInt32(arrayMin(arrayPopFront(arrayDifference(starts)))) AS gap
      FROM (
        SELECT meter_id, arraySort(groupUniqArray(toUnixTimestamp(starts_at))) AS starts
        FROM ${reads}
        ${all ? '' : `WHERE meter_id IN (${irregular.sql})`}
        GROUP BY meter_id
      )
      ${all ? '' : 'WHERE gap != {seconds:UInt32}'}`,
    parameters: { seconds, ...irregular.parameters },
  })
  return rows.map((row) => ({ meterId: row.meter_id, gap: row.gap }))
}

/** The last start of each length that stands in a staging table, epoch seconds. */
export function lastStarts(
  store: Store,
  table: string,
): Promise<readonly { readonly seconds: number; readonly start: number }[]> {
  return store.rows({
    sql: `SELECT seconds, toUnixTimestamp(max(starts_at)) AS start FROM ${table} GROUP BY seconds`,
  })
}

/** The interval length that is stored for meters, from their latest days in the store. */
export async function storedLengths(
  store: Store,
  arrival: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await store.rows<{ meter_id: string; seconds: number }>({
    sql: `SELECT meter_id, argMin(seconds, (-toInt64(toUnixTimestamp(starts_at)), seconds)) AS seconds
      FROM usage_current
      WHERE arrival != {arrival:UInt32}
        AND meter_id IN (
          SELECT meter_id FROM ${stagingOf(arrival).reads} GROUP BY meter_id HAVING uniqExact(starts_at) = 1
        )
      GROUP BY meter_id`,
    parameters: { arrival },
  })
  return new Map(rows.map((row) => [row.meter_id, row.seconds]))
}
