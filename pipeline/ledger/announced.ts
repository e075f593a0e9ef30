import { createHash, randomBytes } from 'node:crypto'
import type { Statement, Store } from '../store/clickhouse.js'
import { literal, type Sql, sql, typed } from '../store/sql.js'
import { type Publisher, publishSubjects } from './publication.js'

/** Reads of a meter whose clients, rate, cycle or unit change, from one local day to another. */
export interface UsageChange {
  readonly meter_id: string
  readonly local_day: string
  /** Inclusive. */
  readonly last_local_day: string
  readonly client_ids_before: readonly string[]
  readonly client_ids_after: readonly string[]
  readonly cause: 'ownership' | 'cost'
}

/** The id of a new change: random, and above all numbers of arrivals. */
export function nameChange(): string {
  return toChange(randomBytes(8))
}

/** The id of a change that is the same each time. */
export function changeOf(subject: string): string {
  return toChange(createHash('sha256').update(subject).digest())
}

function toChange(bytes: Buffer): string {
  return String(bytes.readBigUInt64BE() | (1n << 63n))
}

/**
 * Announces a change before it is made: a change of which the worker dies is published by the sweep,
 * so that nobody who follows changes misses it. A change without days is announced too.
 */
export async function announce(
  store: Store,
  change: string,
  changes: readonly UsageChange[],
): Promise<void> {
  const rows = changes.length > 0 ? changes : [{ meter_id: '', cause: 'ownership' }]
  await store.insert(
    'usage_change_row',
    rows.map((row) => ({ ...row, change })),
  )
}

export interface ErasureChange {
  readonly id: string
  readonly timeZone: string
}

/**
 * Announces the days of reads that an erasure is about to take. Clients are not named, since what is
 * known of them is erased.
 */
export function announceReads(change: ErasureChange, where: Sql): Statement {
  return announceLost(
    change,
    sql`SELECT meter_id, min(local_day), max(local_day) FROM usage_read
      WHERE ${where} GROUP BY meter_id, account_number`,
  )
}

/**
 * The same of all reads that some tenancies hold, under whatever account; and of reads under their
 * accounts that a client without an account number has from then on.
 */
export function announceHolds(change: ErasureChange, where: Sql): Statement {
  const dayOf = (at: Sql) =>
    sql`if(${at} < toDateTime(86400, 'UTC'), toDate('1970-01-01'), toDate(${at}, ${literal(change.timeZone)}))`
  const named = sql`account_number IN (SELECT account_number FROM tenancy WHERE ${where})`
  return announceLost(
    change,
    sql`SELECT DISTINCT meter_id, ${dayOf(sql`hold.2`)}, ${dayOf(sql`hold.3 - 1`)}
      FROM (SELECT * FROM tenancy FINAL) ARRAY JOIN holds AS hold WHERE ${where}
      UNION ALL
      SELECT meter_id, first_day, last_day FROM (${underUnknown(named)})`,
  )
}

/**
 * Announces reads under accounts that have become a client's, at meters of clients without an account
 * number: these have the reads of accounts that nobody has, and no others (decision 11).
 */
export async function announceKnown(
  store: Store,
  change: string,
  { accounts, meterIds }: { accounts: readonly string[]; meterIds: readonly string[] },
): Promise<void> {
  const known = sql`account_number IN ${literal(accounts)}
    OR (meter_id IN ${literal(meterIds)} AND account_number IN (SELECT account_number FROM tenancy))`
  await store.command({
    sql: sql`INSERT INTO usage_change_row
        (meter_id, local_day, last_local_day, client_ids_before, cause, change)
      SELECT meter_id, first_day, last_day, clients, 'ownership', ${typed('UInt64', change)}
      FROM (${underUnknown(known)}) AS r
      INNER JOIN (
        SELECT meter_id, groupUniqArrayArray(client_ids) AS clients FROM tenancy FINAL
        WHERE account_number = '' GROUP BY meter_id
      ) AS t USING (meter_id)`,
  })
}

/** The last day that the store can hold. */
const lastDay = '2106-02-07'

/** Meters of clients without an account number, and the days on which some accounts may have reads there. */
const underUnknown = (where: Sql) => sql`SELECT meter_id,
    toDate(min(first_read)) - 1 AS first_day, toDate(${literal(lastDay)}) AS last_day
  FROM account_meter
  WHERE meter_id IN (SELECT meter_id FROM tenancy WHERE account_number = '') AND (${where})
  GROUP BY meter_id`

function announceLost({ id }: ErasureChange, days: Sql): Statement {
  return {
    sql: sql`INSERT INTO usage_change_row (meter_id, local_day, last_local_day, cause, change)
      SELECT lost.*, 'erasure', ${typed('UInt64', id)} FROM (${days}) AS lost`,
  }
}

/** Gives changes numbers, once all of them are made. Repeated, each gets a later number. */
export async function publishChanges(
  publisher: Publisher,
  changes: readonly string[],
  kind: 'change' | 'claim' = 'change',
): Promise<void> {
  if (changes.length === 0) return
  await publishSubjects(
    publisher,
    changes.map((change) => ({ kind, change })),
  )
}

/** A change takes seconds; one that was announced this long ago has lost its worker. */
const announcedSecondsMin = 60
const announcedDaysMax = 7

/** Of announced changes whose worker has died. */
export function unpublishedRows(secondsMin = announcedSecondsMin): Sql {
  const open = sql`recorded_at > now() - ${typed('UInt32', announcedDaysMax * 86_400)}
    AND recorded_at < now64(3) - ${typed('UInt32', secondsMin)} AND change >= 4294967296`
  return sql`SELECT change, cause FROM usage_change_row WHERE ${open}
    AND change NOT IN (SELECT change FROM publication
      WHERE change IN (SELECT change FROM usage_change_row WHERE ${open}))`
}

/** Publishes announced changes whose worker died; who is still at work publishes his again. */
export async function publishAnnounced(publisher: Publisher, secondsMin?: number): Promise<void> {
  const rows = await publisher.store.rows<{ change: string; isClaim: number }>({
    sql: sql`SELECT change, max(cause = 'read') AS isClaim FROM (${unpublishedRows(secondsMin)})
      GROUP BY change ORDER BY change`,
  })
  for (const { change, isClaim } of rows) {
    await publishChanges(publisher, [change], isClaim === 1 ? 'claim' : 'change')
  }
}

/** Numbers that are looked back from the latest; a change behind them is only listed once more. */
const numbersBack = 10_000
const secondsBack = 600

/**
 * What others have announced of some meters and not published before a number. A writer that has read
 * tenancies and then wins over another lists the other's changes again, because it may revert them.
 */
export async function announcedSince(
  store: Store,
  { meterIds, seq, own }: { meterIds: readonly string[]; seq: number; own: string },
): Promise<readonly UsageChange[]> {
  return store.rows<UsageChange>({
    sql: sql`SELECT DISTINCT meter_id, local_day, last_local_day, client_ids_before, client_ids_after, cause
      FROM usage_change_row
      WHERE meter_id IN ${meterIds} AND change >= 4294967296 AND change != ${typed('UInt64', own)}
        AND recorded_at > now() - ${typed('UInt32', secondsBack)}
        AND change NOT IN (SELECT change FROM publication
          WHERE published_seq > ${Math.max(0, seq - numbersBack)} AND published_seq <= ${seq})`,
  })
}
