import { type RecordFeed, storeColumn } from '../../schemas/record-feed.js'
import type { Notes } from '../ledger/file-state.js'
import type { Counted } from '../ledger/sums.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, join, type Sql, sql } from '../store/sql.js'
import {
  attach,
  createLike,
  type Decision,
  derivedOf,
  type IfThere,
  stagingOf,
} from '../store/staging.js'
import { type ChunkLines, lineBounds, within } from '../store/versions.js'
import { type CountedTable, countedTable, noteRows } from '../verify/entries.js'
import { linkWhole } from '../whole.js'

/**
 * The table that holds the rows of every published file of a feed. Nothing in it is ever replaced: of
 * the rows of one key the one with the highest version counts, and what it replaced stays known.
 */
export function rowsTable({ view }: RecordFeed): string {
  return `${view}_row`
}

/** The sum of the column that a feed is proved by, as text. */
export function recordSum({ total }: RecordFeed, ...prefix: readonly [string] | readonly []): Sql {
  if (total === undefined) return sql`'0'`
  const [table] = prefix
  const column = storeColumn(total)
  const summed = table === undefined ? id(column) : id(table, column)
  return sql`toString(sum(ifNull(${summed}, toDecimal64(0, 6))))`
}

export function keyOf({ key }: RecordFeed): Sql {
  return columnsOf(key.map(storeColumn))
}

function columnsOf(columns: readonly string[]): Sql {
  return join(
    columns.map((column) => id(column)),
    sql`, `,
  )
}

/** Whether a row ends its key, of feeds whose rows may do so: see `ended.ts`. */
export function isEnd({ moves }: RecordFeed): Sql {
  return moves === true ? sql`is_end` : sql`false`
}

export function createRecordTable(feed: RecordFeed, table: string, ifThere?: IfThere): Statement {
  const engine = sql`ReplacingMergeTree ORDER BY (${keyOf(feed)}, version)`
  return createLike(rowsTable(feed), { table, engine, ifThere })
}

export async function createRecordStaging(
  store: Store,
  feed: RecordFeed,
  arrival: number,
): Promise<void> {
  await store.command(createRecordTable(feed, stagingOf(arrival).reads))
}

export function insertRecords(feed: RecordFeed, arrival: number): Sql {
  const columns = columnsOf([...feed.columns.map(storeColumn), 'version'])
  return sql`INSERT INTO ${id(stagingOf(arrival).reads)} (${columns}) FORMAT TabSeparated`
}

/** Rows of a chunk in staging. */
export async function countChunk(store: Store, chunk: ChunkLines): Promise<number> {
  const [row] = await store.rows<{ rows: string }>({
    sql: sql`SELECT toString(count()) AS rows FROM ${id(stagingOf(chunk.arrival).reads)}
      WHERE ${within(sql`version`, lineBounds(chunk))}`,
  })
  return Number(row?.rows ?? 0)
}

/** Rows and control total of a staging table. */
export async function countRecords(
  store: Store,
  feed: RecordFeed,
  table: string,
): Promise<Counted> {
  const [row] = await store.rows<{ rows: string; quantity: string }>({
    sql: sql`SELECT toString(count()) AS rows, ${recordSum(feed)} AS quantity FROM ${id(table)}`,
  })
  return { rows: Number(row?.rows ?? 0), quantity: row?.quantity ?? '0' }
}

/** Arrivals whose rows everybody sees. */
const published = sql`SELECT toUInt64(arrival) FROM file_state FINAL WHERE status = 'published'`

/** The arrivals that were published before one. */
const publishedBefore = (arrival: number) => sql`SELECT toUInt64(arrival) FROM publication
  WHERE arrival != 0 AND published_seq < (
    SELECT min(published_seq) FROM publication WHERE arrival = ${arrival})`

/** The rows of a feed under the keys of a file with all their columns, as it is held against them. */
export function storedOf(
  feed: RecordFeed,
  { notes, ...decision }: Decision & { readonly notes?: Notes },
): Sql {
  const repairs = notes?.repairs
  const of = repairs === undefined ? published : publishedBefore(repairs)
  const key = keyOf(feed)
  return sql`SELECT * FROM ${id(rowsTable(feed))}
    WHERE bitShiftRight(version, 32) IN (${of}) AND (${key}) IN (SELECT ${key} FROM ${id(derivedOf(decision).whole)})
    ORDER BY version DESC LIMIT 1 BY ${key}`
}

/** Links the rows of a file into a table of the decision's own. */
export async function keepAll(store: Store, feed: RecordFeed, decision: Decision): Promise<string> {
  await store.command(createRecordTable(feed, derivedOf(decision).whole, 'replace'))
  return linkWhole(store, decision)
}

/** Records how many rows of a file are stored. They count once the file has its number. */
export function notePublishedRecords(
  feed: RecordFeed,
  { arrival, attaches }: { readonly arrival: number; readonly attaches: string },
): Statement {
  const { table: target, total } = countedOf(feed)
  return noteRows({ kind: 'published', cause: arrival, target, total, from: id(attaches) })
}

export function countedOf(feed: RecordFeed): CountedTable {
  return countedTable(rowsTable(feed)) as CountedTable
}

export function attachRecords(store: Store, feed: RecordFeed, table: string): Promise<void> {
  return attach(store, rowsTable(feed), table)
}

/** Different meters among the rows of a table of a feed. */
export async function countMeters(store: Store, feed: RecordFeed, table: string): Promise<number> {
  if (!feed.columns.includes('MeterID')) return 0
  const [row] = await store.rows<{ meters: string }>({
    sql: sql`SELECT toString(uniqExact(meter_id)) AS meters FROM ${id(table)} WHERE meter_id != ''`,
  })
  return Number(row?.meters ?? 0)
}
