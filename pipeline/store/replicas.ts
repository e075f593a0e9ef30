import { Fault } from '../../schemas/fault.js'
import type { Statement, Store } from './clickhouse.js'
import { id, literal, type Sql, sql } from './sql.js'

/** What reads rows: a store, or one server of it. */
export interface RowReader {
  rows<T>(statement: Statement & { readonly sql: Sql }): Promise<readonly T[]>
}

/**
 * Waits until the server that answers has all that was written at other replicas, into all tables or some, so
 * that a step never decides by what a replica that lags shows. `where` may name the server.
 */
export function createCatchUp(
  store: Store,
  tables?: readonly string[],
  where?: Sql,
): () => Promise<void> {
  return async () => {
    if (await hasReplicas(store)) await catchUp(store, tables, where)
  }
}

const replicated = new WeakMap<Store, boolean>()

/** Whether there are replicas, asked once of a store: they come with a migration, for which workers stop. */
export async function hasReplicas(store: Store): Promise<boolean> {
  const known = replicated.get(store)
  if (known !== undefined) return known
  const found = await store.rows({
    sql: sql`SELECT 1 FROM system.tables
      WHERE database = currentDatabase() AND startsWith(engine, 'Replicated') LIMIT 1`,
  })
  replicated.set(store, found.length > 0)
  return found.length > 0
}

/**
 * Returns whether a table was behind. The engine reads the queue before the pointer: what is pulled in between is
 * in neither, and a second look finds it in the queue. Throws `STORE_UNREACHABLE` as `refuseUnsure` does.
 */
export async function catchUp(
  store: Store,
  tables?: readonly string[],
  where: Sql = sql`1`,
): Promise<boolean> {
  const which = tables === undefined ? where : sql`table IN ${literal(tables)} AND ${where}`
  const look = () =>
    store.rows<{ table: string; is_unsure: number }>({
      sql: sql`SELECT table, parts_to_check > 0 AS is_unsure FROM system.replicas
        WHERE database = currentDatabase() AND ${which}
        AND (is_readonly OR queue_size > 0 OR log_pointer <= log_max_index OR is_unsure)`,
    })
  const found = [...(await look()), ...(await look())]
  const lagging = new Set(found.map(({ table }) => table))
  for (const table of lagging) {
    await store.command({ sql: sql`SYSTEM SYNC REPLICA ${id(table)} LIGHTWEIGHT` })
  }
  if (found.some(({ is_unsure }) => is_unsure === 1)) await refuseUnsure(store, which)
  return lagging.size > 0
}

/**
 * Throws `STORE_UNREACHABLE` while the server shows rows of an insert in whose middle it lost Keeper: it keeps
 * them for five minutes before it asks Keeper whether they were stored, and drops them if not. `which` picks
 * the tables in `system.replicas`.
 */
export async function refuseUnsure(store: Store, which: Sql): Promise<void> {
  const [unsure] = await store.rows<{ table: string }>({
    sql: sql`SELECT table FROM system.replicas
      WHERE database = currentDatabase() AND ${which} AND parts_to_check > 0 LIMIT 1`,
  })
  if (unsure === undefined) return
  const detail = `the server has yet to compare parts of ${unsure.table} with Keeper; after an insert without an answer it does so within five minutes`
  throw new Fault('STORE_UNREACHABLE', detail)
}

/**
 * Runs a change of a table that each replica carries out for itself, and waits for the replicas that are up.
 * One that is away follows the log when it is back. Throws `REPLICA_AWAY` while no majority is up.
 */
export async function onReplicas(store: Store, table: string, change: Sql): Promise<void> {
  try {
    await store.command({ sql: change })
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'REPLICA_AWAY') throw error
    if (!(await isMajorityUp(store, table))) throw error
  }
}

async function isMajorityUp(store: Store, table: string): Promise<boolean> {
  const found = await store.rows({
    sql: sql`SELECT 1 FROM system.replicas WHERE database = currentDatabase()
      AND table = ${table} AND active_replicas * 2 > total_replicas`,
  })
  return found.length > 0
}

/** Deletes rows: at once for readers, from the disk by later merges. */
export function deleteFrom(store: Store, table: string, where: Sql): Promise<void> {
  return onReplicas(store, table, sql`DELETE FROM ${id(table)} WHERE ${where}`)
}

/** How many deletions from a table the server that answers has yet to carry out, as others may have. */
export function openDeletions(table: string): Sql {
  return sql`(SELECT toString(count()) FROM system.mutations
    WHERE database = currentDatabase() AND table = ${table} AND NOT is_done)`
}

/** The fault of a step that must not read rows which others have deleted. */
export function notDeletedYet(table: string): Fault {
  return new Fault('STORE_UNREACHABLE', `a deletion from ${table} is not carried out yet`)
}

/**
 * The first of some tables of which another replica still has rows that were deleted here. A replica
 * carries deletions out in their order, so one of nothing is done when all before it are. Waits some
 * seconds for replicas that lag, and not for those that are away.
 */
export async function tableBehind(
  store: Store,
  tables: readonly string[],
  waitSeconds: number,
): Promise<string | undefined> {
  if (!(await hasReplicas(store))) return undefined
  for (const table of tables) {
    try {
      await store.command({
        sql: sql`ALTER TABLE ${id(table)} DELETE WHERE 0`,
        settings: { mutations_sync: 2, max_execution_time: waitSeconds },
      })
    } catch (error) {
      if (error instanceof Fault && error.retry) return table
      throw error
    }
  }
  return undefined
}
