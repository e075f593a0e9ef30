import type { Store } from '../../../pipeline/store/clickhouse.js'
import { id, sql } from '../../../pipeline/store/sql.js'

/** What can be kept from a replica: parts of others, all that others did, or its own merges. */
export type Lagging = 'fetches' | 'replication queues' | 'merges'

const commands = {
  fetches: 'FETCHES',
  'replication queues': 'REPLICATION QUEUES',
  merges: 'MERGES',
} as const satisfies Record<Lagging, string>

/** Stops or starts what brings the tables of a replica up to date, or merges them. */
export async function lag(
  replica: Store,
  what: Lagging,
  { to, tables }: { readonly to: 'STOP' | 'START'; readonly tables: readonly string[] },
): Promise<void> {
  for (const table of tables) {
    await replica.command({ sql: `SYSTEM ${to} ${commands[what]} ${table}` })
  }
}

const waitSecondsMax = 600

/** Waits until a replica, or some tables of it, have all that was written to any. */
export async function synchronize(replica: Store, tables?: readonly string[]): Promise<void> {
  if (tables !== undefined) return waitFor(replica, tables)
  const deadline = Date.now() + waitSecondsMax * 1_000
  for (;;) {
    const behind = await tablesBehind(replica)
    if (behind.length === 0) return
    if (Date.now() > deadline) throw new Error(`${behind} are still behind`)
    await waitFor(replica, behind)
  }
}

async function waitFor(replica: Store, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await replica.command({
      sql: sql`SYSTEM SYNC REPLICA ${id(table)}`,
      settings: { receive_timeout: waitSecondsMax },
    })
  }
}

/** Tables that have not carried out all that was written to any replica. An empty log looks like one unread entry. */
async function tablesBehind(replica: Store): Promise<readonly string[]> {
  const rows = await replica.rows<{ table: string }>({
    sql: `SELECT table FROM system.replicas WHERE database = currentDatabase()
        AND (is_readonly OR queue_size > 0 OR log_pointer <= log_max_index)
        AND (log_max_index > 0 OR table IN (SELECT table FROM system.parts WHERE active))
      UNION DISTINCT
      SELECT table FROM system.mutations WHERE database = currentDatabase() AND NOT is_done`,
  })
  return rows.map(({ table }) => table)
}

/**
 * Compares with Keeper what a replica shows of inserts in whose middle Keeper was lost, and drops what was
 * not stored: the engine does so after five minutes.
 */
export async function compareWithKeeper(replica: Store): Promise<void> {
  const rows = await replica.rows<{ table: string }>({
    sql: `SELECT table FROM system.replicas WHERE database = currentDatabase() AND parts_to_check > 0`,
  })
  for (const { table } of rows) {
    // A replica refuses to start with a table of which Keeper does not know half of the rows, as a small one.
    const ratio = sql`replicated_max_ratio_of_wrong_parts = 1`
    await replica.command({ sql: sql`ALTER TABLE ${id(table)} MODIFY SETTING ${ratio}` })
    await replica.command({ sql: sql`SYSTEM RESTART REPLICA ${id(table)}` })
  }
}
