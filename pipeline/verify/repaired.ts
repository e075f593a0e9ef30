import { foreignRows } from '../customers/registered.js'
import type { FileState } from '../ledger/file-state.js'
import type { Ledger } from '../ledger/ledger.js'
import type { Refusal } from '../ledger/verdict.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../store/sql.js'
import { type Decision, derivedOf, onceSettings } from '../store/staging.js'
import { arrivalOf, isOfFile, precedenceOf, versionOf } from '../store/versions.js'
import { isUnproved } from '../usage/lengths/provisional.js'
import { readColumns } from '../usage/lengths/rekey.js'
import { type CountedTable, currentOf, latestRank, usageTable, visibleEntries } from './entries.js'

/** Whether an arrival of the ledger brings older bytes back. */
export const isRepair = sql`arrival IN (SELECT arrival FROM arrival WHERE repairs != 0)`

/** A file that brings rows of an earlier arrival back has the rows under the versions of that one. */
export function repairedVersion({ arrival, notes }: Pick<FileState, 'arrival' | 'notes'>): Sql {
  const apart = versionOf(arrival - (notes.repairs ?? arrival), 0)
  // A difference is signed, and would compare wrongly as a precedence.
  return sql`toUInt64(version - ${typed('UInt64', apart)})`
}

/**
 * The columns of reads that come back: they have that version, and where another file has proved their length
 * since, the number of that file.
 */
export function repairedColumns(state: Pick<FileState, 'arrival' | 'notes'>): Sql {
  const proved = sql`(SELECT (groupArray(meter_id), groupArray(by)) FROM (
      SELECT meter_id, toUInt64(max(proved_by)) AS by FROM provisional_length FINAL
      WHERE arrival = ${state.notes.repairs ?? 0} AND NOT ${isUnproved()} AND proved_seconds != seconds
      GROUP BY meter_id))`
  return sql`REPLACE(${repairedVersion(state)} AS version,
    transform(meter_id, ${proved}.1, ${proved}.2, toUInt64(0)) AS change)`
}

/** What published files have made of reads: their rows, or the lengths that these proved. */
const restatements = sql`restatement
  WHERE bitShiftRight(new_version, 32) IN (SELECT toUInt64(arrival) FROM publication WHERE arrival != 0)`
const restatementsOf = (of: number) => sql`${restatements} AND ${isOfFile(of, sql`old_version`)}`
const byRow = sql`old_version != new_version AND bitAnd(new_version, 4294967295) != 0`

/** Reads of an arrival that rows have replaced, or moved to another account or premise. */
export const replacedReads = (of: number) => sql`(SELECT * FROM ${restatementsOf(of)} AND ${byRow})`

/** Not a read of such arrivals that only shows because what has replaced it is gone, too. */
const isNotReplaced = (isOfThem: Sql) =>
  sql`version NOT IN (SELECT old_version FROM ${restatements} AND ${byRow} AND ${isOfThem})`

/** The versions of rows of an arrival that have replaced a read. */
export const replacingRows = (of: number) =>
  sql`SELECT new_version FROM restatement WHERE ${isOfFile(of, sql`new_version`)} AND bitAnd(new_version, 4294967295) != 0`

/** Whether a row `s` of a repair has another key than it had when a later file replaced it. */
export const isRekeyedSince = (
  of: number,
) => sql`s.version IN (SELECT old_version FROM ${replacedReads(of)})
  AND (s.version, s.starts_at, s.seconds) NOT IN (SELECT old_version, starts_at, seconds FROM ${replacedReads(of)})`

/**
 * Whether a row `s` of a repair was stored although it meets the read `c` now: a later file has brought that read
 * under this key. An equal row has repeated the read unless something shows that it was stored.
 */
const isCovered = (of: number, isSame: Sql) => {
  const hasMoved = sql`(c.change > ${typed('UInt64', of)} AND c.change <= 4294967295)`
  const guessed = sql`SELECT meter_id, local_day, seconds FROM provisional_length WHERE arrival = ${of}`
  const wasStored = sql`(s.version IN (${replacingRows(of)}) OR s.version IN (SELECT old_version FROM ${restatementsOf(of)})
    OR ${hasMoved} AND (s.meter_id, s.local_day, s.seconds) IN (${guessed}))`
  return sql`${precedenceOf('c')} < ${precedenceOf('s')} AND if(${isSame}, ${wasStored}, ${hasMoved})`
}

/**
 * What a row `s` of a repair becomes, before its values are held against a read `c`, and whether it was not stored
 * before: what later files have repeated may be this row.
 */
export const sortAgain = (of: number, isSame: Sql) =>
  [
    sql`${isRekeyedSince(of)}, 'superseded', ${isCovered(of, isSame)}, 'covered',`,
    sql`s.version NOT IN (${replacingRows(of)})`,
  ] as const

/** Adds to the table that is attached what ends the keys of those whose length other files have proved since. */
export function attachEndsAgain({ notes, attaches }: FileState): Statement {
  return {
    sql: sql`INSERT INTO ${id(attaches)} (${readColumns}, is_rekeyed)
      SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, old_quantity, old_account_number,
        old_external_site_id, old_version + 1, toUInt64(bitShiftRight(new_version, 32)), old_quality, old_yields, true
      FROM ${restatementsOf(notes.repairs ?? 0)} AND bitAnd(new_version, 4294967295) = 0`,
    settings: onceSettings(`ends-${attaches}`),
  }
}

/**
 * Records what an arrival has after its repair. Fewer rows than its entries say are recorded as correct
 * only if the repair itself explains them all: as duplicate, superseded or erased. If it left a row out
 * because it has no registered customer, or stored a line twice, nothing is written off: what is missing
 * stays reported.
 */
export async function noteRepaired(
  store: Store,
  { arrival, decision, notes, rows }: FileState,
  { table, total }: CountedTable,
): Promise<void> {
  const of = notes.repairs ?? 0
  const own = sql`kind = 'repaired' AND cause = ${arrival}`
  const isKept = table === usageTable.table ? isNotReplaced(isOfFile(of, sql`old_version`)) : sql`1`
  const erased =
    rows.unregistered === 0 ? 0 : await countErased(store, { arrival, decision, table })
  const explained = rows.duplicate + rows.superseded + erased
  const isComplete = rows.unregistered === erased
  await store.command({
    sql: sql`INSERT INTO published_rows (arrival, kind, cause, target, rows, quantity, rank)
      SELECT ${of}, 'repaired', ${arrival}, ${table},
        if(${isComplete} AND is_once AND more >= -toInt64(${explained}), more, 0) AS noted_rows,
        if(noted_rows = 0, 0, stored.2 - noted.2), ${latestRank('repaired', arrival)}
      FROM (SELECT stored.1 - noted.1 AS more, stored.3 AS is_once,
        (SELECT (toInt64(countIf(${isKept})), sumIf(toDecimal128(${total}, 6), ${isKept}),
            count() = uniqExact(version)) FROM ${currentOf(table)}
          WHERE ${isOfFile(of)}) AS stored,
        (SELECT (sum(e.rows), sum(e.quantity)) FROM (SELECT * FROM published_rows FINAL) AS e
          WHERE e.arrival = ${of} AND NOT (${own}) AND ${visibleEntries}) AS noted)`,
  })
}

/** Rows of a repair that are not stored because their accounts were erased. */
async function countErased(
  store: Store,
  { table, ...decision }: Decision & { readonly table: string },
): Promise<number> {
  const { whole: reads } = derivedOf(decision)
  const found = await store.rows<{ name: string }>({
    sql: sql`SELECT name FROM system.columns WHERE database = currentDatabase() AND table = ${table}`,
  })
  const columns = found.map(({ name }) => name)
  const of = table === usageTable.table ? { columns, reads } : { columns }
  const isErased = await foreignRows(store, { ingestion: 'full' }, of)
  if (isErased === undefined) return 0
  const [counted] = await store.rows<{ rows: string }>({
    sql: sql`SELECT toString(count()) AS rows FROM ${id(reads)} WHERE ${isErased}`,
  })
  return Number(counted?.rows ?? 0)
}

/**
 * Counts what a repair replaces by the arrivals that lose it, before it does, and once only. What the
 * restatements of earlier publications name was counted by these. An arrival loses what it has beyond
 * its entries first, and one that lacks rows itself loses nothing. `replaced` has the versions, new
 * versions and quantities of the replaced rows. Must run before the restatements of the repair are recorded.
 */
export function noteReplacedAgain(
  { arrival }: Pick<FileState, 'arrival'>,
  replaced: Sql,
): Statement {
  const { table, total } = usageTable
  const losing = sql`SELECT ${arrivalOf} FROM ${replaced}`
  const isFresh = sql`(version, new_version) NOT IN (SELECT old_version, new_version FROM restatement
            WHERE new_version IN (SELECT new_version FROM ${replaced}))`
  const isKept = isNotReplaced(sql`bitShiftRight(old_version, 32) IN (${losing})`)
  return {
    sql: sql`INSERT INTO published_rows (arrival, kind, cause, target, rows, quantity, rank)
      SELECT o.of, 'replaced', ${arrival}, ${table},
        -least(fresh_rows, greatest(noted - stored + replaced_rows, 0)) AS lost,
        multiIf(lost = 0, toDecimal128(0, 6), -lost = fresh_rows, -fresh_total,
          -(noted_total - stored_total + replaced_total)), ${latestRank('replaced', arrival)}
      FROM (SELECT ${arrivalOf} AS of, toInt64(countIf(${isKept})) AS replaced_rows,
          sumIf(toDecimal128(quantity, 6), ${isKept}) AS replaced_total, toInt64(countIf(${isFresh})) AS fresh_rows,
          sumIf(toDecimal128(quantity, 6), ${isFresh}) AS fresh_total
        FROM ${replaced} GROUP BY of) AS o
      INNER JOIN (SELECT e.arrival AS of, sum(e.rows) AS noted, sum(e.quantity) AS noted_total
        FROM (SELECT * FROM published_rows FINAL) AS e WHERE ${visibleEntries} GROUP BY of) AS n ON n.of = o.of
      INNER JOIN (SELECT ${arrivalOf} AS of, toInt64(count()) AS stored,
          sum(toDecimal128(${total}, 6)) AS stored_total
        FROM ${currentOf(table)} WHERE ${arrivalOf} IN (${losing}) AND ${isKept} GROUP BY of) AS s ON s.of = o.of
      WHERE noted <= stored AND o.of NOT IN (
        SELECT arrival FROM published_rows WHERE kind = 'replaced' AND cause = ${arrival})`,
  }
}

/** Why a file cannot be repaired: other rules or other stored reads judge it than when it was published. */
export async function refuseRepair(
  ledger: Ledger,
  { manifest, notes, rows, quantity }: FileState,
): Promise<Refusal | undefined> {
  const first = notes.repairs === undefined ? undefined : await ledger.state(notes.repairs)
  if (first === undefined) return undefined
  const isSame =
    rows.read === first.rows.read &&
    rows.rejected === first.rows.rejected &&
    quantity.read === first.quantity.read &&
    manifest.format === first.manifest.format &&
    notes.dateOrder === first.notes.dateOrder
  const { fromStore } = first.notes
  if (isSame && (fromStore === undefined || notes.fromStore === fromStore)) return undefined
  if (isSame) {
    const reason = `other stored reads decide today which length or hour its rows have than when arrival ${first.arrival} was published; repair arrivals that came before it, or restore a backup`
    return { fault: 'FILE_STATE', reason }
  }
  const reason = `the profile now judges the file differently than as arrival ${first.arrival}: ${rows.rejected} of ${rows.read} rows rejected instead of ${first.rows.rejected} of ${first.rows.read}; restore the profile of that time, or a backup`
  return { fault: 'FILE_STATE', reason }
}
