import type { FileState } from '../ledger/file-state.js'
import type { Store } from '../store/clickhouse.js'
import type { RowReader } from '../store/replicas.js'
import { seriesNumber } from '../store/series.js'
import { id, join, literal, type Sql, sql, typed } from '../store/sql.js'
import { derivedOf } from '../store/staging.js'
import { arrivalOf, isOfFile } from '../store/versions.js'
import { askOneServer, isStagingLost } from '../whole.js'
import type { MeterPlace } from './facts.js'
import { type PlaceRow, placeKey, toPlace } from './stored-facts.js'

/**
 * Records which accounts some reads name at which meters: those that are new, those with an earlier
 * first read, and those with a read after a known end. `named` is of `namedIn`.
 */
export async function recordAccounts(store: Store, named: Sql): Promise<void> {
  const meters = sql`meter_id IN (SELECT meter FROM (${named}))`
  await store.command({
    sql: sql`INSERT INTO account_meter (
        external_site_id, meter_id, account_number, commodity, first_read, last_read, arrival, changes)
      SELECT site, meter, account, of, min(n.first), max(n.last), any(n.named_by), 1
      FROM (${named}) AS n
      LEFT JOIN (
        SELECT external_site_id AS s, meter_id AS m, account_number AS a,
          min(first_read) AS known_first, max(last_read) AS known_last, 1 AS is_known
        FROM account_meter WHERE ${meters}
        GROUP BY s, m, a
      ) AS k ON k.s = n.site AND k.m = n.meter AND k.a = n.account
      LEFT JOIN (
        SELECT external_site_id AS s, meter_id AS m, account_number AS a, min(ended) AS ended_at
        FROM (${endedTenancies}) WHERE ${meters} GROUP BY s, m, a
      ) AS e ON e.s = n.site AND e.m = n.meter AND e.a = n.account
      WHERE account != ''
      GROUP BY site, meter, account, of
      HAVING any(k.is_known) = 0 OR min(n.first) < any(k.known_first)
        OR (any(e.ended_at) IS NOT NULL AND max(n.last) >= any(e.ended_at) AND max(n.last) > any(k.known_last))`,
  })
}

/** Tenancies with an end, also one that was withdrawn. */
const endedTenancies = sql`SELECT external_site_id, meter_id, account_number, ended
    FROM tenancy FINAL ARRAY JOIN arrayConcat([valid_to], withdrawn.2) AS ended
    WHERE ended IS NOT NULL`

/** Some reads of a table, and the arrival that names their accounts. */
interface Naming {
  readonly table: string
  readonly where: Sql
  /** Differs where meter, account or premise do. */
  readonly key: Sql
  readonly by: Sql
}

/** The accounts that some reads name. */
export function namedIn({ table, where, key, by }: Naming): Sql {
  return sql`SELECT any(external_site_id) AS site, any(meter_id) AS meter, any(account_number) AS account,
      any(commodity) AS of, min(starts_at) AS first, max(starts_at) AS last, ${by} AS named_by
    FROM ${id(table)} WHERE ${where} GROUP BY ${key}`
}

/** A published file, and where its rows are staged. */
export type NamedFile = Pick<FileState, 'arrival' | 'decision' | 'groupId' | 'attaches'>

/**
 * Records the accounts that published files name, one or those of a group. Only where staging is gone all
 * stored reads of the files are looked at. Returns whether there may have been any to record.
 */
export async function recordAccountsOf(
  store: Store,
  files: readonly NamedFile[],
): Promise<boolean> {
  const each = { key: sql`series`, by: sql`max(${arrivalOf})` }
  try {
    const staged = await stagedNaming(store, files)
    if (staged !== undefined) await recordAccounts(store, namedIn({ ...staged, ...each }))
    return staged !== undefined
  } catch (error) {
    if (!isStagingLost(error)) throw error
    const ofEach = files.map(({ arrival }) => sql`(${isOfFile(arrival)})`)
    const stored = { table: 'usage_read', where: join(ofEach, sql` OR `) }
    await recordAccounts(store, namedIn({ ...stored, ...each }))
    return true
  }
}

/**
 * The staged reads that may name an account which is to be recorded; undefined if there are none. The verdict has
 * summed up one file by series, and most days none of these is new.
 */
async function stagedNaming(
  store: Store,
  files: readonly NamedFile[],
): Promise<Pick<Naming, 'table' | 'where'> | undefined> {
  const [first] = files as readonly [NamedFile, ...NamedFile[]]
  const { arrival, attaches: table, groupId } = first
  if (groupId !== 0) {
    const arrivals = files.map((one) => one.arrival)
    return { table, where: sql`${arrivalOf} IN ${literal(arrivals)}` }
  }
  const news = await newSeries(store, derivedOf(first).series)
  if (news === undefined) return undefined
  return { table, where: sql`series IN ${news} AND NOT is_rekeyed AND ${isOfFile(arrival)}` }
}

/** Series that are named one by one. */
const seriesMax = 1_000

/**
 * Those series of a file that may name an account which is to be recorded, for an IN; undefined if there are
 * none. Without the texts of their reads: an account that was known when the file begins has the same number. So
 * has a known meter without an account, which is never recorded.
 */
async function newSeries(store: Store, series: string): Promise<Sql | undefined> {
  const all = sql`${id(series)}`
  const known = seriesNumber(sql`meter_id`, sql`account`, sql`external_site_id`)
  const rows = await store.rows<{ number: string }>({
    sql: sql`SELECT toString(series) AS number FROM ${all}
      WHERE series NOT IN (
          SELECT ${known} FROM (
            SELECT meter_id, external_site_id, arrayJoin([account_number, '']) AS account,
              arrayJoin((SELECT groupUniqArray(seconds) FROM ${all})) AS seconds
            FROM account_meter
            WHERE meter_id IN (SELECT meter_id FROM ${all}) AND first_read <= (SELECT min(first) FROM ${all})))
        OR meter_id IN (SELECT meter_id FROM (${endedTenancies}))
      LIMIT ${literal(seriesMax + 1)}`,
  })
  if (rows.length === 0) return undefined
  if (rows.length > seriesMax) return sql`(SELECT series FROM ${all})`
  return literal(rows.map(({ number }) => BigInt(number)))
}

const namedFrom = ['account_meter', 'registration_fact'] as const

/** What was recorded of the accounts that files named. */
export interface NamedMeters {
  /** Whether any was recorded. */
  readonly isAny: boolean
  /** Meters of registered customers whose tenancies may differ by them. */
  readonly ofClients: readonly string[]
}

export async function metersNamedIn(
  store: Store,
  arrivals: readonly number[],
): Promise<NamedMeters> {
  const ask = (server: RowReader) =>
    server.rows<NamedMeters>({
      sql: sql`SELECT count() > 0 AS isAny, groupUniqArrayIf(meter_id,
          (external_site_id, account_number) IN (
            SELECT external_site_id, account_number FROM registration_fact)
          OR (external_site_id, meter_id) IN (
            SELECT external_site_id, meter_id FROM registration_fact)) AS ofClients
        FROM account_meter WHERE arrival IN ${literal(arrivals)}`,
    })
  const [found] = await askOneServer(store, namedFrom, ask)
  return { isAny: Boolean(found?.isAny), ofClients: found?.ofClients ?? [] }
}

export type LateRead = PlaceRow & {
  readonly commodity: string
  readonly first: number
  readonly last: number
}

/** The latest read under each of some accounts at or after its end; those without one are left out. */
export async function findLateReads(
  store: RowReader,
  ends: readonly (MeterPlace & { readonly at: number })[],
): Promise<readonly LateRead[]> {
  if (ends.length === 0) return []
  const meterIds = ends.map(({ meterId }) => meterId)
  const accounts = ends.map(({ accountNumber }) => accountNumber)
  const since = Math.floor(Math.min(...ends.map(({ at }) => at)) / 1_000)
  const rows = await store.rows<LateRead>({
    sql: sql`SELECT meter_id, external_site_id, account_number, toString(commodity) AS commodity,
        toUnixTimestamp(min(starts_at)) AS first, toUnixTimestamp(max(starts_at)) AS last
      FROM usage_current
      WHERE local_day >= toDate(${typed('DateTime', since)}) - 1 AND starts_at >= toDateTime(${typed('UInt32', since)})
        AND meter_id IN ${meterIds} AND account_number IN ${accounts}
      GROUP BY meter_id, external_site_id, account_number, commodity`,
  })
  return rows.filter((row) => {
    const place = toPlace(row)
    return ends.some((end) => {
      const isHere = placeKey(end) === placeKey(place)
      return isHere && row.last * 1_000 >= end.at
    })
  })
}

export async function recordLateReads(store: Store, late: readonly LateRead[]): Promise<void> {
  await store.insert(
    'account_meter',
    late.map(({ first, last, ...row }) => ({
      ...row,
      first_read: first,
      last_read: last,
      arrival: 0,
      changes: 1,
    })),
  )
}
