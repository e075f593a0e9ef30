import { Fault } from '../schemas/fault.js'
import { newGroup } from './ledger/file-state.js'
import type { Store } from './store/clickhouse.js'
import { createCatchUp, hasReplicas, type RowReader } from './store/replicas.js'
import { id, type Sql, sql } from './store/sql.js'
import {
  countRows,
  createReads,
  type Decision,
  derivedOf,
  dropTables,
  stagingOf,
} from './store/staging.js'

/** Creates the table of a decision's own that the rows of a usage file are linked into. */
export async function createWhole(store: Store, decision: Decision): Promise<void> {
  await store.command(createReads(derivedOf(decision).whole, 'replace'))
}

/**
 * Links the parts of a file's rows into a table of the decision's own, and returns its name. All that a verdict
 * says is asked of this one: loads of another decision empty `reads`, and another server, to which the client may
 * move for a single statement, has none of it or a part under the same name.
 */
export async function linkWhole(store: Store, decision: Decision): Promise<string> {
  const { whole } = derivedOf(decision)
  const { reads } = stagingOf(decision.arrival)
  await store.command({
    sql: sql`ALTER TABLE ${id(whole)} ATTACH PARTITION tuple() FROM ${id(reads)}`,
  })
  return whole
}

/** Whether rows that were loaded are on a server that does not answer any more. */
export function isStagingLost(error: unknown): boolean {
  return error instanceof Fault && error.code === 'STAGING_LOST'
}

/**
 * A condition that holds, and that only the server of a table can read: what is asked of tables that the
 * decision has not made is refused by any other, which may have some of the same name.
 */
export function onServerOf(table: string): Sql {
  return sql`(SELECT count() FROM ${id(table)}) >= 0`
}

/**
 * Creates a table, and waits until its server has all that was written before into `tables`, by default into all.
 * What `use` asks `onServerOf` the table, no other one can answer. Drops the table.
 */
export async function onOneServer<T>(
  store: Store,
  { table, tables }: { readonly table: string; readonly tables: readonly string[] | undefined },
  use: () => Promise<T>,
): Promise<T> {
  try {
    await store.command({
      sql: sql`CREATE TABLE ${id(table)} (one UInt8) ENGINE = MergeTree ORDER BY one`,
    })
    await createCatchUp(store, tables, onServerOf(table))()
    return await use()
  } finally {
    await dropTables(store, [table])
  }
}

/** Reads rows on the server of a table; any other one refuses the statement. */
export function readerOn(store: RowReader, table: string): RowReader {
  return {
    rows: ({ sql: rows, ...more }) =>
      store.rows({ sql: sql`SELECT * FROM (${rows}) WHERE ${onServerOf(table)}`, ...more }),
  }
}

/**
 * Asks one server that has all that was written before into some tables, by default into all: `server` reads there,
 * and `isThere` is the condition for other statements. The sweep drops what a worker leaves that dies.
 */
export async function askOneServer<T>(
  store: Store,
  tables: readonly string[] | undefined,
  ask: (server: RowReader, isThere: Sql) => Promise<T>,
): Promise<T> {
  if (!(await hasReplicas(store))) return ask(store, sql`1`)
  // A number without a file.
  const table = `staging_${newGroup()}_server_1`
  return onOneServer(store, { table, tables }, () => ask(readerOn(store, table), onServerOf(table)))
}

/** Throws `STAGING_LOST` for a table with fewer rows than a verdict is about. */
export async function proveRows(store: Store, table: string, rows: number): Promise<number> {
  const found = await countRows(store, table)
  if (found < rows) throw new Fault('STAGING_LOST', `${table} has ${found} rows of ${rows}`)
  return found
}
