import { feedNames, recordFeedOf } from '../../../schemas/feed.js'
import { storeColumn } from '../../../schemas/record-feed.js'
import { announceHolds, announceReads, type ErasureChange } from '../../ledger/announced.js'
import { rowsTable } from '../../records/store.js'
import type { Store } from '../../store/clickhouse.js'
import { id, join, type Sql, sql, typed } from '../../store/sql.js'
import { markAnnounced } from '../../usage/days/stale.js'
import { countedTable, currentOf, noteRows } from '../../verify/entries.js'
import { countFacts, type MeterPlace } from '../facts.js'
import { erasedReads, erasedRows } from '../registered.js'
import { readSites } from '../stored-facts.js'
import {
  type ErasureTarget,
  eraseFrom,
  findPlaces,
  findRejects,
  findStretches,
  together,
} from './deletion.js'
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

/** Every table with rows of customers, what of it is erased, and for whom it counts. */
function targets(change: ErasureChange): readonly ErasureTarget[] {
  const ofPending = (table: string, columns: readonly string[]) =>
    ofPlaces(table, { erasures: pending, columns })
  const records = feedNames.flatMap((name) => {
    const feed = recordFeedOf(name)
    const columns = feed?.columns.map(storeColumn) ?? []
    if (feed === undefined || !columns.includes('account_number')) return []
    return [ofPending(rowsTable(feed), columns)]
  })
  return [
    reads(change),
    ofPlaces('restatement', {
      erasures: pending,
      columns: placeColumns,
      account: sql`old_account_number`,
      site: sql`old_external_site_id`,
    }),
    ...records,
    ...['bill_row', 'bill_variance_row', 'rate_comparison_row'].map((table) =>
      ofPending(table, placeColumns),
    ),
    rejects(pending),
    ...targetsOfFacts(change, pending),
  ]
}

const placeColumns = ['meter_id', 'external_site_id'] as const

interface OfPlaces {
  readonly erasures: Sql
  readonly columns: readonly string[]
  readonly account?: Sql
  readonly site?: Sql
}

/** Rows that name an account, and perhaps its premise and meter. */
function ofPlaces(
  table: string,
  { erasures, columns, account = sql`account_number`, site = sql`external_site_id` }: OfPlaces,
): ErasureTarget {
  const where = erasedRows(erasures, { columns, account, site })
  const place = [
    ...(columns.includes('meter_id') ? [sql`meter_id`] : []),
    ...(columns.includes('external_site_id') ? [site] : []),
  ]
  const named = { table, where, erasures, account, columns: place }
  return { table, where, account, find: (store) => findPlaces(store, named) }
}

function reads(change: ErasureChange): ErasureTarget {
  const named = ofPlaces('usage_read', { erasures: pending, columns: placeColumns })
  return {
    ...named,
    where: sql`${named.where} OR ${erasedReads('usage_read', pending)}`,
    find: async (store) => together([await named.find(store), await findStretches(store, pending)]),
    announce: (where) => [announceReads(change, where), markAnnounced(change.id, 'erasure')],
  }
}

const factTables = ['held_read', 'account_meter', 'registration_fact', 'tenancy'] as const

function targetsOfFacts(change: ErasureChange, erasures: Sql): readonly ErasureTarget[] {
  return factTables.map((table) => {
    const target = ofPlaces(table, { erasures, columns: placeColumns })
    if (table !== 'tenancy') return target
    return { ...target, announce: (where: Sql) => [announceHolds(change, where)] }
  })
}

const rejectedFields = sql`arrayMap(field -> trimBoth(field, ' \\t"'),
  splitByRegexp('[,;|\\t]', concat(raw, ',', sent)))`

const accountsOf = (erasures: Sql) => sql`(SELECT groupUniqArray(account_number) FROM ${erasures})`

/** The condition of rejected rows that contain an account of `erasures`. */
export function isErasedReject(erasures: Sql): Sql {
  return sql`hasAny(${rejectedFields}, ${accountsOf(erasures)})`
}

/** Those of settled files: the rejects file of another may be written at this moment. */
function rejects(erasures: Sql): ErasureTarget {
  const settled = sql`SELECT arrival FROM file_state FINAL WHERE settled_at IS NOT NULL`
  const where = sql`${isErasedReject(erasures)} AND arrival IN (${settled})`
  const accounts = accountsOf(erasures)
  return {
    table: 'reject',
    where,
    account: sql`arrayFirst(field -> has(${accounts}, field), ${rejectedFields})`,
    find: (store) => findRejects(store, { where, fields: rejectedFields, accounts }),
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

/** The tables that an erasure rewrites. */
export function erasedTables(): readonly string[] {
  const names = targets({ id: '', timeZone: '' }).map(({ table }) => table)
  return [...names, 'usage_change_row', 'usage_day_row']
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
  for (const target of targets(change)) {
    const note = noteOf(target, change)
    counts[target.table] = await eraseFrom(store, { ...target, ...(note && { note }) })
  }
  return counts
}

/** Counts what an erasure takes of the rows of files, under its change; each pass is a cause of its own. */
function noteOf({ table, where }: ErasureTarget, { id: change }: ErasureChange) {
  const counted = countedTable(table)
  if (counted === undefined) return undefined
  const from = sql`${currentOf(table)} WHERE ${where}`
  return (pass: number) => {
    const cause = BigInt(change) + BigInt(pass)
    return noteRows({ kind: 'erased', cause, target: table, total: counted.total, from })
  }
}

/**
 * Meters with facts or tenancies of accounts that are erased already: a registration beside the erasure
 * may have stored what it had read before.
 */
export const lateMeters = sql`SELECT DISTINCT meter_id AS meter FROM (${join(
  factTables.map((table) => {
    const where = erasedRows(gone, { columns: placeColumns })
    return sql`SELECT meter_id FROM ${id(table)} WHERE ${where}`
  }),
  sql` UNION ALL `,
)}) ORDER BY meter`

/** Deletes these facts and tenancies, and announces what readers lose. */
export async function eraseLate(store: Store, change: ErasureChange): Promise<void> {
  for (const target of targetsOfFacts(change, gone)) await eraseFrom(store, target)
}

/** Deletes the rejected rows of accounts that are erased already. */
export async function eraseRejects(store: Store): Promise<void> {
  await eraseFrom(store, rejects(everErased))
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
