import { isOfPublished } from '../../customers/held.js'
import { erasingReads } from '../../customers/registered.js'
import type { FileState } from '../../ledger/file-state.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { id, type Sql, sql } from '../../store/sql.js'
import { type Decision, derivedOf, durable, onceSettings } from '../../store/staging.js'
import { arrivalOf, precedenceOf } from '../../store/versions.js'
import { inDays } from '../days/find.js'
import { isUnproved } from '../lengths/provisional.js'
import { overlapColumns, readColumns } from '../lengths/rekey.js'
import { confirmedSince } from '../overlap.js'

/** Rows of a file, and the table of those that are stored. */
export interface Sifted extends Decision {
  readonly table: string
  readonly own: string
  /** The version of a row of `table` as it is in `own`. */
  readonly version: Sql
  /** The arrival that its versions have: its own, or the one that it repairs. */
  readonly order: number
  readonly firstDay: string
  readonly lastDay: string
}

export interface Ended {
  /** Keys of reads that are stored. */
  readonly reads: number
  /** Rows of the file that would be stored by themselves. */
  readonly rows: number
}

const key = sql`local_day, meter_id, starts_at, seconds`

/**
 * Finds the keys of reads of which the file has a row that counts and is not stored, because it belongs to
 * nobody or to an erased account (decision 21), or of which a later file has such a row that is held. A stored
 * read under such a key, or an earlier row of the file, is not a client's any more. What is being erased must not
 * be stored again behind the erasure.
 */
export async function findEnded(store: Store, sifted: Sifted): Promise<Ended> {
  const { table, own, version, order } = sifted
  const days = inDays(sifted)
  const ended = id(derivedOf(sifted).ended)
  const rows = sql`SELECT ${key}, number AS version, yields, number IN (SELECT version FROM ${id(own)}) AS is_own
      FROM (SELECT ${key}, ${version} AS number, yields FROM ${id(table)} WHERE meter_id IN (
        SELECT meter_id FROM ${id(own)} UNION DISTINCT SELECT meter_id FROM usage_read WHERE ${days}))
      UNION ALL SELECT ${key}, version, yields, false FROM ${heldLater(sifted)}`
  const counts = sql`SELECT ${key}, max(${precedenceOf()}) AS new_precedence, argMax(version, ${precedenceOf()}) AS new_version,
        argMax(yields, ${precedenceOf()}) AS new_yields, countIf(is_own) AS own_rows
      FROM (${rows}) GROUP BY ${key} HAVING NOT argMax(is_own, ${precedenceOf()})`
  // The file may bring reads under these keys whose length it proves.
  const guessed = sql`SELECT meter_id FROM provisional_length FINAL
    WHERE ${isUnproved(order)} AND meter_id IN (SELECT meter_id FROM ${id(table)})`
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${ended} ENGINE = MergeTree ORDER BY (${key}) SETTINGS ${durable} AS
      SELECT ${readColumns}, new_version, new_yields, new_precedence, own_rows,
        c.version != 0 AND c.precedence < new_precedence AND NOT ${confirmedSince(order, sql`new_yields`)} AS is_stored
      FROM (${counts}) AS s
      LEFT JOIN (SELECT ${readColumns}, precedence FROM usage_current WHERE ${days} AND NOT ${erasingReads}) AS c USING (${key})
      WHERE is_stored OR own_rows > 0 OR meter_id IN (${guessed})`,
  })
  const [found] = await store.rows<{ reads: string; rows: string }>({
    sql: sql`SELECT countIf(is_stored) AS reads, sum(own_rows) AS rows FROM ${ended}`,
  })
  return { reads: Number(found?.reads ?? 0), rows: Number(found?.rows ?? 0) }
}

/** Held reads of later files, of the meters and days of a file, under keys of which the store has nothing. */
function heldLater({ own, order, firstDay, lastDay }: Omit<Sifted, 'version'>): Sql {
  const near = sql`${inDays({ firstDay, lastDay })} AND meter_id IN (SELECT meter_id FROM ${id(own)})`
  return sql`(SELECT ${key}, version, yields FROM held_read WHERE ${near} AND ${arrivalOf} > ${order}
      AND ${isOfPublished} AND (${key}) NOT IN (SELECT ${key} FROM usage_read WHERE ${near}))`
}

/** Whether a later file has moved reads of a file's meters to accounts whose reads are held. */
export async function isMovedLater(
  store: Store,
  file: Omit<Sifted, 'version' | 'own'>,
): Promise<boolean> {
  const rows = await store.rows({
    sql: sql`SELECT 1 FROM ${heldLater({ ...file, own: file.table })} LIMIT 1`,
  })
  return rows.length > 0
}

/** The condition of rows under these keys. */
export function isEnded(decision: Decision): Sql {
  return sql`(${key}) IN (SELECT ${key} FROM ${id(derivedOf(decision).ended)})`
}

/** The files of a group that have such rows. */
export async function endingArrivals(store: Store, decision: Decision): Promise<readonly number[]> {
  const rows = await store.rows<{ found: number }>({
    sql: sql`SELECT DISTINCT ${arrivalOf} AS found
      FROM (SELECT new_version AS version FROM ${id(derivedOf(decision).ended)} WHERE is_stored OR own_rows > 0)`,
  })
  return rows.map(({ found }) => found)
}

/** Adds the stored ones to the table `overlaps`; the quantity of the row is not stored. */
export function recordEnded(decision: Decision): Statement {
  const { overlaps, ended } = derivedOf(decision)
  return {
    sql: sql`INSERT INTO ${id(overlaps)} (${overlapColumns})
      SELECT local_day, meter_id, starts_at, seconds, commodity, local_hour, quantity, quantity,
        account_number, external_site_id, new_version, version, 'ended', change, seconds, local_day,
        quality, yields, false
      FROM ${id(ended)} WHERE is_stored`,
  }
}

/**
 * Adds to the table that is attached a row that ends the key of each. It has the values of the stored read and
 * a version right before that of the row, which the row has itself if a registration claims it.
 */
export function attachEnded(
  state: Pick<FileState, 'arrival' | 'decision' | 'attaches'>,
): Statement {
  return {
    sql: sql`INSERT INTO ${id(state.attaches)} (${readColumns}, is_rekeyed)
      SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity, account_number,
        external_site_id, new_version - 1, change, quality, new_yields, true
      FROM ${id(derivedOf(state).ended)} WHERE is_stored`,
    settings: onceSettings(`ended-${state.attaches}`),
  }
}
