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

const waitSecondsMax = 60

/** Waits until the tables of a replica have all that was written to any. */
export async function synchronize(replica: Store, tables?: readonly string[]): Promise<void> {
  for (const table of tables ?? (await replicatedTables(replica))) {
    await replica.command({
      sql: sql`SYSTEM SYNC REPLICA ${id(table)}`,
      settings: { receive_timeout: waitSecondsMax },
    })
  }
}

async function replicatedTables(replica: Store): Promise<readonly string[]> {
  const rows = await replica.rows<{ table: string }>({
    sql: 'SELECT table FROM system.replicas WHERE database = currentDatabase() ORDER BY table',
  })
  return rows.map(({ table }) => table)
}
