import type { Profile } from '../../schemas/settings/profile.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, join, type Sql, sql } from '../store/sql.js'
import { createReads } from '../store/staging.js'

/**
 * The meters of registered customers as a subquery, for every place that separates registered rows from
 * others: `meter_id IN (${registeredMeters})`.
 */
export const registeredMeters = sql`SELECT meter_id FROM tenancy`

/** All holds of tenancies: `m`, `s`, `a`, `from_at`, `to_at` and `clients`. */
export const holds = sql`SELECT meter_id AS m, external_site_id AS s, hold.1 AS a, hold.2 AS from_at,
    hold.3 AS to_at, hold.4 AS clients
  FROM tenancy FINAL ARRAY JOIN holds AS hold`

/** Whether a hold `h` has a read `r` of its meter. */
export const isHeld = sql`r.external_site_id = h.s AND r.starts_at >= h.from_at AND r.starts_at < h.to_at
  AND (r.account_number = h.a
    OR (h.a = '\\0' AND r.account_number NOT IN (SELECT account_number FROM tenancy)))`

/**
 * The condition of reads in a table that are a client's by decision 11: by a hold, or by the account at the
 * site where the meter is not known yet.
 */
export function clientsReads(reads: string, where = sql`1`): Sql {
  return sql`(version IN (
      SELECT r.version FROM ${id(reads)} AS r
      INNER JOIN (${holds}) AS h ON h.m = r.meter_id
      WHERE ${where} AND ${isHeld}
    ) OR ((external_site_id, account_number) IN (
        SELECT external_site_id, account_number FROM tenancy FINAL WHERE notEmpty(holds) AND account_number != '')
      AND (meter_id, external_site_id, account_number) NOT IN (
        SELECT meter_id, external_site_id, account_number FROM tenancy)))`
}

/**
 * The condition of rows that are not stored: of no registered customer, where the profile stores
 * only those, and of accounts that were erased in any case (decision 21). Undefined where there are none.
 * `reads` is a table of reads with these columns.
 */
export async function foreignRows(
  store: Store,
  profile: Pick<Profile, 'ingestion'>,
  of: { readonly columns: readonly string[]; readonly reads?: string },
): Promise<Sql | undefined> {
  const conditions: Sql[] = []
  if (profile.ingestion !== 'full') {
    const ofMeter = sql`meter_id NOT IN (${registeredMeters})`
    const ofAccount = sql`account_number NOT IN (SELECT account_number FROM tenancy)`
    if (of.reads !== undefined) conditions.push(sql`NOT ${clientsReads(of.reads)}`)
    else if (!of.columns.includes('meter_id')) conditions.push(ofAccount)
    // A termination may name no meter.
    else conditions.push(sql`if(meter_id = '', ${ofAccount}, ${ofMeter})`)
  }
  const erasures = await store.rows({ sql: sql`SELECT 1 FROM erasure LIMIT 1` })
  if (erasures.length > 0) conditions.push(erasedRows(sql`erasure`, { columns: of.columns }))
  if (erasures.length > 0 && of.reads !== undefined) {
    conditions.push(erasedReads(of.reads, sql`erasure FINAL`))
  }
  if (conditions.length === 0) return undefined
  const all = conditions.map((condition) => sql`(${condition})`)
  return sql`(${join(all, sql` OR `)})`
}

interface ErasedColumns {
  readonly columns: readonly string[]
  /** The column of the account, where it has another name. */
  readonly account?: Sql
  readonly site?: Sql
}

/** By what a row is of an account: the column of it, and those of the place, if any. */
export interface Place {
  readonly account: Sql
  readonly columns: readonly Sql[]
}

/**
 * Rows of what some terminations have erased: whole accounts, or an account at a premise or a meter. Rows
 * that name no meter are of the whole account alone.
 */
export function erasedRows(
  erasures: Sql,
  { columns, account = sql`account_number`, site = sql`external_site_id` }: ErasedColumns,
): Sql {
  const where = (named: Sql) => sql`FROM (SELECT * FROM ${erasures}) WHERE ${named}`
  const premise = sql`meter_id = '' AND external_site_id != ''`
  const ofAccount = erasedAccounts(erasures, account)
  if (!columns.includes('meter_id')) return ofAccount
  const ofPremise = columns.includes('external_site_id')
    ? sql`(${account}, ${site}) IN (SELECT account_number, external_site_id ${where(premise)})`
    : sql`(${account}, meter_id) IN (
        SELECT account_number, arrayJoin(stretches).1 ${where(premise)})`
  return sql`(${ofAccount} OR ${ofPremise}
    OR (${account}, meter_id) IN (SELECT account_number, meter_id ${where(sql`meter_id != ''`)}))`
}

/** Rows of accounts of which everything is erased. */
export function erasedAccounts(erasures: Sql, account: Sql): Sql {
  return sql`${account} IN (SELECT account_number FROM (SELECT * FROM ${erasures})
    WHERE meter_id = '' AND external_site_id = '')`
}

/** The columns of whose a read is. */
export interface Owner {
  readonly account: Sql
  readonly site: Sql
}

export const owner: Owner = { account: sql`account_number`, site: sql`external_site_id` }
/** The same of a read that was replaced. */
export const oldOwner: Owner = {
  account: sql`old_account_number`,
  site: sql`old_external_site_id`,
}

/**
 * Reads without an account in the time in which an erased account of `erasures` held the meter: they
 * are that account's (decision 11).
 */
export function erasedReads(reads: string, erasures: Sql, of = owner): Sql {
  const { account, site } = of
  return sql`(${account} = '' AND (meter_id, ${site}, starts_at) IN (
    SELECT r.meter_id, r.${site}, r.starts_at ${readsWithoutAccount(reads, erasures, of)}))`
}

const started = sql`erasure FINAL WHERE rank = 1`

/** The condition of reads that an erasure is about to delete. */
export const erasingReads = sql`(${erasedRows(started, { columns: ['meter_id', 'external_site_id'] })}
    OR (account_number = '' AND arrayExists(
      h -> h.1 = meter_id AND h.2 = external_site_id AND h.3 <= starts_at AND starts_at < h.4,
      (SELECT groupArrayArray(arrayFilter(held -> held.3 < held.4, stretches)) FROM (SELECT * FROM ${started})))))`

/** These reads `r`, each with the stretch `e` of the erasure. */
export function readsWithoutAccount(reads: string, erasures: Sql, { account, site }: Owner): Sql {
  return sql`FROM ${id(reads)} AS r
    INNER JOIN (SELECT held.1 AS meter, held.2 AS site, held.3 AS from_at, held.4 AS to_at
      FROM (SELECT arrayJoin(stretches) AS held FROM ${erasures})) AS e
      ON e.meter = r.meter_id AND e.site = r.${site}
    WHERE r.${account} = '' AND r.starts_at >= e.from_at AND r.starts_at < e.to_at`
}

/** Rows and quantity in a table of a file's reads that are not stored. */
export function countForeign(reads: string, isForeign: Sql): Statement {
  return {
    sql: sql`SELECT toString(count()) AS rows, toString(sum(quantity)) AS quantity
      FROM ${id(reads)} WHERE ${isForeign}`,
  }
}

/** Copies the rows that are stored from one table of reads into another, with some columns replaced. */
export function keepOwn(
  tables: { readonly from: string; readonly to: string },
  isForeign: Sql,
  replaced = sql``,
): readonly Statement[] {
  const { from, to } = tables
  return [
    createReads(to, 'replace'),
    {
      sql: sql`INSERT INTO ${id(to)} SELECT * ${replaced}
        FROM (SELECT * FROM ${id(from)} WHERE NOT (${isForeign}))`,
      settings: { optimize_on_insert: 0 },
    },
  ]
}
