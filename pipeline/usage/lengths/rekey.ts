import { intervalStart } from '../../../schemas/time/read-timestamp.js'
import { isDayFormat } from '../../../schemas/time/timestamp.js'
import { daySeconds } from '../../../schemas/time/zone.js'
import type { PipelineContext } from '../../context.js'
import { foreignRows } from '../../customers/registered.js'
import type { FileState } from '../../ledger/file-state.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../../store/sql.js'
import { type Decision, derivedOf, durable, onceSettings } from '../../store/staging.js'
import { arrivalOf, precedenceOf, versionOf } from '../../store/versions.js'
import type { StagingTotals } from '../irregular-meters.js'
import { toLocalStart } from '../timestamps.js'
import { guessedEnd } from './guessed.js'
import {
  type OpenReads,
  type Proved,
  provedDays,
  proveOpen,
  type ReadSeries,
  seriesOf,
  stampedAtEnd,
} from './prove.js'
import { openLengths } from './provisional.js'
import { provedBy } from './since.js'

/** Stored reads that a file brings under the length that it proves. */
export interface Rekeyed {
  readonly rows: number
  readonly meters: number
  /** How many of them are not stored any more: a row of the file that is not stored has their new key. */
  readonly ended: number
}

/** A decision on a file, and the arrival whose versions its rows have. */
export interface Rekeying extends Decision {
  readonly order: number
  /** Whether the table `ended` has keys of rows that are not stored. */
  readonly hasEnded?: boolean
}

type Decided = Pick<FileState, 'arrival' | 'decision' | 'manifest' | 'notes'> &
  Pick<Rekeying, 'hasEnded'>

/** Meters with stored reads of a length that nothing has proved, and what a file proves of theirs. */
interface ProvedMeter {
  readonly meterId: string
  readonly open: readonly OpenReads[]
  readonly proved: readonly ReadSeries[]
}

/** Such meters, and which arrivals of their stored reads have their timestamps at the end. */
interface ProvedReads {
  readonly meters: readonly ProvedMeter[]
  readonly atEnd: (arrival: number) => boolean
}

/** The columns of a stored read. */
export const readColumns = sql`meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
  account_number, external_site_id, version, change, quality, yields`

/**
 * Whether a file may prove a length of stored reads: it has a meter of theirs, and not only meters of which
 * it proves none.
 */
export function mayProve(
  { meters, openMeters }: Pick<StagingTotals, 'meters' | 'openMeters'>,
  unproved: number,
): boolean {
  return openMeters > 0 && unproved < meters
}

/** Copies such reads into the table `open`, and holds them against the usable rows of a file in `table`. */
export async function findProved(
  context: PipelineContext,
  state: Decided,
  table: string,
): Promise<ProvedReads | undefined> {
  const { store, zone } = context
  const { manifest, notes } = state
  if (manifest.format !== null && isDayFormat(manifest.format)) return undefined
  const { open } = derivedOf(state)
  const lengths = openLengths(state, notes.repairs)
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(open)} ENGINE = MergeTree ORDER BY (meter_id, local_day) AS
      SELECT ${readColumns} FROM usage_current
      WHERE (local_day, meter_id) IN (SELECT local_day, meter_id FROM (${lengths}))
        AND (meter_id, local_day, seconds, arrival) IN (${lengths}) AND arrival != ${state.arrival}`,
  })
  // What is being erased must not be stored again behind the erasure.
  const reads = { columns: ['account_number', 'meter_id', 'external_site_id'], reads: open }
  const isForeign = await foreignRows(store, { ingestion: 'full' }, reads)
  const found = await seriesOf<OpenReads>(store, {
    of: sql`${id(open)} WHERE NOT ${isForeign ?? sql`0`}`,
    arrival: arrivalOf,
  })
  if (found.size === 0) return undefined
  const rows = await seriesOf<ReadSeries>(store, {
    of: sql`${id(table)} WHERE meter_id IN (SELECT meter_id FROM ${id(open)})`,
  })
  const atEnd = await stampedAtEnd(context, state, [...found.values()].flat())
  const before = notes.repairs === undefined ? undefined : await provedBy(store, notes.repairs)
  const meters = [...found].flatMap(([meterId, open]) => {
    const own = rows.get(meterId) ?? []
    const again = before?.get(meterId)
    const proved =
      again === undefined
        ? provedDays(own, open, { zone, atEnd })
        : own.filter(({ seconds }) => again.includes(seconds))
    return proved.length === 0 ? [] : [{ meterId, open, proved }]
  })
  return meters.length === 0 ? undefined : { meters, atEnd }
}

/**
 * Finds the stored reads of a provisional length whose length a file proves (decision 16), and writes down
 * what is stored of them since: `rekeys` has the new key of each, also where it is the old one, and
 * `rekeyed` those with another key. Undefined where the file proves nothing of stored reads.
 */
export async function findRekeyed(
  context: PipelineContext,
  state: Decided,
  table: string,
): Promise<Rekeyed | undefined> {
  const { store, zone } = context
  const reads = await findProved(context, state, table)
  if (reads === undefined) return undefined
  const { meters, atEnd } = reads
  const stored = await storedSeries(store, state, meters)
  const found = meters.flatMap(({ meterId, open, proved }) => {
    const isDaily = proved.some(({ seconds }) => seconds === daySeconds)
    const known = (stored.get(meterId) ?? []).filter((one) => isDaily || one.seconds !== daySeconds)
    return proveOpen(open, [...known, ...proved], { zone, atEnd })
  })
  if (found.length === 0) return undefined
  if (!(await recordRekeys(context, state, { found, atEnd })))
    return { rows: 0, meters: 0, ended: 0 }
  const order = state.notes.repairs ?? state.arrival
  await store.command({ sql: resolveKeys({ ...state, order }) })
  const [counted] = await store.rows<{ rows: string; meters: string; ended: string }>({
    sql: sql`SELECT count() AS rows, uniqExact(meter_id) AS meters, countIf(is_ended) AS ended
      FROM ${id(derivedOf(state).rekeyed)} WHERE is_moved`,
  })
  return {
    rows: Number(counted?.rows ?? 0),
    meters: Number(counted?.meters ?? 0),
    ended: Number(counted?.ended ?? 0),
  }
}

/** The proved lengths of these meters in the store, up to the last day that matters. */
function storedSeries(
  store: Store,
  state: Decided,
  meters: readonly ProvedMeter[],
): Promise<Map<string, ReadSeries[]>> {
  const { open } = derivedOf(state)
  const days = meters.flatMap(({ open, proved }) => [...open, ...proved].map(({ day }) => day))
  const last = days.sort().at(-1)
  return seriesOf(store, {
    of: sql`(SELECT meter_id, local_day, seconds, min(starts_at) AS starts_at FROM usage_current
      WHERE local_day <= ${typed('Date', last)} AND meter_id IN (SELECT meter_id FROM ${id(open)})
        AND arrival != ${state.arrival} AND version NOT IN (SELECT version FROM ${id(open)})
      GROUP BY meter_id, local_day, seconds)`,
  })
}

/** Writes down the new key of each read of series whose length is known; returns whether one is another. */
export async function recordRekeys(
  { store, zone }: Pick<PipelineContext, 'store' | 'zone'>,
  decision: Decision,
  {
    found,
    atEnd,
  }: { readonly found: readonly Proved[]; readonly atEnd: (arrival: number) => boolean },
): Promise<boolean> {
  const { rekeys } = derivedOf(decision)
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(rekeys)} (
        meter_id String, local_day Date, starts_at DateTime('UTC'), seconds UInt32, arrival UInt32,
        new_at DateTime('UTC'), new_day Date, new_hour UInt8, new_seconds UInt32
      ) ENGINE = MergeTree ORDER BY (meter_id, local_day) SETTINGS ${durable}`,
  })
  const rows = found.flatMap(
    ({ series: { meterId, day, seconds: before, arrival, starts }, seconds }) =>
      starts.map((start) => {
        const end = () => guessedEnd(start, before, zone)
        const at = atEnd(arrival) ? intervalStart(end(), seconds, zone) : start
        const { startsAt, localDay, localHour } = toLocalStart(at, { zone })
        const old = {
          meter_id: meterId,
          local_day: day,
          starts_at: start,
          seconds: before,
          arrival,
        }
        const now = {
          new_at: startsAt,
          new_day: localDay,
          new_hour: localHour,
          new_seconds: seconds,
        }
        return { ...old, ...now }
      }),
  )
  if (rows.length > 0) await store.insert(rekeys, rows)
  return rows.some((row) => row.new_seconds !== row.seconds || row.new_at !== row.starts_at)
}

/** Whether a read has another key by a row `k` of `rekeys`. */
export const hasMoved = sql`(k.new_seconds, k.new_at) != (k.seconds, k.starts_at)`

/**
 * Each read under its new key, and what the store has there already. Of reads that meet under one key the
 * one with the highest precedence wins, as everywhere; none where it is a row of the file that is not stored.
 */
function resolveKeys({ order, hasEnded = false, ...decision }: Rekeying): Sql {
  const { open, rekeys, rekeyed, ended } = derivedOf(decision)
  const key = sql`local_day, meter_id, starts_at, seconds`
  const apart = sql`(SELECT * FROM ${id(rekeys)} AS k WHERE ${hasMoved})`
  const moved = sql`SELECT k.new_day AS local_day, o.meter_id AS meter_id, k.new_at AS starts_at, k.new_seconds AS seconds,
      k.new_hour AS local_hour, o.commodity AS commodity, o.quantity AS quantity,
      o.account_number AS account_number, o.external_site_id AS external_site_id, o.version AS version,
      o.quality AS quality, o.yields AS yields,
      o.local_day AS old_day, o.starts_at AS old_at, o.seconds AS old_seconds, o.local_hour AS old_hour,
      o.change AS old_change, true AS is_moved
    FROM ${id(open)} AS o INNER JOIN ${apart} AS k
      ON k.meter_id = o.meter_id AND k.local_day = o.local_day AND k.starts_at = o.starts_at AND k.seconds = o.seconds`
  const there = sql`SELECT ${key}, local_hour, commodity, quantity, account_number, external_site_id, version,
      quality, yields, local_day, starts_at, seconds, local_hour, change, false
    FROM usage_current
    WHERE (${key}) IN (SELECT new_day, meter_id, new_at, new_seconds FROM ${apart})
      AND arrival != ${decision.arrival} AND (${key}) NOT IN (SELECT ${key} FROM ${apart})
      ${hasEnded ? sql`AND (${key}) NOT IN (SELECT ${key} FROM ${id(ended)} WHERE is_stored)` : sql``}`
  const byRows = sql`SELECT ${key}, new_version - 1 AS ended_by, new_precedence FROM ${id(ended)}`
  const byNone = sql`SELECT ${key}, 0 AS ended_by, 0 AS new_precedence FROM ${id(open)} WHERE false`
  const sameKey = sql`(PARTITION BY ${key} ORDER BY ${precedenceOf()} DESC
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)`
  return sql`CREATE OR REPLACE TABLE ${id(rekeyed)} ENGINE = MergeTree ORDER BY (${key}) SETTINGS ${durable} AS
    SELECT *, if(is_moved, ${typed('UInt64', order)}, old_change) AS change,
      is_moved AND new_precedence > ${precedenceOf()} AS is_ended,
      version = first_value(version) OVER ${sameKey} AND NOT is_ended AS wins,
      first_value(quantity) OVER ${sameKey} AS new_quantity
    FROM (SELECT * FROM (${moved} UNION ALL ${there}) AS m
      LEFT ANY JOIN (${hasEnded ? byRows : byNone}) AS e USING (${key}))`
}

/** What the store has under the new keys, in place of the versions that `isRekeyed` names. */
export function rekeyedReads(decision: Decision, where: Sql): Sql {
  return sql`SELECT ${readColumns} FROM ${id(derivedOf(decision).rekeyed)} WHERE wins AND ${where}`
}

/** The condition of stored reads that get another key, or that meet one that does. */
export function isRekeyed(decision: Decision): Sql {
  return sql`version IN (SELECT version FROM ${id(derivedOf(decision).rekeyed)})`
}

/** The columns of the table `overlaps`. */
export const overlapColumns = sql`local_day, meter_id, starts_at, seconds, commodity, local_hour,
  new_quantity, old_quantity, old_account_number, old_external_site_id, new_version, old_version,
  kind, old_change, new_seconds, new_day, old_quality, old_yields, outranked`

/**
 * Adds to the table `overlaps` what becomes of them: those that are stored on under another key, and those
 * that lose against a later read there.
 */
export function recordOverlaps({ order, ...decision }: Rekeying): Statement {
  const { overlaps, rekeyed } = derivedOf(decision)
  return {
    sql: sql`INSERT INTO ${id(overlaps)} (${overlapColumns})
      SELECT old_day, meter_id, old_at, old_seconds, commodity, old_hour, new_quantity, quantity,
        account_number, external_site_id, ${typed('UInt64', versionOf(order, 0))}, version,
        multiIf(wins, 'rekeyed', is_ended, 'ended', 'outdone'), old_change, seconds, local_day, quality, yields, false
      FROM ${id(rekeyed)} WHERE is_moved OR NOT wins`,
  }
}

/**
 * Adds them to the table that is attached: a row that ends the old key, one line later than the read, and
 * the read under its new key, or a row that ends this key as well. So readers see the one in place of the other in
 * the step of the attach.
 */
export function attachRekeyed(decision: Decision, attaches: string): Statement {
  const { rekeyed } = derivedOf(decision)
  return {
    sql: sql`INSERT INTO ${id(attaches)} (${readColumns}, is_rekeyed)
      SELECT meter_id, commodity, old_at, old_seconds, old_day, old_hour, quantity, account_number,
        external_site_id, version + 1, change, quality, yields, true
      FROM ${id(rekeyed)} WHERE is_moved
      UNION ALL
      SELECT ${readColumns}, false FROM ${id(rekeyed)} WHERE is_moved AND wins
      UNION ALL
      SELECT ${readColumns}, true FROM (SELECT * REPLACE(ended_by AS version) FROM ${id(rekeyed)} WHERE is_ended)`,
    settings: onceSettings(`rekeyed-${attaches}`),
  }
}
