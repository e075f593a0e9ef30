import { feedNames, recordFeedOf } from '../../schemas/feed.js'
import { storeColumn } from '../../schemas/record-feed.js'
import type { FileState } from '../ledger/file-state.js'
import type { Statement } from '../store/clickhouse.js'
import { id, join, literal, type Sql, sql, typed } from '../store/sql.js'
import { arrivalOf } from '../store/versions.js'

/**
 * Why the stored rows of an arrival change. Rows are recorded as added after they are visible, and as
 * removed before they are: at each moment at least as many are stored as the entries say.
 */
export type EntryKind = 'published' | 'replaced' | 'claimed' | 'outdone' | 'erased' | 'repaired'

/** A table whose rows are counted by arrival, and the expression of its control total. */
export interface CountedTable {
  readonly table: string
  readonly total: Sql
}

export const usageTable: CountedTable = { table: 'usage_read', total: sql`quantity` }

/** The current rows of such a table; for a FROM. */
export function currentOf(table: string): Sql {
  return table === usageTable.table ? sql`usage_current` : sql`${id(table)} FINAL`
}

/** Every table that files are published into. */
export const countedTables: readonly CountedTable[] = [
  usageTable,
  ...feedNames.flatMap((name) => {
    const feed = recordFeedOf(name)
    if (feed === undefined) return []
    const none = sql`toDecimal64(0, 6)`
    const total =
      feed.total === undefined ? none : sql`ifNull(${id(storeColumn(feed.total))}, ${none})`
    return [{ table: `${feed.view}_row`, total }]
  }),
]

export function countedTable(name: string): CountedTable | undefined {
  return countedTables.find(({ table }) => table === name)
}

/** From its verdict on, a file may replace rows at any moment. */
const decided = sql`SELECT toUInt64(arrival) FROM file_state FINAL WHERE status = 'publishing'
    UNION ALL SELECT toUInt64(arrival) FROM publication WHERE arrival != 0`

/** The condition of the entries `e` that count. */
export const visibleEntries = sql`e.arrival IN (SELECT arrival FROM publication WHERE arrival != 0)
    AND (e.kind != 'replaced' OR e.cause IN (${decided}))`

interface Noted {
  readonly kind: EntryKind
  readonly cause: number | string | bigint
  readonly target: string
  /** Rows that are counted by arrival, with `version` and what `total` names. */
  readonly from: Sql
  readonly total: Sql
}

const removing: readonly EntryKind[] = ['replaced', 'outdone', 'erased']
/** Each attempt to publish is exact by itself, so the last one counts. */
const lastCounts: readonly EntryKind[] = ['published', 'replaced', 'repaired']

/**
 * The rank of an entry that replaces earlier ones of its cause: later than theirs, also when the clock
 * was set back in between.
 */
export function latestRank(kind: EntryKind, ...causes: readonly Noted['cause'][]): Sql {
  return sql`greatest(toUInt64(toUnixTimestamp64Milli(now64(3))), 1 + (SELECT max(rank) FROM published_rows
          WHERE kind = ${kind} AND cause IN ${literal(causes.map(String))}))`
}

/**
 * Adds an entry for each arrival among some rows. Repeated after a crash it changes nothing: of
 * two entries of one cause the one of more rows counts, because a step that runs again finds fewer.
 */
export function noteRows({ kind, cause, target, from, total }: Noted): Statement {
  const sign = removing.includes(kind) ? sql`-1` : sql`1`
  const rank = lastCounts.includes(kind) ? latestRank(kind, cause) : sql`count()`
  return {
    sql: sql`INSERT INTO published_rows (arrival, kind, cause, target, rows, quantity, rank)
      SELECT ${arrivalOf} AS of, ${kind}, ${typed('UInt64', cause)}, ${target},
        ${sign} * toInt64(count()), ${sign} * sum(toDecimal128(${total}, 6)), ${rank}
      FROM ${from} GROUP BY of`,
  }
}

/** Records that the rows of usage files are stored. They count once the file has its number. */
export function notePublished(states: readonly FileState[]): Statement {
  const kind = 'published' satisfies EntryKind
  const arrivals = states.map(({ arrival }) => arrival)
  const columns = [
    arrivals,
    states.map(({ rows }) => rows.accepted),
    states.map(({ quantity }) => quantity.accepted),
  ].map((column) => literal(column))
  return {
    sql: sql`INSERT INTO published_rows (arrival, kind, cause, target, rows, quantity, rank)
      SELECT one.1, ${kind}, one.1, ${usageTable.table}, one.2, toDecimal128(one.3, 6),
        ${latestRank(kind, ...arrivals)}
      FROM (SELECT arrayJoin(arrayZip(${join(columns, sql`, `)})) AS one)`,
  }
}
