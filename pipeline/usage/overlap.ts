import type { Naming } from '../../schemas/name-pattern.js'
import { type FileState, isAhead } from '../ledger/file-state.js'
import type { Counted } from '../ledger/sums.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../store/sql.js'
import { createReads, type Decision, derivedOf, durable } from '../store/staging.js'
import { arrivalOf, precedenceOf, versionOf } from '../store/versions.js'
import { noteRows, usageTable } from '../verify/entries.js'
import {
  isRekeyedSince,
  noteReplacedAgain,
  replacedReads,
  replacingRows,
  sortAgain,
} from '../verify/repaired.js'
import { inDays } from './days/find.js'
import { isRekeyed, readColumns, recordOverlaps, rekeyedReads } from './lengths/rekey.js'

/** The staging table of a file from which it is to be published, and the local days it covers. */
export interface Staged extends Decision {
  readonly feed: string
  /** The arrival that its versions have: its own, or the one that it repairs. */
  readonly order: number
  readonly table: string
  readonly firstDay: string
  readonly lastDay: string
  /** Whether some key is in the table twice: only then the engine must look for the last one. */
  readonly repeats: boolean
  /** Whether the store has so much more in these days that only the meters of the file are looked up. */
  readonly isSparse: boolean
  /** Whether stored reads get another key with the file: it is compared with what is stored since. */
  readonly rekeys?: boolean
}

const isRepair = ({ order, arrival }: Staged) => order !== arrival

function rowsOf({ table, repeats }: Staged): Sql {
  return repeats ? sql`${id(table)} FINAL` : id(table)
}

export type OverlapKind = 'duplicate' | 'superseded' | 'restated' | 'rewritten' | 'covered'

/** What of a file is in the store already, by what that makes of its rows. */
export type Overlap = Readonly<Record<OverlapKind, Counted>> & {
  /** Superseded estimates, of which the store has reads that are none. */
  readonly outranked: number
  /** Sum of new minus old over the restated reads. */
  readonly netQuantity: string
}

interface OverlapRow {
  readonly kind: string
  readonly outranked: string
  readonly all_rows: string
  readonly all_quantity: string
  readonly all_net: string
}

const fingerprint = sql`sum(
  cityHash64(starts_at, seconds, quantity, account_number, external_site_id, quality))`

/**
 * Holds a staged file against the current reads and writes down what they have in common: for each
 * day of a meter whether all is equal, and for the others each read with its old value. A file that
 * is sent again is equal almost everywhere, and there a fingerprint of the day settles it.
 */
export async function compareWithStore(
  store: Store,
  staged: Staged,
  naming: Naming,
): Promise<Overlap> {
  await findOverlaps(store, staged)
  if (staged.rekeys) await store.command(recordOverlaps(staged))
  const { days, overlaps } = tablesOf(staged)
  const confirms = !isRepair(staged) && (await isAhead(store, staged, naming))
  if (confirms) await store.command(confirm(staged))
  const rows = await store.rows<OverlapRow>({
    sql: sql`SELECT kind, toString(sum(rows)) AS all_rows, toString(sum(quantity)) AS all_quantity,
        toString(sum(net)) AS all_net, toString(countIf(outranked)) AS outranked
      FROM (
        SELECT 'duplicate' AS kind, rows, quantity, toDecimal128(0, 6) AS net, false AS outranked FROM ${days} WHERE equal
        UNION ALL
        SELECT kind, 1, new_quantity, new_quantity - old_quantity, outranked FROM ${overlaps}
      ) GROUP BY kind`,
  })
  const counted = (kind: OverlapKind): Counted => {
    const row = rows.find((one) => one.kind === kind)
    return { rows: Number(row?.all_rows ?? 0), quantity: row?.all_quantity ?? '0' }
  }
  return {
    duplicate: counted('duplicate'),
    superseded: counted('superseded'),
    restated: counted('restated'),
    rewritten: counted('rewritten'),
    covered: counted('covered'),
    netQuantity: rows.find((one) => one.kind === 'restated')?.all_net ?? '0',
    outranked: Number(rows.find((one) => one.kind === 'superseded')?.outranked ?? 0),
  }
}

async function findOverlaps(store: Store, staged: Staged): Promise<void> {
  await store.command({ sql: compareDays(staged), settings: inOrder })
  await store.command({ sql: compareRows(staged), settings: inOrder })
  const found = await store.rows({
    sql: sql`SELECT 1 FROM usage_read WHERE ${hasEnded(staged)} LIMIT 1`,
  })
  if (found.length > 0) await store.command({ sql: compareEnded(staged) })
  if (isRepair(staged)) await store.command({ sql: compareReplaced(staged) })
}

/**
 * Rows of a repair that later files have moved to other accounts, or have replaced under another length than the
 * one that was proved since. Nothing hides such a read, if its correction is not stored.
 */
function compareReplaced(staged: Staged): Sql {
  const { days, overlaps } = tablesOf(staged)
  return sql`INSERT INTO ${overlaps} ${overlapOf(sql`'superseded'`)}
    FROM (SELECT * FROM ${rowsOf(staged)} WHERE version NOT IN (SELECT new_version FROM ${overlaps})
      AND (local_day, meter_id) NOT IN (SELECT local_day, meter_id FROM ${days} WHERE equal)) AS s
    INNER JOIN (SELECT DISTINCT ON (old_version) commodity, local_hour, old_version AS version,
        old_quantity AS quantity, old_account_number AS account_number, old_external_site_id AS external_site_id,
        old_change AS change, old_quality AS quality, old_yields AS yields,
        old_quantity = new_quantity AS is_moved
      FROM ${replacedReads(staged.order)}) AS c USING (version)
    WHERE c.is_moved OR ${isRekeyedSince(staged.order)}`
}

/** The arrivals among the rows of a group of which the store has some read already. */
export async function overlappingArrivals(
  store: Store,
  staged: Staged,
): Promise<readonly number[]> {
  await findOverlaps(store, staged)
  const { days, overlaps } = tablesOf(staged)
  const rows = await store.rows<{ found: number }>({
    sql: sql`SELECT DISTINCT ${arrivalOf} AS found FROM ${id(staged.table)}
      WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM ${days} WHERE equal)
        OR version IN (SELECT new_version FROM ${overlaps})`,
  })
  return rows.map(({ found }) => found)
}

function tablesOf(decision: Decision): { readonly days: Sql; readonly overlaps: Sql } {
  const { days, overlaps } = derivedOf(decision)
  return { days: id(days), overlaps: id(overlaps) }
}

function currentOf(staged: Staged): Sql {
  const { series } = derivedOf(staged)
  const ofMeters = staged.isSparse
    ? sql` AND meter_id IN (SELECT meter_id FROM ${id(series)})`
    : sql``
  const stored = sql`FROM usage_current WHERE ${inDays(staged)} AND arrival != ${staged.arrival}${ofMeters}`
  if (!staged.rekeys) return sql`SELECT * ${stored}`
  return sql`SELECT ${readColumns} ${stored} AND NOT ${isRekeyed(staged)}
    UNION ALL ${rekeyedReads(staged, inDays(staged))}`
}

/** Both sides come in the order of the key: merging them takes no memory, whatever the file's size. */
const inOrder = { optimize_aggregation_in_order: 1, join_algorithm: 'full_sorting_merge' } as const

/** Each day of a meter that the file has, whether the store knows it and whether all is equal. */
function compareDays(staged: Staged): Sql {
  const ofDay = isRepair(staged)
    ? sql`if(min(version) < ${typed('UInt64', versionOf(staged.order, 0))}, 0, ${fingerprint})`
    : fingerprint
  return sql`CREATE OR REPLACE TABLE ${tablesOf(staged).days} ENGINE = MergeTree ORDER BY (local_day, meter_id) AS
    SELECT local_day, meter_id, s.day_rows AS rows, s.day_quantity AS quantity,
      c.day_rows > 0 AS known, s.day_print = c.day_print AND s.day_rows = c.day_rows AS equal
    FROM (
      SELECT local_day, meter_id, count() AS day_rows, sum(quantity) AS day_quantity,
        ${fingerprint} AS day_print
      FROM ${rowsOf(staged)} GROUP BY local_day, meter_id
    ) AS s
    LEFT JOIN (
      SELECT local_day, meter_id, count() AS day_rows, ${ofDay} AS day_print
      FROM (${currentOf(staged)}) GROUP BY local_day, meter_id
    ) AS c USING (local_day, meter_id)`
}

const sameValues = sql`s.quantity = c.quantity AND s.account_number = c.account_number
      AND s.external_site_id = c.external_site_id AND s.quality = c.quality`

/** What was written down by a decision that a kill cut short says nothing: it is made again. */
export const confirmedSince = (arrival: number, yields = sql`s.yields`) => {
  const since = sql`SELECT local_day, meter_id, starts_at, seconds FROM confirmation
        WHERE arrival > ${arrival}
          AND arrival IN (SELECT arrival FROM file_state FINAL WHERE status = 'published')`
  const key = sql`(local_day, meter_id, starts_at, seconds)`
  return sql`if(${yields}, ${key} IN (${since}), ${key} IN (${since} AND NOT yields))`
}

/** What a row `s` of a file and a read `c` under the same key have in common. */
function overlapOf(kind: Sql): Sql {
  return sql`SELECT local_day, meter_id, starts_at, seconds, c.commodity AS commodity,
      c.local_hour AS local_hour,
      s.quantity AS new_quantity, c.quantity AS old_quantity,
      c.account_number AS old_account_number, c.external_site_id AS old_external_site_id,
      s.version AS new_version, c.version AS old_version, c.change AS old_change, seconds AS new_seconds, local_day AS new_day,
      c.quality AS old_quality, c.yields AS old_yields, s.yields AND NOT c.yields AS outranked, ${kind} AS kind`
}

function compareRows(staged: Staged): Sql {
  const { days, overlaps } = tablesOf(staged)
  const differing = sql`(local_day, meter_id) IN (
      SELECT local_day, meter_id FROM ${days} WHERE known AND NOT equal)`
  const [again, isNew] = isRepair(staged) ? sortAgain(staged.order, sameValues) : [sql``, sql`1`]
  const confirmed = sql`${confirmedSince(staged.order)} AND ${isNew}`
  return sql`CREATE OR REPLACE TABLE ${overlaps} ENGINE = MergeTree
    ORDER BY (local_day, meter_id, starts_at, seconds) SETTINGS ${durable} AS
    ${overlapOf(sql`multiIf(${again} ${sameValues}, 'duplicate', ${precedenceOf('c')} > ${precedenceOf('s')} OR ${confirmed}, 'superseded',
        s.quantity != c.quantity, 'restated', 'rewritten')`)}
    FROM (SELECT * FROM ${rowsOf(staged)} WHERE ${differing}) AS s
    INNER JOIN (SELECT * FROM (${currentOf(staged)}) WHERE ${differing}) AS c
      USING (local_day, meter_id, starts_at, seconds)`
}

/** The condition of ends of keys of the file's meters and days. */
function hasEnded(staged: Staged): Sql {
  const { series } = derivedOf(staged)
  return sql`${inDays(staged)} AND meter_id IN (SELECT meter_id FROM ${id(series)}) AND is_rekeyed`
}

/**
 * Rows of a late file under a key that has ended since: a later arrival has the read under the length that was
 * proved, or for nobody, and the row would be hidden.
 */
function compareEnded(staged: Staged): Sql {
  const ended = sql`SELECT ${readColumns} FROM usage_read FINAL WHERE ${hasEnded(staged)}`
  return sql`INSERT INTO ${tablesOf(staged).overlaps} ${overlapOf(sql`'superseded'`)}
    FROM (SELECT * FROM ${rowsOf(staged)}) AS s INNER JOIN (${ended}) AS c
      USING (local_day, meter_id, starts_at, seconds)
    WHERE ${precedenceOf('c')} > ${precedenceOf('s')}`
}

/**
 * Writes down which current reads a file repeats: they keep the version of the arrival that said so
 * first, and one that came in between must not win over them when it is published last.
 */
function confirm(staged: Staged): Statement {
  const arrival = typed('UInt32', staged.arrival)
  const { days, overlaps } = tablesOf(staged)
  const key = sql`local_day, meter_id, starts_at, seconds`
  return {
    sql: sql`INSERT INTO confirmation (${key}, arrival, yields)
      SELECT ${key}, ${arrival}, yields FROM ${rowsOf(staged)}
      WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM ${days} WHERE equal)
      UNION ALL
      SELECT ${key}, ${arrival}, old_yields FROM ${overlaps} WHERE kind = 'duplicate'`,
  }
}

/** Copies into `final` the reads that are new or changed, so that nothing else is published again. */
export function keepAccepted(staged: Staged): readonly Statement[] {
  const { days, overlaps } = tablesOf(staged)
  const { final } = derivedOf(staged)
  return [
    createReads(final, 'replace'),
    {
      sql: sql`INSERT INTO ${id(final)} SELECT * FROM ${rowsOf(staged)}
        WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM ${days} WHERE NOT equal)
          AND (local_day, meter_id, starts_at, seconds) NOT IN (
            SELECT local_day, meter_id, starts_at, seconds FROM ${overlaps}
            WHERE kind IN ('duplicate', 'superseded')
          )`,
      settings: { optimize_on_insert: 0 },
    },
  ]
}

/**
 * Writes down what a file replaces, before it does; readers see it once the file is published. A repair replaces
 * nothing that its file has not replaced before.
 */
export function recordRestatements(decision: Decision & Pick<FileState, 'notes'>): Statement {
  const { repairs } = decision.notes
  const isNew = repairs === undefined ? sql`1` : sql`new_version NOT IN (${replacingRows(repairs)})`
  return {
    sql: sql`INSERT INTO restatement
      (meter_id, commodity, starts_at, seconds, local_day, local_hour, old_quantity, new_quantity,
       old_account_number, old_external_site_id, old_version, new_version, new_seconds, old_change,
       old_quality, old_yields)
      SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, old_quantity,
        new_quantity, old_account_number, old_external_site_id, old_version, new_version,
        new_seconds, old_change, old_quality, old_yields
      FROM ${tablesOf(decision).overlaps}
      WHERE kind IN ('restated', 'rewritten', 'rekeyed', 'outdone', 'ended') AND ${isNew}`,
  }
}

/** Counts what a file replaces by the arrivals that lose it; it counts from the verdict on. */
export function noteReplaced(decision: Decision & Pick<FileState, 'notes'>): Statement {
  const from = sql`(SELECT old_version AS version, new_version, old_quantity AS quantity
      FROM ${tablesOf(decision).overlaps} WHERE kind IN ('restated', 'rewritten', 'covered', 'outdone', 'ended'))`
  if (decision.notes.repairs !== undefined) return noteReplacedAgain(decision, from)
  const { table: target, total } = usageTable
  return noteRows({ kind: 'replaced', cause: decision.arrival, target, from, total })
}
