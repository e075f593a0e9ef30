import type { FileState } from '../ledger/file-state.js'
import type { Ledger } from '../ledger/ledger.js'
import type { Refusal } from '../ledger/verdict.js'
import type { Statement } from '../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../store/sql.js'
import { versionOf } from '../store/staging.js'
import { arrivalOf, type CountedTable, usageTable, visibleEntries } from './entries.js'

/** A file that brings rows of an earlier arrival back has the rows under the versions of that one. */
export function repairedVersion({ arrival, notes }: Pick<FileState, 'arrival' | 'notes'>): Sql {
  const apart = versionOf(arrival - (notes.repairs ?? arrival), 0)
  return sql`version - ${typed('UInt64', apart)}`
}

/**
 * Records that an arrival is complete again: of every row of its file it is known that it is stored,
 * or why it is not. What is stored now is what its entries add up to from then on.
 */
export function noteRepaired(
  { arrival, notes }: Pick<FileState, 'arrival' | 'notes'>,
  { table, total }: CountedTable,
): Statement {
  const of = notes.repairs ?? 0
  const [from, to] = [versionOf(of, 0), versionOf(of + 1, 0)].map((one) => typed('UInt64', one))
  const own = sql`kind = 'repaired' AND cause = ${arrival}`
  return {
    sql: sql`INSERT INTO published_rows (arrival, kind, cause, target, rows, quantity, rank)
      SELECT ${of}, 'repaired', ${arrival}, ${table}, stored.1 - noted.1, stored.2 - noted.2,
        toUnixTimestamp64Milli(now64(3))
      FROM (SELECT
        (SELECT (toInt64(count()), sum(toDecimal128(${total}, 6))) FROM ${id(table)} FINAL
          WHERE version >= ${from as Sql} AND version < ${to as Sql}) AS stored,
        (SELECT (sum(e.rows), sum(e.quantity)) FROM (SELECT * FROM published_rows FINAL) AS e
          WHERE e.arrival = ${of} AND NOT (${own}) AND ${visibleEntries}) AS noted)`,
  }
}

/**
 * Counts what a repair replaces by the arrivals that lose it, before it does, and once only. An entry of
 * the first publication says the same of rows that only showed because the later ones were missing. So
 * an arrival loses what it has beyond its entries first, and one that lacks rows itself loses nothing.
 * `replaced` has the versions and quantities of the replaced rows.
 */
export function noteReplacedAgain(
  { arrival }: Pick<FileState, 'arrival'>,
  replaced: Sql,
): Statement {
  const { table, total } = usageTable
  const losing = sql`SELECT ${arrivalOf} FROM ${replaced}`
  return {
    sql: sql`INSERT INTO published_rows (arrival, kind, cause, target, rows, quantity, rank)
      SELECT o.of, 'replaced', ${arrival}, ${table},
        -greatest(noted - stored + replaced_rows, 0) AS lost,
        if(lost = 0, 0, -(noted_total - stored_total + replaced_total)), toUnixTimestamp64Milli(now64(3))
      FROM (SELECT ${arrivalOf} AS of, toInt64(count()) AS replaced_rows,
          sum(toDecimal128(quantity, 6)) AS replaced_total FROM ${replaced} GROUP BY of) AS o
      INNER JOIN (SELECT e.arrival AS of, sum(e.rows) AS noted, sum(e.quantity) AS noted_total
        FROM (SELECT * FROM published_rows FINAL) AS e WHERE ${visibleEntries} GROUP BY of) AS n ON n.of = o.of
      INNER JOIN (SELECT ${arrivalOf} AS of, toInt64(count()) AS stored,
          sum(toDecimal128(${total}, 6)) AS stored_total
        FROM ${id(table)} FINAL WHERE ${arrivalOf} IN (${losing}) GROUP BY of) AS s ON s.of = o.of
      WHERE noted <= stored AND o.of NOT IN (
        SELECT arrival FROM published_rows WHERE kind = 'replaced' AND cause = ${arrival})`,
  }
}

/** Why a file cannot be repaired: it is judged by other rules than when it was published. */
export async function refuseRepair(
  ledger: Ledger,
  { notes, rows, quantity }: FileState,
): Promise<Refusal | undefined> {
  const first = notes.repairs === undefined ? undefined : await ledger.state(notes.repairs)
  if (first === undefined) return undefined
  const isSame =
    rows.read === first.rows.read &&
    rows.rejected === first.rows.rejected &&
    quantity.read === first.quantity.read &&
    notes.timestampFormat === first.notes.timestampFormat &&
    notes.dateOrder === first.notes.dateOrder
  if (isSame) return undefined
  const reason = `the profile now judges the file differently than as arrival ${first.arrival}: ${rows.rejected} of ${rows.read} rows rejected instead of ${first.rows.rejected} of ${first.rows.read}; restore the profile of that time, or a backup`
  return { fault: 'FILE_STATE', reason }
}
