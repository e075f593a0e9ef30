import type { Store } from './clickhouse.js'
import { id, sql } from './sql.js'

/**
 * Waits until the server that answers has all that was written at other replicas, so that a step never
 * decides by what a replica that lags shows. Without replicas there is nothing to wait for.
 */
export async function catchUp(store: Store): Promise<void> {
  const lagging = await store.rows<{ table: string }>({
    sql: sql`SELECT table FROM system.replicas WHERE database = currentDatabase()
      AND (is_readonly OR queue_size > 0 OR log_pointer <= log_max_index)`,
  })
  for (const { table } of lagging) {
    await store.command({ sql: sql`SYSTEM SYNC REPLICA ${id(table)} LIGHTWEIGHT` })
  }
}
