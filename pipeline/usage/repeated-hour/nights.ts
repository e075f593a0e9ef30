import { addDays, fromWallSeconds, toDay, type Zone } from '../../../schemas/time/zone.js'
import type { Store } from '../../store/clickhouse.js'
import { id, literal, type Sql, sql, typed } from '../../store/sql.js'
import { type Decision, derivedOf, stagingOf } from '../../store/staging.js'
import { onServerOf } from '../../whole.js'
import { isAmong } from '../lengths/suspects.js'
import type { AutumnChange, NightRow } from './rule.js'

/** The staged rows of a file, and how the instant of a timestamp follows from the start of a read. */
export interface StagedHour extends Decision {
  /** The arrival that the file repairs, and is judged as. */
  readonly repairs: number | undefined
  readonly zone: Zone
  readonly stamp: 'start' | 'end'
  /** The length that the rows are staged with, seconds. */
  readonly seconds: number
  /** The longest length that a meter may have, seconds. */
  readonly longest: number
}

/** The clock changes in whose repeated hour a file has timestamps. */
export async function changesOf(
  store: Store,
  { zone, stamp, seconds, ...decision }: StagedHour,
): Promise<readonly AutumnChange[]> {
  const { timestamps } = stagingOf(decision.arrival)
  const { hour } = derivedOf(decision)
  const found = await store.rows<{ first: number; second: number }>({
    sql: sql`SELECT DISTINCT starts_at AS first, second_at AS second
      FROM ${id(timestamps)} WHERE second_at != 0 AND ${onServerOf(hour)} ORDER BY first`,
  })
  const toInstant = stamp === 'end' ? seconds : 0
  const changes = new Map<number, AutumnChange>()
  for (const { first, second } of found) {
    const at = zone.changeWithin(first + toInstant, second + toInstant)
    changes.set(at, { at, span: second - first })
  }
  return [...changes.values()]
}

/** The rows of one meter near a clock change, in the order of the file. */
export interface MeterNight {
  readonly meterId: string
  readonly rows: readonly NightRow[]
}

/** Which nights are looked at. */
export interface NightSearch {
  readonly change: AutumnChange
  /** Those too of which the order of the file decides. */
  readonly all: boolean
  /** One of several parts of the meters. */
  readonly batch: number
  readonly batches: number
}

/** Rows of a meter near a clock change: in 6 hours there are 360 minutes. A meter with more is not looked at. */
const rowsMax = 10_000
/** Rows this near show the order of a file, seconds. */
const nearMin = 3 * 3_600

const kinds = ['outside', 'repeated', 'held'] as const satisfies readonly NightRow['kind'][]

/**
 * The meters that have rows in the repeated hour. Those whose rows have every timestamp twice, the newest
 * last, need no more than the order of the file.
 */
export async function findNights(
  store: Store,
  staged: StagedHour,
  { change, all, batch, batches }: NightSearch,
): Promise<readonly MeterNight[]> {
  const { whole, hour, held } = derivedOf(staged)
  const at = instantSql(staged, sql`${staged.seconds}`)
  const of = sql`cityHash64(meter_id) % ${literal(batches)} = ${literal(batch)}`
  const isRepeated = sql`${of} AND at >= ${change.at - change.span} AND at < ${change.at}`
  const near = nearOf(change, staged)
  const twice = sql`arrayAll((one, before, after) -> one IN (before, after),
      times, arrayShiftRight(times, 1), arrayShiftLeft(times, 1))`
  const rows = await store.rows<{
    meter_id: string
    found: readonly [string, number, number, string][]
  }>({
    sql: sql`WITH arraySort(groupArray((version, at, kind, print))) AS ordered,
        arraySort(arrayFilter((one, of) -> of != 0, ordered.2, ordered.3)) AS times,
        arraySum(step -> sign(step), arrayDifference(arrayMap(one -> toInt64(one), ordered.2))) AS direction
      SELECT meter_id,
        arrayMap(row -> (toString(row.1), row.2, row.3, toString(row.4)), ordered) AS found
      FROM (
        SELECT meter_id, version, ${at} AS at, 1 AS kind, ${print} AS print
          FROM ${id(hour)} WHERE ${isRepeated}
        UNION ALL
        SELECT DISTINCT meter_id, version, ${at} AS at, 2, 0 FROM ${id(held)} WHERE ${isRepeated}
        UNION ALL
        SELECT meter_id, version, ${at} AS at, 0, 0 FROM ${id(whole)}
          WHERE ${of} AND ${isNear(near)} AND (at < ${change.at - change.span} OR at >= ${change.at + change.span})
            AND meter_id IN (SELECT meter_id FROM ${id(hour)})
      )
      GROUP BY meter_id
      HAVING count() <= ${rowsMax} AND (${all} OR NOT ${twice} OR direction < 0)
      ORDER BY meter_id`,
  })
  return rows.map(({ meter_id, found }) => ({
    meterId: meter_id,
    rows: found.map(([version, at, kind, print]) => ({
      version,
      at,
      kind: kinds[kind] as NightRow['kind'],
      print,
    })),
  }))
}

/** Equal where a read and a row say the same. */
const print = sql`cityHash64(quantity, account_number, external_site_id)`

/** The instant of the timestamp of an interval, epoch seconds. */
function instantSql({ stamp }: StagedHour, seconds: Sql): Sql {
  return stamp === 'start'
    ? sql`toUnixTimestamp(starts_at)`
    : sql`toUInt32(toUnixTimestamp(starts_at) + ${seconds})`
}

interface Near {
  /** Epoch seconds; the second is not part of it. */
  readonly from: number
  readonly to: number
}

/** How far around a clock change rows and reads are looked at. */
function nearOf({ at, span }: AutumnChange, { longest }: StagedHour): Near {
  const near = span + Math.max(nearMin, longest + span)
  return { from: at - near, to: at + near }
}

/** The condition on the column `at`, and for the engine's sake on the local day, which is near that of UTC. */
function isNear({ from, to }: Near): Sql {
  const [first, last] = [from, to].map((at) => toDay(fromWallSeconds(at))) as [string, string]
  return sql`local_day BETWEEN ${typed('Date', addDays(first, -2))} AND ${typed('Date', addDays(last, 2))}
    AND at >= ${from} AND at < ${to}`
}

/** A read that another delivery has stored. */
export interface StoredRead {
  /** The instant of its timestamp, epoch seconds. */
  readonly at: number
  readonly seconds: number
  readonly print: string
  /** Whether the delivery came before the file. */
  readonly isEarlier: boolean
}

/**
 * What other deliveries have stored near a clock change of the meters that `withNamed` wrote down. For a
 * repair it is what they had stored before the arrival that it repairs, whatever replaced it since.
 */
export async function storedNights(
  store: Store,
  staged: StagedHour,
  { change, named }: { readonly change: AutumnChange; readonly named: string },
): Promise<ReadonlyMap<string, readonly StoredRead[]>> {
  const { arrival, repairs } = staged
  const isStaged = isAmong(named)
  const replaced = sql`(SELECT meter_id, starts_at, seconds FROM restatement
    WHERE ${isStaged} AND bitShiftRight(old_version, 32) < ${repairs ?? 0})`
  const isOther =
    repairs === undefined
      ? sql`arrival != ${arrival}`
      : sql`(arrival < ${repairs} OR (meter_id, starts_at, seconds) IN ${replaced})`
  const isEarlier = repairs === undefined ? sql`arrival < ${arrival}` : sql`true`
  const rows = await store.rows<{
    meter_id: string
    found: readonly [number, number, string, boolean][]
  }>({
    sql: sql`SELECT meter_id, groupArray((at, seconds, toString(${print}), ${isEarlier})) AS found
      FROM (SELECT *, ${instantSql(staged, sql`seconds`)} AS at FROM usage_current)
      WHERE ${isNear(nearOf(change, staged))} AND ${isOther} AND ${isStaged}
      GROUP BY meter_id`,
  })
  return new Map(
    rows.map(({ meter_id, found }) => [
      meter_id,
      found.map(([at, seconds, print, isEarlier]) => ({
        at,
        seconds,
        print,
        isEarlier: Boolean(isEarlier),
      })),
    ]),
  )
}
