import type { Statement, Store } from '../../store/clickhouse.js'
import { id, type Sql, sql } from '../../store/sql.js'
import { type Decision, derivedOf } from '../../store/staging.js'
import { arrivalOf } from '../../store/versions.js'

/** A meter whose rows have a length in a file that nothing proves. */
export interface Provisional {
  readonly meterId: string
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
    sql: sql`CREATE OR REPLACE TABLE ${id(table)} (meter_id String, seconds UInt32)
      ENGINE = MergeTree ORDER BY meter_id`,
  })
  await store.insert(
    table,
    found.map(({ meterId, seconds }) => ({ meter_id: meterId, seconds })),
  )
}

/** Stores them by day and arrival, before the reads of the table `attaches`. */
export function recordProvisional(decision: Decision, attaches: string): Statement {
  return {
    sql: sql`INSERT INTO provisional_length (meter_id, local_day, seconds, arrival)
      SELECT DISTINCT meter_id, local_day, seconds, ${arrivalOf} FROM ${id(attaches)}
      WHERE (meter_id, seconds) IN (SELECT meter_id, seconds FROM ${id(derivedOf(decision).provisional)})`,
  }
}

/**
 * Lengths that no file has proved, of the meters of the table that was summed up last. Of a file that comes
 * in again as a repair, those that it proved then, too.
 */
export function openLengths(decision: Decision, repairs = 0): Sql {
  return sql`SELECT meter_id, local_day, seconds, arrival FROM provisional_length FINAL
    WHERE proved_by IN (0, ${repairs}) AND meter_id IN (SELECT meter_id FROM ${id(derivedOf(decision).series)})`
}

/** Whether nothing proves the length of a stored read, by its arrival. */
export function isProvisional(ofMeters: Sql): Sql {
  return sql`(meter_id, local_day, seconds, ${arrivalOf}) IN (
        SELECT meter_id, local_day, seconds, arrival FROM provisional_length FINAL
        WHERE proved_by = 0 AND ${ofMeters})`
}
