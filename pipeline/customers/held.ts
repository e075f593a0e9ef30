import { nameChange, publishChanges } from '../ledger/announced.js'
import type { Publisher } from '../ledger/publication.js'
import { batchesOf } from '../store/batches.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, literal, type Sql, sql, typed } from '../store/sql.js'
import { noteRows, usageTable } from '../verify/entries.js'
import { namedIn, recordAccounts } from './account-meters.js'
import { clientsReads, erasedRows, holds, isHeld } from './registered.js'

const columns = sql`meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
  account_number, external_site_id, version`

const isErased = erasedRows(sql`erasure`, { columns: ['meter_id', 'external_site_id'] })

/**
 * Keeps the reads of a staging table that belong to no client although their site or meter is
 * registered (decision 21): a new account, an exchanged meter, a late login. Repeating it changes
 * nothing.
 */
export async function holdReads(store: Store, reads: string, isForeign: Sql): Promise<void> {
  await store.command({
    sql: sql`INSERT INTO held_read (${columns}, held_at)
      SELECT ${columns}, now() FROM ${id(reads)}
      WHERE ${isForeign} AND (external_site_id IN (SELECT external_site_id FROM tenancy)
          OR meter_id IN (SELECT meter_id FROM tenancy))
        AND NOT ${isErased}`,
  })
}

/**
 * Stores the held reads at the premises of some meters that a registration has made a client's, and
 * returns the meters whose tenancies may differ by them. They keep the version of their file and get
 * a number of publication of their own, since readers may be past that of the file. After a crash the
 * same call finishes it: a read that is stored twice has the same key and version.
 */
export async function claimHeld(
  publisher: Publisher,
  meterIds: readonly string[],
): Promise<readonly string[]> {
  const { store } = publisher
  // As text: a thousand meters are too long for the parameters of a statement that writes.
  const near = sql`external_site_id IN (
      SELECT external_site_id FROM tenancy WHERE meter_id IN ${literal(meterIds)})
    AND bitShiftRight(version, 32) IN (
      SELECT toUInt64(arrival) FROM publication WHERE arrival != 0)
    AND NOT ${isErased}`
  const found = await store.rows({ sql: sql`SELECT 1 FROM held_read WHERE ${near} LIMIT 1` })
  if (found.length === 0) return []
  const [{ until }] = (await store.rows<{ until: string }>({
    sql: sql`SELECT toString(max(version)) AS until FROM held_read WHERE ${near}`,
  })) as readonly [{ until: string }]
  const own = sql`${near} AND version <= ${typed('UInt64', until)}
    AND ${clientsReads('held_read', sql`r.version <= ${typed('UInt64', until)}`)}`
  const name = nameChange()
  const change = typed('UInt64', name)
  const meters = await store.rows<{ meter: string }>({
    sql: sql`SELECT DISTINCT meter_id AS meter FROM held_read WHERE ${own}`,
  })
  if (meters.length === 0) return []
  await store.command({
    sql: sql`INSERT INTO usage_change_row (meter_id, local_day, last_local_day, client_ids_after, cause, change)
      SELECT r.meter_id, min(r.local_day), max(r.local_day),
        arraySort(groupUniqArrayArrayIf(h.clients, ${isHeld})), 'read', ${change}
      FROM (SELECT * FROM held_read WHERE ${own}) AS r
      LEFT JOIN (${holds}) AS h ON h.m = r.meter_id
      GROUP BY r.meter_id`,
  })
  // Beside another registration the same condition may soon be true of more reads: those that are stored
  // are deleted, and no others.
  const batches = await claimedBy(store, own)
  for (const claimed of batches) {
    await store.command(noteOutdone(claimed))
    await store.command({
      sql: sql`INSERT INTO usage_read (${columns}, change)
        SELECT ${columns}, ${change} FROM held_read FINAL WHERE ${claimed.where}`,
    })
    await store.command(noteClaimed(claimed))
  }
  const key = sql`external_site_id, meter_id, account_number`
  await recordAccounts(store, namedIn('held_read', own, key), 0)
  await publishChanges(publisher, [name], 'claim')
  for (const { where } of batches)
    await store.command({ sql: sql`DELETE FROM held_read WHERE ${where}` })
  return meters.map(({ meter }) => meter)
}

/** Reads of one statement by their versions; the engine reads 262,144 characters at most. */
const versionsMax = 10_000

interface Claimed {
  readonly where: Sql
  /** The first of their versions: the same when the claim is repeated after a crash. */
  readonly first: string
}

/** Held reads by their versions: every replica takes the same, whatever tenancies it has. */
async function claimedBy(store: Store, where: Sql): Promise<readonly Claimed[]> {
  const rows = await store.rows<{ version: string }>({
    sql: sql`SELECT DISTINCT version FROM held_read WHERE ${where} ORDER BY version`,
  })
  return batchesOf(rows, versionsMax).map((batch) => ({
    where: sql`version IN ${literal(batch.map(({ version }) => BigInt(version)))}`,
    first: batch[0]?.version ?? '0',
  }))
}

/** Current reads on the days of held ones. */
const currentNear = ({ where }: Claimed) => sql`(SELECT * FROM usage_current
    WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM held_read WHERE ${where}))`

/** Counts the stored reads that claimed ones of a later file are about to replace. */
function noteOutdone(claimed: Claimed): Statement {
  const key = sql`local_day, meter_id, starts_at, seconds`
  const from = sql`(SELECT c.version AS version, c.quantity AS quantity
      FROM ${currentNear(claimed)} AS c
      INNER JOIN (SELECT ${key}, max(version) AS latest FROM held_read
        WHERE ${claimed.where} GROUP BY ${key}) AS h USING (${key})
      WHERE c.version < h.latest)`
  return noteRows({ kind: 'outdone', cause: claimed.first, target, total, from })
}

/** Counts the claimed reads that are stored and current. */
function noteClaimed(claimed: Claimed): Statement {
  const from = sql`${currentNear(claimed)} WHERE ${claimed.where}`
  return noteRows({ kind: 'claimed', cause: claimed.first, target, total, from })
}

const { table: target, total } = usageTable

/** Deletes what was held before an instant, ms since 1970. */
export async function forgetHeld(store: Store, before: number): Promise<void> {
  const old = sql`held_at < toDateTime(${typed('UInt32', Math.floor(before / 1_000))})`
  const found = await store.rows({ sql: sql`SELECT 1 FROM held_read WHERE ${old} LIMIT 1` })
  if (found.length > 0) await store.command({ sql: sql`DELETE FROM held_read WHERE ${old}` })
}
