import type { Store } from '../../store/clickhouse.js'
import { sql } from '../../store/sql.js'
import { isUnproved } from './provisional.js'
import { meterDayKey } from './repairs.js'

/**
 * The lengths that reads of an arrival have on days on which it proved none: those that others have proved
 * since, else the guessed ones.
 */
export async function lengthsSince(
  store: Store,
  arrival: number,
): Promise<ReadonlyMap<string, { readonly seconds: number; readonly isProvisional: boolean }>> {
  const rows = await store.rows<{
    meterId: string
    day: string
    length: number
    isProvisional: boolean
  }>({
    sql: sql`SELECT meter_id AS meterId, toString(local_day) AS day, ${isUnproved()} AS isProvisional,
        if(isProvisional, seconds, proved_seconds) AS length
      FROM provisional_length FINAL WHERE arrival = ${arrival}`,
  })
  return new Map(
    rows.map(({ meterId, day, length: seconds, isProvisional }) => [
      meterDayKey(meterId, day),
      { seconds, isProvisional },
    ]),
  )
}

/**
 * The lengths that an arrival has proved of stored reads, by meter. Reads that proved them together with its own
 * have these lengths since.
 */
export async function provedBy(
  store: Store,
  arrival: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const rows = await store.rows<{ meterId: string; lengths: readonly number[] }>({
    sql: sql`SELECT meter_id AS meterId, groupUniqArray(proved_seconds) AS lengths
      FROM provisional_length FINAL WHERE proved_by = ${arrival} GROUP BY meterId`,
  })
  return new Map(rows.map(({ meterId, lengths }) => [meterId, lengths]))
}
