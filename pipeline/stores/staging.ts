import type { Statement, Store } from './clickhouse.js'

/**
 * The staging table of one file: same structure as the target, never merged, so that no row is
 * folded into another before it has been counted. `texts` gathers the different timestamps as they
 * stand in the file and `stamps` what each means, so that the engine looks a timestamp up instead of
 * parsing it.
 */
export interface Staging {
  readonly reads: string
  readonly texts: string
  readonly stamps: string
}

export function stagingOf(arrival: number): Staging {
  return {
    reads: `staging_${arrival}_read`,
    texts: `staging_${arrival}_text`,
    stamps: `staging_${arrival}_stamp`,
  }
}

/** Inserts of one chunk are one block, hence one part: all of a chunk is there or nothing. */
const partsMax = 100_000
const dedupWindow = 100_000

export async function createStaging(store: Store, arrival: number): Promise<void> {
  const staging = stagingOf(arrival)
  await store.command({
    sql: `CREATE TABLE IF NOT EXISTS ${staging.reads} AS usage_read
      ENGINE = ReplacingMergeTree(version) ORDER BY (local_day, meter_id, starts_at, seconds)
      SETTINGS non_replicated_deduplication_window = ${dedupWindow},
        parts_to_delay_insert = ${partsMax}, parts_to_throw_insert = ${partsMax},
        max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1,
        fsync_after_insert = 1, fsync_part_directory = 1`,
  })
  await store.command({
    sql: `CREATE TABLE IF NOT EXISTS ${staging.texts} (text String) ENGINE = MergeTree ORDER BY text`,
  })
  await store.command({
    sql: `CREATE TABLE IF NOT EXISTS ${staging.stamps} (
        text String, starts_at UInt32, local_day Date, local_hour UInt8
      ) ENGINE = ReplacingMergeTree ORDER BY text`,
  })
}

export async function dropStaging(store: Store, arrival: number): Promise<void> {
  const staging = stagingOf(arrival)
  for (const table of [staging.reads, staging.texts, staging.stamps]) {
    await store.command({ sql: `DROP TABLE IF EXISTS ${table} SYNC` })
  }
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
    max_insert_block_size: 100_000_000,
    min_insert_block_size_rows: 100_000_000,
    min_insert_block_size_bytes: 0,
    optimize_on_insert: 0,
  }
}

/** Rows and energy of lines `from` to `to` (exclusive) that stand in staging. */
export function countLines(arrival: number, from: number, to: number): Statement {
  return {
    sql: `SELECT count() AS rows, toString(sum(quantity)) AS quantity
      FROM ${stagingOf(arrival).reads}
      WHERE version >= {from:UInt64} AND version < {to:UInt64}`,
    parameters: {
      from: versionOf(arrival, from).toString(),
      to: versionOf(arrival, to).toString(),
    },
  }
}

/** Physical lines of a chunk on which no row stands in staging, ascending. */
export function missingLines(arrival: number, line: number, lines: number): Statement {
  return {
    sql: `SELECT toUInt32(number) AS line FROM numbers({line:UInt64}, {lines:UInt64})
      WHERE number NOT IN (
        SELECT bitAnd(version, 4294967295) FROM ${stagingOf(arrival).reads}
        WHERE version >= {from:UInt64} AND version < {to:UInt64}
      ) ORDER BY line`,
    parameters: {
      line,
      lines,
      from: versionOf(arrival, line).toString(),
      to: versionOf(arrival, line + lines).toString(),
    },
  }
}

/** Makes all of a file visible to the engine at once: the parts are linked, nothing is copied. */
export function attachStaging(arrival: number): Statement {
  return {
    sql: `ALTER TABLE usage_read ATTACH PARTITION tuple() FROM ${stagingOf(arrival).reads}`,
  }
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
