import type { Statement, Store } from './clickhouse.js'
import { deleteFrom, onReplicas } from './replicas.js'
import { id, join, literal, type Sql, sql } from './sql.js'

/**
 * The staging tables of one file. `reads` and `timestamps` are always there, the others once a row needs
 * them. `reads` and `repeats` have the structure of the target and are never merged, so that no row is folded into another before it has been counted; `repeats` holds
 * the rows of the hour that the clock repeats. `timestamps` holds what each timestamp of the file means, so that
 * the engine looks it up instead of parsing it, `texts` all timestamps of the chunks that held others.
 */
export type Staging = Readonly<Record<keyof typeof loaded, string>>

/**
 * The tables that one decision builds: `whole` has the parts of `reads` and the rows of `hour`, which are those of
 * `repeats`, in the hours that they are of; `held` has the places that rejected rows hold among them, and `choices`
 * the hours of those that need more than their order. `series` sums up what is to be published, one row for each
 * series. The others are there only
 * where not all of it is published as it stands: `fixed` from the meters and days in `repairs` and, where their starts move, `moves`,
 * after what is stored of the meters in tables like `sparse` was looked up; `provisional` has lengths that nothing
 * proves; `open` has stored reads of such a length, `rekeys` their new ones and `rekeyed` what is stored of
 * them since; `registered` without the meters that no customer has, `ended` reads that these take from a customer,
 * and `counting` without the rows that these take; `final` from what `days` and `overlaps`
 * say of the reads that the store has already.
 */
export type Derived = Readonly<Record<keyof typeof derived, string>>

const loaded = {
  reads: 'read',
  repeats: 'repeat',
  timestamps: 'timestamp',
  texts: 'text',
} as const

const derived = {
  series: 'series',
  hour: 'hour',
  held: 'held',
  choices: 'choice',
  sparse: 'sparse',
  repairs: 'repair',
  moves: 'move',
  fixed: 'fixed',
  registered: 'registered',
  provisional: 'provisional',
  open: 'open',
  rekeys: 'rekey',
  rekeyed: 'rekeyed',
  ended: 'ended',
  counting: 'counting',
  days: 'day',
  overlaps: 'overlap',
  whole: 'whole',
  final: 'final',
} as const

export function stagingOf(arrival: number): Staging {
  const names = Object.entries(loaded).map(([kind, name]) => [kind, `staging_${arrival}_${name}`])
  return Object.fromEntries(names) as unknown as Staging
}

/** One of the decisions on a file: a worker that was held up may decide beside its successor. */
export interface Decision {
  readonly arrival: number
  /** Its id. */
  readonly decision: number
}

/** No other decision has these tables, so none can empty what another one publishes. */
export function derivedOf({ arrival, decision }: Decision): Derived {
  const names = Object.entries(derived).map(([kind, name]) => {
    return [kind, `staging_${arrival}_${name}_${decision}`]
  })
  return Object.fromEntries(names) as unknown as Derived
}

/** Removes the tables of a decision that does not hold. */
export function dropDerived(store: Store, decision: Decision): Promise<void> {
  return dropTables(store, Object.values(derivedOf(decision)))
}

const partsMax = 100_000
const dedupWindow = 100_000

/** How a table comes into being: kept where it is already there, or in its place. */
export type IfThere = 'keep' | 'replace'

/** A table like that of reads which never merges; inserts of one token count once. */
export function createReads(table: string, ifThere?: IfThere): Statement {
  const engine = sql`ReplacingMergeTree(precedence)
    ORDER BY (local_day, meter_id, starts_at, seconds)`
  return createLike('usage_read', { table, engine, ifThere })
}

export interface LikeOptions {
  readonly table: string
  readonly engine: Sql
  readonly ifThere?: IfThere | undefined
}

/** A table with the structure of a target that never merges; inserts of one token count once. */
export function createLike(target: string, { table, engine, ifThere }: LikeOptions): Statement {
  const create =
    ifThere === 'replace' ? sql`CREATE OR REPLACE TABLE` : sql`CREATE TABLE IF NOT EXISTS`
  const most = literal(partsMax)
  return {
    sql: sql`${create} ${id(table)} AS ${id(target)}
      ENGINE = ${engine}
      SETTINGS non_replicated_deduplication_window = ${literal(dedupWindow)},
        parts_to_delay_insert = ${most}, parts_to_throw_insert = ${most},
        max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1,
        min_bytes_for_wide_part = 1000000000, ${durable}`,
  }
}

/** The settings of a table that is read after the verdict: it must outlive a power cut. */
export const durable = sql`fsync_after_insert = 1, fsync_part_directory = 1`

export async function createStaging(store: Store, arrival: number): Promise<void> {
  const { reads, timestamps } = stagingOf(arrival)
  const tables: readonly Statement[] = [
    createReads(reads),
    {
      sql: sql`CREATE TABLE IF NOT EXISTS ${id(timestamps)} (
          text String,
          starts_at UInt32, local_day Date, local_hour UInt8,
          second_at UInt32, second_day Date, second_hour UInt8
        ) ENGINE = ReplacingMergeTree ORDER BY text
        SETTINGS ${durable}`,
    },
  ]
  await Promise.all(tables.map((table) => store.command(table)))
}

/** The table of rows in the repeated hour, before the first of them is stored: most files have none. */
export async function createRepeats(store: Store, arrival: number): Promise<void> {
  await store.command(createReads(stagingOf(arrival).repeats))
}

/** The table of timestamps that were gathered from a chunk, before its first row. */
export async function createTexts(store: Store, arrival: number): Promise<void> {
  await store.command({
    sql: sql`CREATE TABLE IF NOT EXISTS ${id(stagingOf(arrival).texts)} (text String, chunk UInt32)
      ENGINE = MergeTree ORDER BY text
      SETTINGS ${durable}`,
  })
}

/** Those of some staging tables of a file that are there, as one; `STAGING_LOST` if none is. */
export function stagedIn(arrival: number, kinds: readonly (keyof Staging)[]): Sql {
  const names = kinds.map((kind) => loaded[kind]).join('|')
  return sql`merge(currentDatabase(), ${literal(`^staging_${arrival}_(${names})$`)})`
}

/** Removes all rows from staging; the meaning of the timestamps stays. */
export async function emptyStaging(store: Store, arrival: number): Promise<void> {
  const { reads, repeats } = stagingOf(arrival)
  await dropTables(store, [reads, repeats])
  await createStaging(store, arrival)
}

/** Forgets the rejected rows of a file that is loaded again. */
export async function forgetRejects(store: Store, arrival: number): Promise<void> {
  await deleteFrom(store, 'reject', sql`arrival = ${arrival}`)
}

/** Rows of a table, from the counts of its parts. */
export async function countRows(store: Store, table: string): Promise<number> {
  const [row] = await store.rows<{ rows: string }>({
    sql: sql`SELECT count() AS rows FROM ${id(table)}`,
  })
  return Number(row?.rows ?? 0)
}

/** Rows of the repeated hour; none where their table is not there. */
export async function countRepeats(store: Store, arrival: number): Promise<number> {
  const [row] = await store.rows<{ rows: string | null }>({
    sql: sql`SELECT sum(total_rows) AS rows FROM system.tables
      WHERE database = currentDatabase() AND name = ${stagingOf(arrival).repeats}`,
  })
  return Number(row?.rows ?? 0)
}

export async function dropStaging(store: Store, arrival: number): Promise<void> {
  const tables = await store.rows<{ name: string }>({
    sql: sql`SELECT name FROM system.tables
      WHERE database = currentDatabase() AND startsWith(name, ${`staging_${arrival}_`})`,
  })
  await dropTables(
    store,
    tables.map(({ name }) => name),
  )
}

/**
 * Drops the tables that the steps of a file or group name. Those of decisions that a kill cut short are
 * left to the sweep.
 */
export function dropStagingOf(store: Store, decision: Decision): Promise<void> {
  const tables = [stagingOf(decision.arrival), derivedOf(decision)]
  return dropTables(store, tables.flatMap(Object.values))
}

/** Drops tables in one statement, where they are there. */
export async function dropTables(store: Store, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return
  const all = join(
    tables.map((table) => id(table)),
    sql`, `,
  )
  await store.command({ sql: sql`DROP TABLE IF EXISTS ${all} SYNC` })
}

/** Names the server and database that answer now; those of another server have other staging tables. */
export async function nameServer(store: Store): Promise<string> {
  const [row] = await store.rows<{ name: string }>({
    sql: sql`SELECT concat(hostName(), ' ', toString(serverUUID()), ' ', currentDatabase()) AS name`,
  })
  return row?.name ?? ''
}

/** Staging tables of the server that answers. */
export const stagingTables = sql`SELECT name FROM system.tables
  WHERE database = currentDatabase() AND match(name, '^staging_\\d+_')`

/** Arrivals and groups with staging tables: the sweep drops those of settled files. */
export async function stagedArrivals(store: Store): Promise<readonly number[]> {
  const rows = await store.rows<{ arrival: number }>({
    sql: sql`SELECT DISTINCT toUInt32(extract(name, '^staging_(\\d+)_')) AS arrival FROM (${stagingTables})`,
  })
  return rows.map((row) => row.arrival)
}

/** Settings of an insert that must be one part and take effect once, even if repeated. */
export function onceSettings(token: string): Record<string, string | number> {
  return {
    insert_deduplicate: 1,
    insert_deduplication_token: token,
    max_threads: 1,
    max_insert_threads: 1,
    input_format_parallel_parsing: 0,
    max_insert_block_size: 100_000_000,
    min_insert_block_size_rows: 100_000_000,
    min_insert_block_size_bytes: 0,
    optimize_on_insert: 0,
  }
}

/**
 * Adds all rows of a staging table to the target at once: the parts are linked, nothing is copied. The
 * engine only accepts parts of the target's structure.
 */
export async function attach(store: Store, target: string, table: string): Promise<void> {
  const all = sql`ATTACH PARTITION tuple() FROM ${id(table)}`
  await onReplicas(store, target, sql`ALTER TABLE ${id(target)} ${all}`)
}

/**
 * Adds rows that the target had before, in blocks. They are not attached: replicas leave out a part that
 * they have attached once, although its rows are gone since.
 */
export async function putBack(store: Store, target: string, table: string): Promise<void> {
  await store.command({
    sql: sql`INSERT INTO ${id(target)} SELECT * FROM ${id(table)}`,
  })
}
