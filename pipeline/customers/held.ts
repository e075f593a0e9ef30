import { nameChange, publishChanges } from '../ledger/announced.js'
import { batchesOf } from '../store/batches.js'
import type { Store } from '../store/clickhouse.js'
import { deleteFrom } from '../store/replicas.js'
import { id, literal, type Sql, sql, typed } from '../store/sql.js'
import { onceSettings } from '../store/staging.js'
import { arrivalOf, precedenceOf } from '../store/versions.js'
import { markAnnounced } from '../usage/days/stale.js'
import {
  type ClaimContext,
  changedReads,
  claimedReads,
  endSettled,
  outdoneReads,
  settleClaimed,
  storeMoved,
} from '../usage/lengths/claimed.js'
import { readColumns } from '../usage/lengths/rekey.js'
import { noteRows, usageTable } from '../verify/entries.js'
import { askOneServer } from '../whole.js'
import { namedIn, recordAccounts } from './account-meters.js'
import { clientsReads, erasedRows, holds, isHeld } from './registered.js'

const columns = sql`meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
  account_number, external_site_id, version, quality, yields`

const isErased = erasedRows(sql`erasure`, { columns: ['meter_id', 'external_site_id'] })
const isKept = sql`((external_site_id IN (SELECT external_site_id FROM tenancy)
          OR meter_id IN (SELECT meter_id FROM tenancy)) AND NOT ${isErased})`
const places = sql`external_site_id, meter_id, account_number`
const key = sql`(meter_id, starts_at, seconds)`
/** Reads are held ahead of a verdict, which may refuse their file. */
export const isOfPublished = sql`${arrivalOf} IN (SELECT arrival FROM publication WHERE arrival != 0)`

/**
 * Keeps the reads of a staging table that belong to no client although their site or meter is
 * registered (decision 21): a new account, an exchanged meter, a late login. Of other corrections of what is
 * held, or is about to be, only the version is kept, so that nobody claims what came first. Repeating it changes
 * nothing.
 */
export async function holdReads(store: Store, reads: string, isForeign: Sql): Promise<void> {
  await store.command({
    sql: sql`INSERT INTO held_read (${columns}, held_at)
      SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, if(${isKept}, quantity, 0),
        if(${isKept}, account_number, ''), if(${isKept}, external_site_id, ''), version, quality, yields, now()
      FROM ${id(reads)}
      WHERE ${isForeign} AND (${isKept} OR ${key} IN (SELECT ${key} FROM held_read
        UNION DISTINCT SELECT ${key} FROM ${id(reads)} WHERE ${isForeign} AND ${isKept}))`,
  })
}

/**
 * Asks for the held reads at the premises of some meters that a registration has made a client's. They
 * are stored between two verdicts (`claimHeld`), so that no file is compared with a part of them.
 */
export async function askForHeld(store: Store, meterIds: readonly string[]): Promise<void> {
  // As text: a thousand meters are too long for the parameters of a statement that writes.
  await ask(
    store,
    sql`external_site_id IN (SELECT external_site_id FROM tenancy WHERE meter_id IN ${literal(meterIds)})`,
  )
}

/**
 * Asks for the held reads of files whose client was registered after their verdict and before they were
 * published. Returns whether there may be some.
 */
export function askForHeldOf(store: Store, arrivals: readonly number[]): Promise<boolean> {
  return ask(store, sql`${arrivalOf} IN ${literal(arrivals)}`)
}

const askedFrom = ['held_read', 'publication', 'tenancy', 'erasure', 'usage_read'] as const

/** A server that lags may have a tenancy and not the reads that are held for it. */
function ask(store: Store, where: Sql): Promise<boolean> {
  const near = sql`${where} AND ${isOfPublished} AND NOT ${isErased}`
  return askOneServer(store, askedFrom, async (server, isThere) => {
    const found = await server.rows({ sql: sql`SELECT 1 FROM held_read WHERE ${near} LIMIT 1` })
    if (found.length === 0) return false
    await store.command({
      sql: sql`INSERT INTO held_claim (version)
        SELECT version FROM held_read WHERE ${near} AND ${clientsReads('held_read', where)}
          AND (meter_id, version) NOT IN (SELECT meter_id, version FROM usage_read
            WHERE NOT is_rekeyed AND meter_id IN (SELECT meter_id FROM held_read WHERE ${near})
              AND local_day BETWEEN (SELECT min(local_day) - 1 FROM held_read WHERE ${near})
                AND (SELECT max(local_day) + 1 FROM held_read WHERE ${near}))
          AND ${isThere}`,
    })
    return true
  })
}

/** The arrivals of reads that were asked for and are not stored yet. */
export const askedArrivals = sql`SELECT ${arrivalOf} AS arrival FROM held_claim`

/** One of those arrivals. */
export async function findAsked(store: Store): Promise<number | undefined> {
  const [asked] = await store.rows<{ arrival: number }>({ sql: sql`${askedArrivals} LIMIT 1` })
  return asked?.arrival
}

/** The claim that is to be carried out: one that was begun, or else one of all reads that were asked for. */
export async function nextClaim(store: Store): Promise<string | undefined> {
  const [latest] = await store.rows<{ claim: string }>({
    sql: sql`SELECT toString(claim) AS claim FROM held_claim FINAL ORDER BY held_claim.claim DESC LIMIT 1`,
  })
  if (latest?.claim !== '0') return latest?.claim
  const claim = nameChange()
  await store.command({
    sql: sql`INSERT INTO held_claim (version, claim)
      SELECT version, ${typed('UInt64', claim)} FROM held_claim FINAL WHERE claim = 0`,
  })
  return claim
}

/**
 * Stores the reads of a claim, and returns the meters whose tenancies may differ by them. They keep the
 * version of their file and get a number of publication of their own, since readers may be past that of
 * the file. They have the lengths that are proved by now, and so do stored reads whose length they prove.
 * Which reads it has was written down before, so a repetition after a crash stores and counts
 * the same. No file may be compared with the store meanwhile. A server that lags may have the reads and not the claim.
 */
export function storeClaimed(context: ClaimContext, claim: string): Promise<readonly string[]> {
  return askOneServer(context.store, claimedFrom, (_, isThere) => storeOn(isThere, context, claim))
}

const claimedFrom = [
  ...['held_claim', 'usage_change_row', 'provisional_length', 'file_state'],
  ...askedFrom,
] as const

async function storeOn(
  isThere: Sql,
  context: ClaimContext,
  claim: string,
): Promise<readonly string[]> {
  const { store } = context
  const change = typed('UInt64', claim)
  const rivals = sql`held_read WHERE meter_id IN (SELECT meter_id FROM held_read WHERE version IN (
      SELECT version FROM held_claim FINAL WHERE claim = ${change})) AND ${isOfPublished}`
  // Of a read that was held and corrected for nobody, what came first is nobody's either, also under a guessed length.
  const isClaimed = sql`version IN (SELECT version FROM held_claim FINAL WHERE claim = ${change})
    AND version IN (SELECT argMax(version, ${precedenceOf()}) FROM ${rivals} GROUP BY meter_id, starts_at, seconds)
    AND (meter_id, starts_at, account_number) IN (
      SELECT meter_id, starts_at, argMax(account_number, ${precedenceOf()}) FROM ${rivals} GROUP BY meter_id, starts_at)
    AND ${isThere}`
  const meters = await store.rows<{ meter: string }>({
    sql: sql`SELECT DISTINCT meter_id AS meter FROM held_read WHERE ${isClaimed} ORDER BY meter`,
  })
  if (meters.length === 0) return []
  const settled = await settleClaimed(context, { claim, isClaimed })
  await store.command({
    sql: sql`INSERT INTO usage_change_row
        (meter_id, local_day, last_local_day, client_ids_before, client_ids_after, cause, change)
      SELECT r.meter_id, min(r.local_day), max(r.local_day), if(r.was_stored, owners, []),
        arraySort(groupUniqArrayArrayIf(h.clients, ${isHeld})) AS owners, 'read', ${change}
      FROM (${changedReads(settled)}) AS r
      LEFT JOIN (${holds}) AS h ON h.m = r.meter_id
      GROUP BY r.meter_id, r.was_stored`,
    settings: onceSettings(`claim-${claim}`),
  })
  await store.command(markAnnounced(claim, 'claim', isThere))
  await store.command(
    noteRows({ kind: 'outdone', cause: claim, target, total, from: outdoneReads(settled) }),
  )
  if (settled.decision !== undefined) await store.command(storeMoved(claim, settled.decision))
  await store.command({
    sql: sql`INSERT INTO usage_read (${readColumns}) SELECT ${readColumns} FROM (${claimedReads(settled)})`,
  })
  const isCurrent = sql`usage_current WHERE ${isClaimed} AND (local_day, meter_id) IN (
      SELECT local_day, meter_id FROM (${claimedReads(settled)}))`
  await store.command(noteRows({ kind: 'claimed', cause: claim, target, total, from: isCurrent }))
  await endSettled(store, settled)
  await recordAccounts(
    store,
    namedIn({ table: 'held_read', where: isClaimed, key: places, by: typed('UInt32', 0) }),
  )
  await publishChanges(context, [claim], 'claim')
  return meters.map(({ meter }) => meter)
}

/** Versions of one deletion; the engine reads 262,144 characters at most. */
const versionsMax = 10_000

/**
 * Ends a claim whose reads are stored: they are held no more. The deletions name their versions, so that
 * every replica deletes the same.
 */
export async function endClaim(store: Store, claim: string): Promise<void> {
  const rows = await store.rows<{ version: string }>({
    sql: sql`SELECT version FROM held_claim FINAL WHERE claim = ${typed('UInt64', claim)}
      ORDER BY version`,
  })
  for (const batch of batchesOf(rows, versionsMax)) {
    const versions = literal(batch.map(({ version }) => BigInt(version)))
    for (const table of ['held_read', 'held_claim'])
      await deleteFrom(store, table, sql`version IN ${versions}`)
  }
}

const { table: target, total } = usageTable

/** Deletes what was held before an instant, ms since 1970. Reads of a claim are not taken from it. */
export async function forgetHeld(store: Store, before: number): Promise<void> {
  if ((await findAsked(store)) !== undefined) return
  const old = sql`held_at < toDateTime(${typed('UInt32', Math.floor(before / 1_000))})`
  const found = await store.rows({ sql: sql`SELECT 1 FROM held_read WHERE ${old} LIMIT 1` })
  if (found.length > 0) await deleteFrom(store, 'held_read', old)
}
