import type { Statement, Store } from '../../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../../store/sql.js'
import { type Decision, derivedOf, durable } from '../../store/staging.js'
import { arrivalOf } from '../../store/versions.js'

/** A meter and day of a file whose rows have a length that nothing proves. */
export interface Provisional {
  readonly meterId: string
  /** `YYYY-MM-DD`, as the file's grid has it. */
  readonly day: string
  readonly seconds: number
}

/** Writes down which lengths of a file nothing proves. */
export async function noteProvisional(
  store: Store,
  decision: Decision,
  found: readonly Provisional[],
): Promise<void> {
  if (found.length === 0) return
  const { provisional: table } = derivedOf(decision)
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(table)} (meter_id String, day Date, seconds UInt32)
      ENGINE = MergeTree ORDER BY (meter_id, day) SETTINGS ${durable}`,
  })
  await store.insert(
    table,
    found.map(({ meterId, ...one }) => ({ meter_id: meterId, ...one })),
  )
}

/** A file, and the day in its grid of a row that has its length. */
interface GuessedFile extends Decision {
  readonly grid: { readonly settledDay: Sql }
}

/** Stores them by day and arrival, before the reads of the table `attaches`. */
export function recordProvisional({ grid, ...decision }: GuessedFile, attaches: string): Statement {
  return {
    sql: sql`INSERT INTO provisional_length (meter_id, local_day, seconds, arrival)
      SELECT DISTINCT meter_id, local_day, seconds, ${arrivalOf} FROM ${id(attaches)}
      WHERE (meter_id, ${grid.settledDay}, seconds) IN (
        SELECT meter_id, day, seconds FROM ${id(derivedOf(decision).provisional)})`,
  }
}

/**
 * Whether no file has proved a length: the one that has recorded so has no number yet. Of a file that comes in
 * again as a repair, those that it proved then have this, too.
 */
export function isUnproved(repairs = 0): Sql {
  return sql`(proved_by IN (0, ${repairs}) OR proved_by NOT IN (
    SELECT arrival FROM publication WHERE arrival IN (SELECT proved_by FROM provisional_length)))`
}

/**
 * Lengths that no file has proved, of the meters of the table that was summed up last. Of a file that comes
 * in again as a repair, those that it proved then, too.
 */
export function openLengths(decision: Decision, repairs = 0): Sql {
  return sql`SELECT meter_id, local_day, seconds, arrival FROM provisional_length FINAL
    WHERE ${isUnproved(repairs)} AND meter_id IN (SELECT meter_id FROM ${id(derivedOf(decision).series)})`
}

/** Whether nothing proves the length of a stored read, by its arrival, or only the file that comes in again. */
export function isProvisional(ofMeters: Sql, repairs = 0): Sql {
  return sql`(meter_id, local_day, seconds, ${arrivalOf}) IN (
        SELECT meter_id, local_day, seconds, arrival FROM provisional_length FINAL
        WHERE ${isUnproved(repairs)} AND ${ofMeters})`
}

/**
 * Records that these lengths are proved, before the attach: behind it no other server could, and a repair would
 * bring the reads back under the guessed length. It counts once the file has its number. What other files have
 * replaced of such reads has the length, too: where all reads of an arrival were replaced, none of them is moved.
 */
export function recordProved({
  order,
  ...decision
}: Decision & { readonly order: number }): Statement {
  const rekeys = id(derivedOf(decision).rekeys)
  const lengths = sql`SELECT DISTINCT meter_id, local_day, seconds, new_seconds FROM ${rekeys}`
  const ofArrival = sql`meter_id, local_day, seconds, arrival`
  const current = sql`SELECT ${ofArrival} FROM usage_current
    WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM ${rekeys})`
  const replaced = sql`SELECT ${ofArrival} FROM provisional_length FINAL
    WHERE ${isUnproved(order)} AND (meter_id, local_day, seconds) IN (SELECT meter_id, local_day, seconds FROM ${rekeys})
      AND arrival IN (SELECT arrival FROM publication WHERE arrival != 0) AND (${ofArrival}) NOT IN (${current})`
  return {
    sql: sql`INSERT INTO provisional_length (${ofArrival}, proved_by, proved_seconds)
      SELECT DISTINCT ${ofArrival}, ${typed('UInt32', order)}, new_seconds FROM ${rekeys}
      UNION ALL
      SELECT ${ofArrival}, ${typed('UInt32', order)}, new_seconds
      FROM (${replaced}) AS p INNER JOIN (${lengths}) AS k USING (meter_id, local_day, seconds)`,
  }
}
