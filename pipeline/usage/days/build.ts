import { setTimeout as sleep } from 'node:timers/promises'
import type { PipelineContext } from '../../context.js'
import { nameChange } from '../../ledger/announced.js'
import { newGroup } from '../../ledger/file-state.js'
import { readLast } from '../../ledger/publication.js'
import { batchesOf } from '../../store/batches.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { notDeletedYet, openDeletions } from '../../store/replicas.js'
import { literal, type Sql, sql, typed } from '../../store/sql.js'
import { derivedOf } from '../../store/staging.js'
import { arrivalOf } from '../../store/versions.js'
import { onOneServer, onServerOf } from '../../whole.js'
import { markBuilt, markDays, readStale, type StaleChange, staleOf } from './stale.js'
import { daySteps } from './steps.js'

/** Changes whose days are stored together. */
const changesMax = 1_000

/**
 * A query looks up what is stale and reads the stored days one after the other, in milliseconds. So
 * days stay stale a little longer than they are.
 */
const lingerMs = 1_000

/** Stores all stale days, those that became stale meanwhile too. */
export async function buildAllDays({ store }: Pick<PipelineContext, 'store'>): Promise<void> {
  for (let isMore = true; isMore; ) isMore = await buildDays(store, lingerMs)
}

/**
 * Stores what the reads of stale days add up to, which `usage_day` answers from then on. Returns whether
 * there were any. It may run twice at once, and be repeated after a crash: a row has the latest number
 * of publication at the start as its version, and all reads up to there.
 */
export async function buildDays(store: Store, waitMs = 0): Promise<boolean> {
  const found = await readStale(store, changesMax)
  if (found.length === 0) return false
  const changes = found.map(({ change }) => change)
  const { seq } = await readLast(store)
  // A number without a file: the sweep drops what a worker leaves that dies.
  const decision = { arrival: newGroup(), decision: 1 }
  const { days } = derivedOf(decision)
  await onOneServer(store, { table: days, tables: summed }, async () => {
    await refuseDeletions(store, days)
    for (const scope of await scopesOf(store, changes))
      await store.command(buildScope(sql`${scope} AND ${onServerOf(days)}`, seq))
  })
  await eraseBefore(store, found, seq)
  await sleep(waitMs)
  await store.command(markBuilt(changes))
  return true
}

/** What days are made of. */
const summed = ['usage_read', 'usage_day_row', 'stale_day', 'publication'] as const

/** Throws `STORE_UNREACHABLE` while the server of a table has reads that others have deleted. */
async function refuseDeletions(store: Store, table: string): Promise<void> {
  const [found] = await store.rows<{ deletions: string }>({
    sql: sql`SELECT ${openDeletions('usage_read')} AS deletions WHERE ${onServerOf(table)}`,
  })
  if (found?.deletions !== '0') throw notDeletedYet('usage_read')
}

/** Makes some local days again for all meters, `yyyy-mm-dd`, and all other stale days. */
export async function buildDaysAgain(store: Store, days: readonly string[]): Promise<void> {
  await store.command(markDays(nameChange(), days))
  while (await buildDays(store));
}

/** Conditions on `local_day` and `meter_id`, one for each statement. */
async function scopesOf(store: Store, changes: readonly string[]): Promise<readonly Sql[]> {
  const stale = staleOf(changes)
  const [has] = await store.rows<Record<'days' | 'meterDays' | 'spans', number>>({
    sql: sql`SELECT toUInt32(countIf(meter_id = '')) AS days,
        toUInt32(countIf(meter_id != '' AND local_day = last_local_day)) AS meterDays,
        toUInt32(countIf(local_day < last_local_day)) AS spans
      FROM ${stale}`,
  })
  const scopes: Sql[] = []
  if (has?.meterDays) {
    scopes.push(sql`(local_day, meter_id) IN (SELECT local_day, meter_id FROM ${stale}
      WHERE meter_id != '' AND local_day = last_local_day)`)
  }
  if (has?.spans) {
    const spans = sql`${stale} WHERE local_day < last_local_day`
    scopes.push(sql`meter_id IN (SELECT meter_id FROM ${spans})
      AND local_day BETWEEN (SELECT min(local_day) FROM ${spans})
        AND (SELECT max(last_local_day) FROM ${spans})`)
  }
  if (has?.days) scopes.push(...(await wholeDays(store, stale)))
  return scopes
}

/**
 * Days of which a file has many meters, some of them in each statement. Where it has less than half of
 * the reads, its meters are looked up.
 */
async function wholeDays(store: Store, stale: Sql): Promise<readonly Sql[]> {
  const days = sql`local_day IN (SELECT local_day FROM ${stale} WHERE meter_id = '')`
  const isOwn = sql`${arrivalOf} IN (SELECT arrival FROM ${stale} WHERE meter_id = '')`
  const isAll = sql`(SELECT count() FROM ${stale} WHERE meter_id = '' AND arrival = 0) > 0`
  const steps = await daySteps(store, { days, isOwn: sql`${isAll} OR ${isOwn}` })
  return steps.map(({ within, rows, own }) => {
    const scope = sql`${within} AND ${days}`
    if (own * 2 >= rows) return scope
    return sql`${scope} AND meter_id IN (SELECT meter_id FROM usage_read WHERE ${scope} AND ${isOwn})`
  })
}

/** What the reads of a scope add up to, and nothing where a stored day has no reads any more. */
function buildScope(scope: Sql, version: number): Statement {
  return {
    sql: sql`INSERT INTO usage_day_row
      SELECT local_day, meter_id, commodity, min(series) AS seconds,
        untuple(argMin(
          (quantity, intervals, exported, peak, peak_at, at, seq), series)),
        ${typed('UInt64', version)}
      FROM (
        ${dailySums(scope)}
        UNION ALL
        SELECT local_day, meter_id, commodity, 4294967295, toDecimal128(0, 6), 0, toDecimal128(0, 6),
          toDecimal64(0, 6), toDateTime(0, 'UTC'), toDateTime64(0, 3, 'UTC'), 0
        FROM usage_day_row FINAL WHERE ${scope}
      )
      GROUP BY local_day, meter_id, commodity`,
  }
}

/** One row for each meter, day and interval length, as sent. */
export function dailySums(scope: Sql): Sql {
  const latest = (kind: 'at' | 'seq') => {
    const [column, list, none] =
      kind === 'at'
        ? [sql`published_at`, sql`claims.3`, sql`toDateTime64(0, 3, 'UTC')`]
        : [sql`published_seq`, sql`claims.2`, sql`toUInt64(0)`]
    const claimed = sql`greatest(f.${column}, transform(r.change, claims.1, ${list}, ${none}))`
    return sql`max(if(empty(claims.1), f.${column}, ${claimed}))`
  }
  return sql`WITH (SELECT (groupArray(change), groupArray(published_seq), groupArray(published_at))
      FROM publication WHERE kind = 'claim' OR rekeys) AS claims
    SELECT r.local_day AS local_day, r.meter_id AS meter_id, r.commodity AS commodity,
      r.seconds AS series, sum(r.quantity) AS quantity, toUInt32(count()) AS intervals,
      -sumIf(r.quantity, r.quantity < 0) AS exported, max(r.quantity) AS peak,
      argMax(r.starts_at, r.quantity) AS peak_at, ${latest('at')} AS at, ${latest('seq')} AS seq
    FROM (SELECT * FROM usage_current WHERE ${scope}) AS r
    ANY LEFT JOIN (SELECT arrival, published_seq, published_at FROM publication WHERE arrival != 0) AS f
      ON f.arrival = r.arrival
    GROUP BY local_day, meter_id, commodity, series`
}

/** Meters of one deletion; the engine reads 262,144 characters at most. */
const hashesMax = 4_000

/**
 * Deletes the rows that were made before an erasure took reads of their meters and days; those that were
 * made since stay. The condition has constants only, so every replica deletes the same.
 */
async function eraseBefore(
  store: Store,
  found: readonly StaleChange[],
  version: number,
): Promise<void> {
  const erased = found.flatMap(({ change, cause }) => (cause === 'erasure' ? [change] : []))
  if (erased.length === 0) return
  const meters = await store.rows<{ hash: string; first: string; last: string }>({
    sql: sql`SELECT toString(sipHash64(meter_id)) AS hash, toString(min(local_day)) AS first,
        toString(max(last_local_day)) AS last
      FROM ${staleOf(erased)} GROUP BY hash ORDER BY first, hash`,
  })
  for (const batch of batchesOf(meters, hashesMax)) {
    const hashes = literal(batch.map(({ hash }) => BigInt(hash)))
    const lists = [
      literal(batch.map(({ first }) => first)),
      literal(batch.map(({ last }) => last)),
    ] as const
    await store.command({
      sql: sql`ALTER TABLE usage_day_row DELETE WHERE version < ${literal(version)}
        AND sipHash64(meter_id) IN ${hashes}
        AND toString(local_day) >= transform(sipHash64(meter_id), ${hashes}, ${lists[0]}, '9999')
        AND toString(local_day) <= transform(sipHash64(meter_id), ${hashes}, ${lists[1]}, '')`,
      settings: { mutations_sync: 1 },
    })
  }
}
