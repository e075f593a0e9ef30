import { feedNames, recordFeedOf } from '../../../schemas/feed.js'
import { invisibleRanges, toCharacterClass } from '../../../schemas/field.js'
import { storeColumn } from '../../../schemas/record-feed.js'
import { announceHolds, announceReads, type ErasureChange } from '../../ledger/announced.js'
import { isEnd, keyOf, rowsTable } from '../../records/store.js'
import type { Store } from '../../store/clickhouse.js'
import type { RowReader } from '../../store/replicas.js'
import { id, join, literal, type Sql, sql } from '../../store/sql.js'
import { precedenceOf } from '../../store/versions.js'
import { markAnnounced } from '../../usage/days/stale.js'
import { countedTable, currentOf, noteRows } from '../../verify/entries.js'
import type { MeterPlace } from '../facts.js'
import { erasedReads, erasedRows, type Owner, oldOwner, owner } from '../registered.js'
import {
  type ErasedCounter,
  type ErasureTarget,
  eraseFrom,
  findPlaces,
  findRejects,
  findStretches,
  together,
} from './deletion.js'
import { endReplaced, type Replacing } from './replaced.js'

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
    const target = ofPending(rowsTable(feed), columns)
    if (feed.moves !== true) return [target]
    const { table, where } = target
    const [key, others] = [
      keyOf(feed),
      columns.filter((one) => !feed.key.map(storeColumn).includes(one)),
    ]
    const rows = { table, key, columns: others, near: key, order: sql`version`, isEnd: isEnd(feed) }
    return [{ ...target, end: endReplaced(rows, where) }]
  })
  return [
    reads(change),
    ofReads('restatement', oldOwner),
    ...records,
    ...computedTables.map((table) => ofPending(table, placeColumns)),
    rejects(pending),
    ...targetsOfFacts(change, pending),
  ]
}

/** Tables whose rows are computed from those of others. */
const computedTables = ['bill_row', 'bill_variance_row', 'rate_comparison_row'] as const

const placeColumns = ['meter_id', 'external_site_id'] as const

interface OfPlaces {
  readonly erasures: Sql
  readonly columns: readonly string[]
  readonly of?: Owner
}

/** Rows that name an account, and perhaps its premise and meter. */
function ofPlaces(
  table: string,
  { erasures, columns, of: { account, site } = owner }: OfPlaces,
): ErasureTarget {
  const where = erasedRows(erasures, { columns, account, site })
  const place = [
    ...(columns.includes('meter_id') ? [sql`meter_id`] : []),
    ...(columns.includes('external_site_id') ? [site] : []),
  ]
  const named = { table, where, erasures, account, columns: place }
  return { table, where, account, find: (store) => findPlaces(store, named) }
}

const readRows: Replacing = {
  table: 'usage_read',
  key: sql`local_day, meter_id, starts_at, seconds`,
  near: sql`meter_id`,
  columns: [
    ...['commodity', 'local_hour', 'quantity', 'account_number', 'external_site_id'],
    ...['change', 'quality', 'yields'],
  ],
  order: precedenceOf(),
  isEnd: sql`is_rekeyed`,
}

/** Reads of an account, and those that name none from its time. */
function ofReads(table: string, of: Owner): ErasureTarget {
  const named = ofPlaces(table, { erasures: pending, columns: placeColumns, of })
  const unnamed = { table, erasures: pending, owner: of }
  return {
    ...named,
    where: sql`(${named.where} OR ${erasedReads(table, pending, of)})`,
    find: async (store) => together([await named.find(store), await findStretches(store, unnamed)]),
  }
}

function reads(change: ErasureChange): ErasureTarget {
  const all = ofReads('usage_read', owner)
  return {
    ...all,
    announce: (where) => [announceReads(change, where), markAnnounced(change.id, 'erasure')],
    end: endReplaced(readRows, all.where),
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

/**
 * What a rejected row may name, whatever separates its fields, without the characters for which an identifier is
 * refused. An account may have one of the separators in its number.
 */
const rejectedFields = sql`arrayDistinct(arrayMap(
    field -> trimRight(trimLeft(replaceRegexpAll(field, ${literal(`[${toCharacterClass(invisibleRanges, 'x')}]`)}, ''), ' =+@-')),
    arrayConcat(${join(
      ['', ',', ';', '|', '\t', ',;|\t'].map((separators) => {
        return sql`splitByRegexp(${literal(`["\r\n${separators}]`)}, concat(raw, ',', sent))`
      }),
      sql`, `,
    )})))`

/**
 * Each erased account with what a row must have beside it: nothing else where all of the account is erased,
 * else the premise or one of its meters, or the meter.
 */
const erasedPairs = (erasures: Sql) => sql`(SELECT account_number, arrayJoin(multiIf(
    meter_id != '', [meter_id],
    external_site_id != '', arrayFilter(place -> place != '', arrayConcat([external_site_id], stretches.1)),
    [account_number]))
  FROM (SELECT * FROM ${erasures}))`

/**
 * What may be the account of a rejected row. Columns are judged from left to right, and the account is the first
 * one of each feed: where another one is wrong, that is the account. Other rows may have it anywhere.
 */
const rejectedAccounts = sql`if(sent_line = 0 AND column_name NOT IN ('', 'AccountNumber', 'ContractAccount'),
  [trimRight(trimLeft(if(match(raw, '^[ \\t]*"'),
    replaceAll(extract(raw, '^[ \\t]*"((?:[^"]|"")*)"'), '""', '"'), extract(raw, '^[^,]*')), ' \t'), ' \t')],
  ${rejectedFields})`

/** The pairs of an account and a place that are in a rejected row and erased. */
const pairsIn = (erasures: Sql) => sql`arrayFilter(pair -> pair IN ${erasedPairs(erasures)},
  arrayFlatten(arrayMap(account -> arrayMap(field -> (account, field), arrayPushBack(${rejectedFields}, account)),
    arrayFilter(account -> account IN (SELECT account_number FROM (SELECT * FROM ${erasures})), ${rejectedAccounts}))))`

/** The condition of rejected rows that contain an account of `erasures`, with the premise or meter if one is named. */
export function isErasedReject(erasures: Sql): Sql {
  return sql`notEmpty(${pairsIn(erasures)})`
}

/** Those of settled files: the rejects file of another may be written at this moment. */
function rejects(erasures: Sql): ErasureTarget {
  const settled = sql`SELECT arrival FROM file_state FINAL WHERE settled_at IS NOT NULL`
  const where = sql`${isErasedReject(erasures)} AND arrival IN (${settled})`
  const pairs = pairsIn(erasures)
  return {
    table: 'reject',
    where,
    account: sql`${pairs}[1].1`,
    find: (store) => {
      const [accounts, fields] = [rejectedAccounts, rejectedFields]
      return findRejects(store, { where, accounts, fields, pairs })
    },
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

/**
 * Deletes the rows of all pending erasures from every table. `counted` gets their number first. What readers
 * lose with the rows of a table is announced before they go, by the condition that deletes them. The facts
 * about the account go last, so that a crash leaves nothing that cannot be found again.
 */
export async function eraseRows(
  store: Store,
  change: ErasureChange,
  counted: ErasedCounter,
): Promise<void> {
  for (const target of targets(change)) {
    const note = noteOf(target, change)
    await eraseFrom(store, { ...target, ...(note && { note }) }, counted)
  }
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

/** Deletes bills that were computed beside an erasure and stored after it. */
export async function eraseLateBills(store: Store): Promise<void> {
  for (const table of computedTables) {
    await eraseFrom(store, ofPlaces(table, { erasures: gone, columns: placeColumns }))
  }
}

/** Deletes the rejected rows of accounts that are erased already. */
export async function eraseRejects(store: Store): Promise<void> {
  await eraseFrom(store, rejects(everErased))
}

/** Which of some accounts are erased, or at which of their premises and meters. */
export async function erasedPlaces(
  store: RowReader,
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
