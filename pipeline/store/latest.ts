import type { Store } from './clickhouse.js'
import { id, sql } from './sql.js'

/**
 * Inserts rows into a table of states, of which the one with the latest `recorded_at` counts. They are
 * later than every row that is there, also when the clock was set back in between.
 */
export async function insertLatest(
  store: Store,
  table: string,
  rows: readonly object[],
): Promise<void> {
  const [last] = await store.rows<{ at: string }>({
    sql: sql`SELECT toString(toUnixTimestamp64Milli(max(recorded_at))) AS at FROM ${id(table)}`,
  })
  const at = Math.max(Date.now(), Number(last?.at ?? 0) + 1)
  const recorded_at = new Date(at).toISOString()
  await store.insert(
    table,
    rows.map((row) => ({ ...row, recorded_at })),
  )
}
