import type { Statement, Store } from './clickhouse.js'

/**
 * The staging tables of one file. `reads` and `repeats` have the structure of the target and are
 * never merged, so that no row is folded into another before it has been counted; `repeats` holds
 * the rows of the hour that the clock repeats until all of them are there, and `held` the places in
 * it that rejected rows hold. `stamps` holds what each timestamp of the file means, so that the
 * engine looks it up instead of parsing it, `texts` all timestamps of the chunks that held others.
 * The others are built only where not all of `reads` is published as it stands: `fixed` from the
 * meters in `repairs` and, where their starts move, `moves`; `registered` without the meters that
 * no customer has; `final` from what `days` and `overlaps` say of the reads that the store has
 * already.
 */
export interface Staging {
  readonly reads: string
  readonly repeats: string
  readonly held: string
  readonly stamps: string
  readonly texts: string
  readonly repairs: string
  readonly moves: string
  readonly fixed: string
  readonly registered: string
  readonly days: string
  readonly overlaps: string
  readonly final: string
}

const kinds = {
  reads: 'read',
  repeats: 'repeat',
  held: 'held',
  stamps: 'stamp',
  texts: 'text',
  repairs: 'repair',
  moves: 'move',
  fixed: 'fixed',
  registered: 'registered',
  days: 'day',
  overlaps: 'overlap',
  final: 'final',
} as const satisfies Record<keyof Staging, string>

export function stagingOf(arrival: number): Staging {
  const names = Object.entries(kinds).map(([kind, name]) => [kind, `staging_${arrival}_${name}`])
  return Object.fromEntries(names) as unknown as Staging
}

const partsMax = 100_000
const dedupWindow = 100_000

/** A table like that of reads which never merges; inserts of one token count once. */
export function createReads(table: string, verb = 'CREATE TABLE IF NOT EXISTS'): Statement {
  const engine = 'ReplacingMergeTree(version) ORDER BY (local_day, meter_id, starts_at, seconds)'
  return createLike('usage_read', { table, engine, verb })
}

export interface LikeOptions {
  readonly table: string
  readonly engine: string
  readonly verb?: string
}

/** A table with the structure of a target that never merges; inserts of one token count once. */
export function createLike(target: string, options: LikeOptions): Statement {
  const { table, engine, verb = 'CREATE TABLE IF NOT EXISTS' } = options
  return {
    sql: `${verb} ${table} AS ${target}
      ENGINE = ${engine}
      SETTINGS non_replicated_deduplication_window = ${dedupWindow},
        parts_to_delay_insert = ${partsMax}, parts_to_throw_insert = ${partsMax},
        max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1,
        min_bytes_for_wide_part = 1000000000,
        fsync_after_insert = 1, fsync_part_directory = 1`,
  }
}

export async function createStaging(store: Store, arrival: number): Promise<void> {
  const { reads, repeats, held, stamps, texts } = stagingOf(arrival)
  const tables: readonly Statement[] = [
    createReads(reads),
    createReads(repeats),
    {
      sql: `CREATE TABLE IF NOT EXISTS ${held} (
          meter_id String, starts_at DateTime('UTC'), version UInt64
        ) ENGINE = MergeTree ORDER BY (meter_id, starts_at)
        SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
    },
    {
      sql: `CREATE TABLE IF NOT EXISTS ${stamps} (
          text String,
          starts_at UInt32, local_day Date, local_hour UInt8,
          second_at UInt32, second_day Date, second_hour UInt8
        ) ENGINE = ReplacingMergeTree ORDER BY text
        SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
    },
    {
      sql: `CREATE TABLE IF NOT EXISTS ${texts} (text String, chunk UInt32)
        ENGINE = MergeTree ORDER BY text
        SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
    },
  ]
  await Promise.all(tables.map((table) => store.command(table)))
}

/** Takes all rows out of staging; what the timestamps mean stays known. */
export async function emptyStaging(store: Store, arrival: number): Promise<void> {
  const { reads, repeats } = stagingOf(arrival)
  for (const table of [reads, repeats]) {
    await store.command({ sql: `DROP TABLE IF EXISTS ${table} SYNC` })
  }
  await createStaging(store, arrival)
}

/** Takes back what was written down of the rejected rows of a file that is judged again. */
export function forgetRejects(store: Store, arrival: number): Promise<void> {
  return store.command({
    sql: 'DELETE FROM reject WHERE arrival = {arrival:UInt32}',
    parameters: { arrival },
  })
}

/** Rows of a table, by the count that its parts keep. */
export async function countRows(store: Store, table: string): Promise<number> {
  const [row] = await store.rows<{ rows: string }>({ sql: `SELECT count() AS rows FROM ${table}` })
  return Number(row?.rows ?? 0)
}

export async function dropStaging(store: Store, arrival: number): Promise<void> {
  const drops = Object.values(stagingOf(arrival)).map((table) =>
    store.command({ sql: `DROP TABLE IF EXISTS ${table} SYNC` }),
  )
  await Promise.all(drops)
}

/** Arrivals that have staging tables: what was left by a file that has ended is swept away. */
export async function stagedArrivals(store: Store): Promise<readonly number[]> {
  const rows = await store.rows<{ arrival: number }>({
    sql: `SELECT DISTINCT toUInt32(extract(name, '^staging_(\\d+)_')) AS arrival
      FROM system.tables WHERE database = currentDatabase() AND match(name, '^staging_\\d+_')`,
  })
  return rows.map((row) => row.arrival)
}

/** The order of arrival down to the row: `arrival * 2^32 + line`. */
export function versionOf(arrival: number, line: number): bigint {
  return (BigInt(arrival) << 32n) + BigInt(line)
}

/** Settings of an insert that must be one part and happen once, whoever repeats it. */
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

const storedLines = (arrival: number, columns: string) => {
  const { reads, repeats } = stagingOf(arrival)
  const one = (table: string) => `SELECT ${columns} FROM ${table}
    WHERE version >= {from:UInt64} AND version < {to:UInt64}`
  return `(${one(reads)} UNION ALL ${one(repeats)})`
}

/** Parameters `from` and `to` of the versions that `lines` physical lines from `line` on have. */
export function lineBounds(arrival: number, line: number, lines: number) {
  return {
    from: versionOf(arrival, line).toString(),
    to: versionOf(arrival, line + lines).toString(),
  }
}

/** Rows and energy of `lines` physical lines from `line` on that stand in staging. */
export function countLines(arrival: number, line: number, lines: number): Statement {
  return {
    sql: `SELECT count() AS rows, toString(sum(quantity)) AS quantity
      FROM ${storedLines(arrival, 'quantity')}`,
    parameters: lineBounds(arrival, line, lines),
  }
}

/** Those of the physical lines on which no row stands in staging, ascending, one UInt32 each. */
export function missingLines(arrival: number, line: number, lines: number): Statement {
  return {
    sql: `SELECT toUInt32(number) AS line FROM numbers({line:UInt64}, {lines:UInt64})
      WHERE number NOT IN ${storedLines(arrival, 'bitAnd(version, 4294967295) AS line')}
      ORDER BY line`,
    parameters: { line, lines, ...lineBounds(arrival, line, lines) },
  }
}

/**
 * Gives the target all rows of a staging table at once: the parts are linked, nothing is copied. The
 * engine takes parts of the target's own structure only.
 */
export async function attach(store: Store, target: string, table: string): Promise<void> {
  await store.command({ sql: `ALTER TABLE ${target} ATTACH PARTITION tuple() FROM ${table}` })
}

/** Takes the reads of an arrival out of the target again, and what was written down of them. */
export function detach(arrival: number): readonly Statement[] {
  const parameters = {
    from: versionOf(arrival, 0).toString(),
    to: versionOf(arrival + 1, 0).toString(),
  }
  const within = (version: string) => `${version} >= {from:UInt64} AND ${version} < {to:UInt64}`
  return [
    { sql: `DELETE FROM usage_read WHERE ${within('version')}`, parameters },
    { sql: `DELETE FROM restatement WHERE ${within('new_version')}`, parameters },
  ]
}

const mergeLimits = [
  'max_bytes_to_merge_at_max_space_in_pool',
  'max_bytes_to_merge_at_min_space_in_pool',
]

/**
 * Keeps the engine from merging reads until `freeMerges`: a merge would fold a visible read into the
 * hidden one that is to replace it, and neither could be seen. The setting outlives a crash.
 */
export const holdMerges: Statement = {
  sql: `ALTER TABLE usage_read MODIFY SETTING ${mergeLimits.map((name) => `${name} = 1`).join(', ')}`,
}

export const freeMerges: Statement = {
  sql: `ALTER TABLE usage_read RESET SETTING ${mergeLimits.join(', ')}`,
}

export async function areMergesHeld(store: Store): Promise<boolean> {
  const rows = await store.rows({
    sql: `SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'usage_read'
      AND engine_full LIKE '%${mergeLimits[0]}%'`,
  })
  return rows.length > 0
}
