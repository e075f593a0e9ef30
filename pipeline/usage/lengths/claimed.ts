import type { Profile } from '../../../schemas/settings/profile.js'
import { lengthsOf, timesOf } from '../../../schemas/settings/profile.js'
import { daySeconds, type Zone } from '../../../schemas/time/zone.js'
import { foreignRows } from '../../customers/registered.js'
import { newGroup } from '../../ledger/file-state.js'
import { createLedger } from '../../ledger/ledger.js'
import type { Publisher } from '../../ledger/publication.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { id, literal, type Sql, sql, typed } from '../../store/sql.js'
import { type Decision, derivedOf, dropDerived, onceSettings } from '../../store/staging.js'
import { arrivalOf, precedenceOf } from '../../store/versions.js'
import { filledDays, type OpenReads, proveOpen, type ReadSeries, seriesOf } from './prove.js'
import { isUnproved } from './provisional.js'
import { hasMoved, readColumns, recordRekeys } from './rekey.js'

export interface ClaimContext extends Publisher {
  readonly profile: Pick<Profile, 'usage'>
  readonly zone: Zone
}

/** Held reads of a claim, and its number as the change of what it stores. */
export interface Claimed {
  readonly claim: string
  /** The condition of those in `held_read`. */
  readonly isClaimed: Sql
}

/** What a claim stores. Where lengths are guessed, `decision` has the tables with those that are known by now. */
export interface Settled extends Claimed {
  readonly decision: Decision | undefined
}

const heldOf = ({
  claim,
  isClaimed,
}: Claimed) => sql`SELECT meter_id, commodity, starts_at, seconds,
    local_day, local_hour, quantity, account_number, external_site_id, version,
    ${typed('UInt64', claim)} AS change, quality, yields
  FROM held_read FINAL WHERE ${isClaimed}`

/**
 * Finds the lengths of claimed reads that nothing proved when they were held: of stored reads, or of others
 * in the claim, which may prove the lengths of stored reads as well. A repetition after a crash finds the same:
 * a read under its new length says no more than what gave it that length.
 */
export async function settleClaimed(context: ClaimContext, claimed: Claimed): Promise<Settled> {
  const { store, zone, profile, now } = context
  const ofMeters = sql`meter_id IN (SELECT meter_id FROM held_read WHERE ${claimed.isClaimed})`
  const guessed = await store.rows({
    sql: sql`SELECT 1 FROM provisional_length WHERE ${ofMeters} LIMIT 1`,
  })
  if (guessed.length === 0) return { ...claimed, decision: undefined }
  // A number without a file: the sweep drops what a worker leaves that dies.
  const decision = { arrival: newGroup(), decision: 1 }
  const { open: table } = derivedOf(decision)
  const key = sql`meter_id, local_day, seconds`
  const lengths = sql`SELECT ${key}, arrival FROM provisional_length FINAL WHERE ${ofMeters}`
  const unproved = sql`${lengths} AND ${isUnproved()}`
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(table)} ENGINE = MergeTree ORDER BY (meter_id, local_day) AS
      SELECT *, true AS is_held FROM (${heldOf(claimed)}) WHERE (${key}, ${arrivalOf}) IN (${lengths})
      UNION ALL
      SELECT ${readColumns}, false FROM usage_current
      WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM (${unproved}))
        AND (${key}, arrival) IN (${unproved})`,
  })
  const columns = ['account_number', 'meter_id', 'external_site_id']
  const isForeign = await foreignRows(store, { ingestion: 'full' }, { columns, reads: table })
  const open = await seriesOf<OpenReads>(store, {
    of: sql`${id(table)} WHERE NOT ${isForeign ?? sql`0`}`,
    arrival: arrivalOf,
  })
  const known = await seriesOf<ReadSeries>(store, { of: knownIn(claimed, table) })
  const arrivals = new Set([...open.values()].flat().map(({ arrival }) => arrival))
  const files = await createLedger(store, now).states([...arrivals])
  const fileOf = new Map(files.map((file) => [file.arrival, file]))
  const atEnd = (arrival: number) => {
    const file = fileOf.get(arrival)
    return file !== undefined && timesOf(profile, file.manifest).stamp === 'end'
  }
  const allowed = (arrival: number) => {
    const file = fileOf.get(arrival)
    return file === undefined ? [] : lengthsOf(profile, file.feed, file.manifest)
  }
  const found = [...open].flatMap(([meterId, series]) => {
    const together = filledDays(series, { zone, atEnd, allowed })
    return proveOpen(series, [...(known.get(meterId) ?? []), ...together], { zone, atEnd })
  })
  await recordRekeys({ store, zone }, decision, { found, atEnd })
  return { ...claimed, decision }
}

/** Series of the same meters that are not guessed, stored or claimed; dates without a time prove none. */
function knownIn(claimed: Claimed, open: string): Sql {
  const columns = sql`meter_id, local_day, seconds, starts_at, version`
  const same = sql`meter_id IN (SELECT meter_id FROM ${id(open)}) AND seconds != ${literal(daySeconds)}
      AND (version, seconds) NOT IN (SELECT version, seconds FROM ${id(open)})`
  return sql`(SELECT meter_id, local_day, seconds, min(starts_at) AS starts_at FROM (
      SELECT ${columns} FROM usage_current WHERE ${same}
      UNION ALL SELECT ${columns} FROM (${heldOf(claimed)}) WHERE ${same})
    GROUP BY meter_id, local_day, seconds)`
}

const oldKey = (
  of: Sql,
  k: Sql,
) => sql`${k}.meter_id = ${of}.meter_id AND ${k}.local_day = ${of}.local_day
      AND ${k}.starts_at = ${of}.starts_at AND ${k}.seconds = ${of}.seconds
      AND ${k}.arrival = toUInt32(bitShiftRight(${of}.version, 32))`

/** Reads of a subquery, those under a new key with it. */
function rekeyedIn(reads: Sql, decision: Decision): Sql {
  const has = sql`k.new_seconds != 0`
  return sql`SELECT r.* REPLACE(if(${has}, k.new_at, r.starts_at) AS starts_at,
      if(${has}, k.new_seconds, r.seconds) AS seconds, if(${has}, k.new_day, r.local_day) AS local_day,
      if(${has}, k.new_hour, r.local_hour) AS local_hour)
    FROM (${reads}) AS r
    LEFT ANY JOIN ${id(derivedOf(decision).rekeys)} AS k ON ${oldKey(sql`r`, sql`k`)}`
}

/** The claimed reads as they are to be stored; a subquery. */
export function claimedReads({ decision, ...claimed }: Settled): Sql {
  const held = heldOf(claimed)
  return decision === undefined ? held : rekeyedIn(held, decision)
}

/** Stored reads `o` whose length the claim proves to be another, and their new keys `k`. */
function movedOf(decision: Decision): Sql {
  const { open, rekeys } = derivedOf(decision)
  return sql`${id(open)} AS o INNER JOIN ${id(rekeys)} AS k ON ${oldKey(sql`o`, sql`k`)}
    WHERE NOT o.is_held AND ${hasMoved}`
}

/** Reads of which readers see something else behind the claim, and whether they saw them before; a subquery. */
export function changedReads(settled: Settled): Sql {
  const columns = sql`meter_id, starts_at, local_day, account_number, external_site_id`
  const claimed = sql`SELECT ${columns}, false AS was_stored FROM (${claimedReads(settled)})`
  if (settled.decision === undefined) return claimed
  return sql`${claimed} UNION ALL SELECT o.meter_id, o.starts_at, arrayJoin([o.local_day, k.new_day]), o.account_number,
      o.external_site_id, true FROM ${movedOf(settled.decision)}`
}

/** Stored reads that are about to be replaced, those that meet another one under a new key too; for a FROM. */
export function outdoneReads(settled: Settled): Sql {
  const key = sql`local_day, meter_id, starts_at, seconds`
  const columns = sql`${key}, local_hour, version, yields, quantity`
  const near = sql`SELECT ${columns} FROM usage_current
    WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM (${changedReads(settled)}))`
  const stored = settled.decision === undefined ? near : rekeyedIn(near, settled.decision)
  return sql`(SELECT version, quantity FROM (
      SELECT version, quantity, is_stored, first_value(version) OVER (
        PARTITION BY ${key} ORDER BY ${precedenceOf()} DESC) AS best
      FROM (SELECT ${columns}, true AS is_stored FROM (${stored})
        UNION ALL SELECT ${columns}, false FROM (${claimedReads(settled)})))
    WHERE is_stored AND version != best)`
}

/**
 * Stores under its new key what the store has under an old one, and a row that ends the old key, all in one
 * block.
 */
export function storeMoved(claim: string, decision: Decision): Statement {
  const moved = movedOf(decision)
  const same = sql`o.account_number, o.external_site_id`
  return {
    sql: sql`INSERT INTO usage_read (${readColumns}, is_rekeyed)
      SELECT o.meter_id, o.commodity, o.starts_at, o.seconds, o.local_day, o.local_hour, o.quantity, ${same},
        o.version + 1, o.change, o.quality, o.yields, true FROM ${moved}
      UNION ALL
      SELECT o.meter_id, o.commodity, k.new_at, k.new_seconds, k.new_day, k.new_hour, o.quantity, ${same},
        o.version, ${typed('UInt64', claim)}, o.quality, o.yields, false FROM ${moved}`,
    settings: onceSettings(`rekeyed-${claim}`),
  }
}

/** Records that these lengths are proved, behind the reads: by what is stored of their own arrival since. */
export async function endSettled(store: Store, { decision }: Settled): Promise<void> {
  if (decision === undefined) return
  await store.command({
    sql: sql`INSERT INTO provisional_length (meter_id, local_day, seconds, arrival, proved_by, proved_seconds)
      SELECT DISTINCT meter_id, local_day, seconds, arrival, arrival, new_seconds
      FROM ${id(derivedOf(decision).rekeys)}`,
  })
  await dropDerived(store, decision)
}
