import { feedNames, recordFeedOf } from '../../../schemas/feed.js'
import { storeColumn } from '../../../schemas/record-feed.js'
import { announceHolds, announceReads, type ErasureChange } from '../../ledger/announced.js'
import { rowsTable } from '../../records/store.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { id, join, type Sql, sql, typed } from '../../store/sql.js'
import { countFacts, type MeterPlace } from '../facts.js'
import { erasedReads, erasedRows } from '../registered.js'
import { readSites } from '../stored-facts.js'
import type { DueTermination, Erasure, HeldInterval } from './tombstones.js'

export async function dueErasures(
  store: Store,
  {
    today,
    graceDays,
    accountsMax,
  }: { readonly today: string; readonly graceDays: number; readonly accountsMax: number },
): Promise<readonly DueTermination[]> {
  return store.rows<DueTermination>({
    sql: sql`SELECT t.account_number AS accountNumber, t.meter_id AS meterId,
        t.external_site_id AS externalSiteId, toString(t.termination_date) AS terminatedOn,
        toString(h.at) AS endedAt
      FROM termination AS t
      INNER JOIN (SELECT * FROM tenancy_hint WHERE kind = 'ended') AS h ON h.evidence_order = t.version
      WHERE t.termination_date + ${typed('UInt32', graceDays)} < ${typed('Date', today)}
        AND (t.account_number, t.external_site_id, t.meter_id) NOT IN (
          SELECT account_number, external_site_id, meter_id FROM erasure)
      ORDER BY t.version LIMIT ${typed('UInt32', accountsMax)}`,
  })
}

/** What must be known of an account to erase it and to keep the starts of its successors. */
export async function toErasure(
  { store }: { readonly store: Store },
  termination: DueTermination,
  startedAt: Date,
): Promise<Erasure> {
  const { accountNumber, meterId, externalSiteId, endedAt } = termination
  const held = await store.rows<{ meter: string; site: string; from: string; to: string }>({
    sql: sql`SELECT meter_id AS meter, external_site_id AS site,
        arrayFilter(h -> h.1 = '', holds) AS unnamed,
        toString(if(empty(unnamed), toDateTime(${endedAt}, 'UTC'), arrayMin(unnamed.2))) AS from,
        toString(if(empty(unnamed), toDateTime(${endedAt}, 'UTC'), arrayMax(unnamed.3))) AS to
      FROM tenancy FINAL
      WHERE account_number = ${accountNumber}
        AND ${meterId} IN ('', meter_id) AND ${externalSiteId} IN ('', external_site_id)`,
  })
  const meterIds = held.map(({ meter }) => meter)
  const facts = held.length === 0 ? [] : (await readSites(store, meterIds)).facts
  const stretches = held.map(({ meter, site, from, to }): HeldInterval => {
    const own = facts.filter((fact) => {
      return fact.accountNumber === accountNumber && ['', meter].includes(fact.meterId)
    })
    return [meter, site, from, to, countFacts(own) + 1]
  })
  const state = 'started' as const
  return { ...termination, stretches, startedAt, state, erasedAt: undefined, counts: {} }
}

/** Erasures whose rows are still stored. */
export const pending = sql`erasure FINAL WHERE rank = 1`
/** All erasures: a file that was sent again may have had rejected rows of an erased account. */
export const everErased = sql`erasure`
/** Erasures whose rows are gone. */
export const gone = sql`erasure FINAL WHERE rank > 1`
/** Meters of erasures whose traces are still stored. */
export const erasedMeters = sql`SELECT arrayJoin(stretches).1 FROM erasure FINAL WHERE rank = 2`

interface Target {
  readonly table: string
  readonly where: Sql
  /** The account that a row is counted for. */
  readonly account: Sql
  /** Announces what readers no longer see without the rows. */
  readonly announce?: Statement
}

/** Every table with rows of customers, what of it is erased, and for whom it counts. */
function targets(change: ErasureChange): readonly Target[] {
  const account = sql`account_number`
  const old = sql`old_account_number`
  const ofMeter = erasedAtPlaces(pending)
  const records = feedNames.flatMap((name) => {
    const feed = recordFeedOf(name)
    const columns = feed?.columns.map(storeColumn) ?? []
    if (feed === undefined || !columns.includes('account_number')) return []
    return [{ table: rowsTable(feed), where: erasedRows(pending, { columns }), account }]
  })
  const reads = sql`${ofMeter} OR ${erasedReads('usage_read', pending)}`
  return [
    { table: 'usage_read', where: reads, account, announce: announceReads(change, reads) },
    {
      table: 'restatement',
      where: erasedRows(pending, {
        columns: ['meter_id', 'external_site_id'],
        account: old,
        site: sql`old_external_site_id`,
      }),
      account: old,
    },
    ...records,
    ...['bill_row', 'bill_variance_row', 'rate_comparison_row'].map((table) => {
      return { table, where: ofMeter, account }
    }),
    rejects(pending),
    ...targetsOfFacts(change, pending),
  ]
}

const factTables = ['held_read', 'account_meter', 'registration_fact', 'tenancy'] as const

function targetsOfFacts(change: ErasureChange, erasures: Sql): readonly Target[] {
  const where = erasedAtPlaces(erasures)
  const account = sql`account_number`
  return factTables.map((table) => {
    return {
      table,
      where,
      account,
      ...(table === 'tenancy' && { announce: announceHolds(change, where) }),
    }
  })
}

const erasedAtPlaces = (erasures: Sql) =>
  erasedRows(erasures, { columns: ['meter_id', 'external_site_id'] })

const rejectedFields = sql`arrayMap(field -> trimBoth(field, ' \\t"'), splitByChar(',', raw))`

const accountsOf = (erasures: Sql) => sql`(SELECT groupUniqArray(account_number) FROM ${erasures})`

/** The condition of rejected rows that contain an account of `erasures`. */
export function isErasedReject(erasures: Sql): Sql {
  return sql`hasAny(${rejectedFields}, ${accountsOf(erasures)})`
}

/** Those of settled files: the rejects file of another may be written at this moment. */
function rejects(erasures: Sql): Target {
  const settled = sql`SELECT arrival FROM file_state FINAL WHERE settled_at IS NOT NULL`
  return {
    table: 'reject',
    where: sql`${isErasedReject(erasures)} AND arrival IN (${settled})`,
    account: sql`arrayFirst(field -> has(${accountsOf(erasures)}, field), ${rejectedFields})`,
  }
}

/** Arrivals with rejected rows of `erasures`, and how many rows. */
export async function erasedRejects(
  store: Store,
  erasures: Sql,
): Promise<readonly { readonly arrival: number; readonly rows: number }[]> {
  const found = await store.rows<{ arrival: number; rows: string }>({
    sql: sql`SELECT arrival, toString(uniqExact(line)) AS rows FROM reject
      WHERE ${rejects(erasures).where} GROUP BY arrival ORDER BY arrival`,
  })
  return found.map(({ arrival, rows }) => ({ arrival, rows: Number(rows) }))
}

/** Rows that were erased by table and account. */
export type ErasedCounts = Readonly<Record<string, ReadonlyMap<string, number>>>

/**
 * Deletes the rows of all pending erasures from every table and counts them. What readers lose with
 * the rows of a table is announced before they go, by the condition that deletes them. The facts
 * about the account go last, so that a crash leaves nothing that cannot be found again.
 */
export async function eraseRows(store: Store, change: ErasureChange): Promise<ErasedCounts> {
  const counts: Record<string, ReadonlyMap<string, number>> = {}
  for (const target of targets(change)) counts[target.table] = await eraseFrom(store, target)
  return counts
}

/**
 * Meters with facts or tenancies of accounts that are erased already: a registration beside the erasure
 * may have stored what it had read before.
 */
export async function metersOfLate(store: Store): Promise<readonly string[]> {
  const ofTables = factTables.map(
    (table) => sql`SELECT meter_id FROM ${id(table)} WHERE ${erasedAtPlaces(gone)}`,
  )
  const rows = await store.rows<{ meter: string }>({
    sql: sql`SELECT DISTINCT meter_id AS meter FROM (${join(ofTables, sql` UNION ALL `)}) ORDER BY meter`,
  })
  return rows.map(({ meter }) => meter)
}

/** Deletes these facts and tenancies, and announces what readers lose. */
export async function eraseLate(store: Store, change: ErasureChange): Promise<void> {
  for (const target of targetsOfFacts(change, gone)) await eraseFrom(store, target)
}

/** Deletes the rejected rows of accounts that are erased already. */
export async function eraseRejects(store: Store): Promise<void> {
  await eraseFrom(store, rejects(everErased))
}

async function eraseFrom(
  store: Store,
  { table, where, account, announce }: Target,
): Promise<ReadonlyMap<string, number>> {
  const found = await store.rows<{ account: string; rows: string }>({
    sql: sql`SELECT ${account} AS account, toString(count()) AS rows FROM ${id(table)}
      WHERE ${where} GROUP BY account`,
  })
  if (found.length > 0) {
    if (announce !== undefined) await store.command(announce)
    await deleteRows(store, table, where)
  }
  return new Map(found.map((row) => [row.account, Number(row.rows)]))
}

/** Rewrites the parts of a table without some rows, so that nothing of them is left. */
async function deleteRows(store: Store, table: string, where: Sql): Promise<void> {
  await store.command({
    sql: sql`ALTER TABLE ${id(table)} DELETE WHERE ${where}`,
    settings: { mutations_sync: 2, allow_nondeterministic_mutations: 1 },
  })
}

/** Which of some accounts are erased, or at which of their premises and meters. */
export async function erasedPlaces(
  store: Store,
  accountNumbers: readonly string[],
): Promise<(place: MeterPlace) => boolean> {
  const rows = await store.rows<{ account: string; site: string; meter: string }>({
    sql: sql`SELECT account_number AS account, external_site_id AS site, meter_id AS meter FROM erasure
      WHERE account_number IN ${accountNumbers}`,
  })
  return ({ accountNumber, externalSiteId, meterId }) =>
    rows.some(({ account, site, meter }) => {
      const isHere = ['', externalSiteId].includes(site) && ['', meterId].includes(meter)
      return account === accountNumber && isHere
    })
}
