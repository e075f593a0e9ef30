import { daySeconds } from '../../schemas/zone.js'
import type { Store } from './clickhouse.js'
import { stagingOf } from './staging.js'

/** What the reads of one meter in a file look like. */
export interface OddMeter {
  readonly meterId: string
  /** Smallest gap between two different starts, seconds; 0 where there is one start only. */
  readonly gap: number
}

/** What a staging table holds as a whole. Quantities are decimal strings, as sent. */
export interface StagingTotals {
  readonly rows: number
  readonly quantity: string
  readonly meters: number
  readonly firstDay: string
  readonly lastDay: string
  /** Epoch seconds. */
  readonly firstIntervalStart: number
  readonly lastIntervalStart: number
  /** Meters whose rows do not follow each other at the length that the file's sample showed. */
  readonly oddMeters: number
}

/**
 * One pass over staging. A meter is regular where its rows fill the time from its first to its
 * last without a hole and stand on one grid: then the smallest gap is `seconds`, and nothing else
 * need be looked at.
 */
export async function totalStaging(
  store: Store,
  table: string,
  seconds: number,
): Promise<StagingTotals> {
  const [row] = await store.rows<Record<string, string | number>>({
    sql: `SELECT toString(sum(rows)) AS all_rows, toString(sum(quantity)) AS all_quantity,
        count() AS meters, toString(min(first_day)) AS from_day, toString(max(last_day)) AS to_day,
        toUnixTimestamp(min(first)) AS from_start, toUnixTimestamp(max(last)) AS to_start,
        countIf(${irregular(seconds)}) AS odd
      FROM (${meterShapes(table, seconds)})`,
    parameters: { seconds },
  })
  const rows = Number(row?.['all_rows'] ?? 0)
  return {
    rows,
    quantity: rows === 0 ? '0' : String(row?.['all_quantity']),
    meters: Number(row?.['meters'] ?? 0),
    firstDay: String(row?.['from_day']),
    lastDay: String(row?.['to_day']),
    firstIntervalStart: Number(row?.['from_start'] ?? 0),
    lastIntervalStart: Number(row?.['to_start'] ?? 0),
    oddMeters: Number(row?.['odd'] ?? 0),
  }
}

function meterShapes(table: string, seconds: number): string {
  return `SELECT meter_id, count() AS rows, sum(quantity) AS quantity,
      min(starts_at) AS first, max(starts_at) AS last,
      min(local_day) AS first_day, max(local_day) AS last_day,
      min(${gridOf(seconds)}) AS low, max(${gridOf(seconds)}) AS high
    FROM ${table} GROUP BY meter_id`
}

function irregular(seconds: number): string {
  return `rows = 1 OR low != high OR ${spanOf(seconds)} != rows`
}

/** Days are counted by the calendar: a day of 23 hours is one like any other. */
function spanOf(seconds: number): string {
  return seconds === daySeconds
    ? '(last_day - first_day + 1)'
    : '(intDiv(last - first, {seconds:UInt32}) + 1)'
}

function gridOf(seconds: number): string {
  return seconds === daySeconds ? '0' : 'toUnixTimestamp(starts_at) % {seconds:UInt32}'
}

/**
 * The meters whose smallest gap is another than `seconds`. Looked at are those that are not regular
 * and, where keys repeat, those with a repeated key: a repeated row may stand in for a missing one.
 */
export async function oddMeters(
  store: Store,
  table: string,
  wanted: { readonly seconds: number; readonly repeats: boolean },
): Promise<readonly OddMeter[]> {
  const { seconds, repeats } = wanted
  const rows = await store.rows<{ meter_id: string; gap: number }>({
    sql: `SELECT meter_id,
        toUInt32(arrayMin(arrayPopFront(arrayDifference(starts)))) AS gap
      FROM (
        SELECT meter_id, arraySort(groupUniqArray(toUnixTimestamp(starts_at))) AS starts
        FROM ${table}
        WHERE meter_id IN (
          SELECT meter_id FROM (${meterShapes(table, seconds)}) WHERE ${irregular(seconds)}
          ${repeats ? `UNION DISTINCT ${metersRepeating(table)}` : ''}
        )
        GROUP BY meter_id
      )
      WHERE gap != {seconds:UInt32}`,
    parameters: { seconds },
  })
  return rows.map((row) => ({ meterId: row.meter_id, gap: row.gap }))
}

function metersRepeating(table: string): string {
  return `SELECT DISTINCT meter_id FROM (
      SELECT meter_id FROM ${table}
      GROUP BY local_day, meter_id, starts_at, seconds HAVING count() > 1
      SETTINGS optimize_aggregation_in_order = 1
    )`
}

/** Where the last interval of one length starts. */
export interface LastStart {
  /** Epoch seconds. */
  readonly lastIntervalStart: number
  readonly lastDay: string
}

/** The last start of each length that stands in a staging table. */
export async function lastStarts(
  store: Store,
  table: string,
): Promise<readonly (LastStart & { readonly seconds: number })[]> {
  const rows = await store.rows<{ seconds: number; start: number; day: string }>({
    sql: `SELECT seconds, toUnixTimestamp(max(starts_at)) AS start, toString(max(local_day)) AS day
      FROM ${table} GROUP BY seconds`,
  })
  return rows.map(({ seconds, start, day }) => ({
    seconds,
    lastIntervalStart: start,
    lastDay: day,
  }))
}

/** The interval length that is stored for meters, from their latest days in the store. */
export async function storedLengths(
  store: Store,
  arrival: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await store.rows<{ meter_id: string; seconds: number }>({
    sql: `SELECT meter_id, argMin(seconds, (-toInt64(toUnixTimestamp(starts_at)), seconds)) AS seconds
      FROM usage_current
      WHERE arrival != {arrival:UInt32}
        AND meter_id IN (
          SELECT meter_id FROM ${stagingOf(arrival).reads} GROUP BY meter_id HAVING uniqExact(starts_at) = 1
        )
      GROUP BY meter_id`,
    parameters: { arrival },
  })
  return new Map(rows.map((row) => [row.meter_id, row.seconds]))
}
