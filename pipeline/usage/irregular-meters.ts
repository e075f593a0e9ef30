import { daySeconds } from '../../schemas/time/zone.js'
import type { Statement, Store } from '../store/clickhouse.js'

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
  /** Rows of those. */
  readonly oddRows: number
}

/**
 * One pass over staging that sums up what its meters look like. A meter is regular where its rows
 * fill the time from its first to its last without a hole, stand on one grid and repeat nothing:
 * then the smallest gap is `seconds`, and nothing else need be looked at.
 */
export async function totalShapes(
  store: Store,
  table: string,
  seconds: number,
): Promise<StagingTotals> {
  const [row] = await store.rows<Record<string, string | number>>({
    sql: `SELECT toString(sum(meters * rows)) AS all_rows, toString(sum(energy)) AS all_quantity,
        sum(meters) AS all_meters, toString(min(first_day)) AS from_day,
        toString(max(last_day)) AS to_day, toUnixTimestamp(min(first)) AS from_start,
        toUnixTimestamp(max(last)) AS to_start,
        sumIf(meters, ${irregular(seconds)}) AS odd, sumIf(meters * rows, ${irregular(seconds)}) AS odd_rows
      FROM (
        SELECT ${shape}, count() AS meters, sum(quantity) AS energy
        FROM (${meterShapes(table, seconds)}) GROUP BY ${shape}
      )`,
    parameters: { seconds },
  })
  const rows = Number(row?.['all_rows'] ?? 0)
  return {
    rows,
    quantity: rows === 0 ? '0' : String(row?.['all_quantity']),
    meters: Number(row?.['all_meters'] ?? 0),
    firstDay: String(row?.['from_day']),
    lastDay: String(row?.['to_day']),
    firstIntervalStart: Number(row?.['from_start'] ?? 0),
    lastIntervalStart: Number(row?.['to_start'] ?? 0),
    oddMeters: Number(row?.['odd'] ?? 0),
    oddRows: Number(row?.['odd_rows'] ?? 0),
  }
}

function meterShapes(table: string, seconds: number): string {
  return `SELECT meter_id, count() AS rows, sum(t.quantity) AS quantity,
      min(starts_at) AS first, max(starts_at) AS last,
      min(local_day) AS first_day, max(local_day) AS last_day,
      sum(${slotOf(seconds)}) AS slots
    FROM ${table} AS t GROUP BY meter_id`
}

const shape = 'rows, first, last, first_day, last_day, slots'

/**
 * The meters that are not regular, of which `oddMeters` counts. Each different shape is judged once:
 * the slots that are expected of it are spelt out in memory.
 */
export function irregularMeters(table: string, seconds: number): Statement {
  const shapes = meterShapes(table, seconds)
  return {
    sql: `SELECT meter_id FROM (${shapes}) WHERE (${shape}) IN (
      SELECT ${shape} FROM (SELECT DISTINCT ${shape} FROM (${shapes})) WHERE ${irregular(seconds)})`,
    parameters: { seconds },
  }
}

/** The sum of hashes tells a row off the grid, or in place of a missing one, but once in 2^64. */
function irregular(seconds: number): string {
  return `rows = 1 OR ${spanOf(seconds)} != rows OR slots != ${expectedOf(seconds)}`
}

/** Days are counted by the calendar: a day of 23 hours is one like any other. */
function spanOf(seconds: number): string {
  return seconds === daySeconds
    ? '(last_day - first_day + 1)'
    : '(intDiv(last - first, {seconds:UInt32}) + 1)'
}

function slotOf(seconds: number): string {
  return seconds === daySeconds
    ? 'intHash64(toUInt64(local_day))'
    : 'intHash64(toUInt64(toUnixTimestamp(starts_at)))'
}

function expectedOf(seconds: number): string {
  const slot =
    seconds === daySeconds
      ? 'toUInt64(first_day) + i'
      : 'toUInt64(toUnixTimestamp(first)) + i * {seconds:UInt32}'
  const count = `if(${spanOf(seconds)} = rows, rows, 0)`
  return `arraySum(arrayMap(i -> intHash64(${slot}), range(${count})))`
}
