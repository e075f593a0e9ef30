import type { Store } from './clickhouse.js'
import { id, sql } from './sql.js'

/**
 * Waits until the server that answers has all that was written at other replicas, so that a step never
 * decides by what a replica that lags shows. Whether there are replicas is asked once: they come with a
 * migration, for which workers stop.
 */
export function createCatchUp(store: Store): () => Promise<void> {
  let isReplicated: boolean | undefined
  return async () => {
    isReplicated ??= await hasReplicas(store)
    if (isReplicated) await catchUp(store)
  }
}

async function hasReplicas(store: Store): Promise<boolean> {
  const found = await store.rows({
    sql: sql`SELECT 1 FROM system.tables
      WHERE database = currentDatabase() AND startsWith(engine, 'Replicated') LIMIT 1`,
  })
  return found.length > 0
}

async function catchUp(store: Store): Promise<void> {
  const lagging = await store.rows<{ table: string }>({
    sql: sql`SELECT table FROM system.replicas WHERE database = currentDatabase()
      AND (is_readonly OR queue_size > 0 OR log_pointer <= log_max_index)`,
  })
  for (const { table } of lagging) {
    await store.command({ sql: sql`SYSTEM SYNC REPLICA ${id(table)} LIGHTWEIGHT` })
  }
}
