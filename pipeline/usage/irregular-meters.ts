import type { Manifest } from '../../schemas/manifest.js'
import { type Profile, timesOf } from '../../schemas/settings/profile.js'
import { isDayFormat } from '../../schemas/time/timestamp.js'
import { daySeconds } from '../../schemas/time/zone.js'
import type { Store } from '../store/clickhouse.js'
import { id, literal, type Sql, sql, typed } from '../store/sql.js'
import { type Decision, derivedOf, durable } from '../store/staging.js'
import { openLengths } from './lengths/provisional.js'

/** What the rows of a file are laid on. */
export interface Grid {
  /** The length that its sample showed. */
  readonly seconds: number
  readonly timeZone: string
  /** The local day of a staged row's interval, whatever its length turns out to be. */
  readonly day: Sql
  /** The same day of a row that has its length. */
  readonly settledDay: Sql
}

/** The grid of a file. A timestamp at the end of an interval belongs to the day just before it. */
export function gridOf(
  profile: Pick<Profile, 'timeZone' | 'usage'>,
  manifest: Pick<Manifest, 'seconds' | 'format' | 'times'>,
): Grid {
  const { timeZone } = profile
  const { seconds, format } = manifest
  const { stamp } = timesOf(profile, manifest)
  const atStart = stamp === 'start' || (format !== null && isDayFormat(format))
  const local = sql`local_day`
  if (atStart) return { seconds, timeZone, day: local, settledDay: local }
  const dayOf = (last: Sql) => sql`toDate(starts_at + ${last}, ${literal(timeZone)})`
  const settledDay = sql`if(seconds = ${literal(daySeconds)}, ${local}, ${dayOf(sql`seconds - 1`)})`
  return { seconds, timeZone, day: dayOf(literal(seconds - 1)), settledDay }
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
  /** Meters whose rows do not prove the length that the file's sample showed. */
  readonly irregularMeters: number
  /** Rows of those. */
  readonly irregularRows: number
  /** Meters of which stored reads may have a length that nothing proves. */
  readonly openMeters: number
}

/** A staging table that a decision looks at. */
export interface StagedTable extends Decision {
  readonly table: string
}

/**
 * Sums up a staging table by series in one pass. What its meters look like and which accounts it names
 * follows from the few rows of the result.
 */
export async function sumSeries(
  store: Store,
  staged: StagedTable,
  { seconds }: Grid,
): Promise<void> {
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(derivedOf(staged).series)}
      ENGINE = MergeTree ORDER BY tuple() SETTINGS ${durable} AS
      SELECT series, any(t.meter_id) AS meter_id, any(t.seconds) AS seconds, count() AS rows, sum(t.quantity) AS quantity,
        min(starts_at) AS first, max(starts_at) AS last,
        min(local_day) AS first_day, max(local_day) AS last_day, sum(${slotOf(seconds)}) AS slots
      FROM ${id(staged.table)} AS t GROUP BY series`,
  })
}

/**
 * Sums up what the meters of a staging table look like. A meter is regular where its rows
 * fill the time from its first to its last without a hole, stand on one grid, repeat nothing and fill
 * nine tenths of a local day: then the length is that of the sample, whatever is stored (decision 16).
 */
export async function totalShapes(
  store: Store,
  staged: StagedTable,
  grid: Grid,
): Promise<StagingTotals> {
  await sumSeries(store, staged, grid)
  const [row] = await store.rows<Record<string, string | number>>({
    sql: sql`SELECT toString(sum(meters * rows)) AS all_rows, toString(sum(total)) AS all_quantity,
        sum(meters) AS all_meters, toString(min(first_day)) AS from_day,
        toString(max(last_day)) AS to_day, toUnixTimestamp(min(first)) AS from_start,
        toUnixTimestamp(max(last)) AS to_start,
        sumIf(meters, ${irregular(grid)}) AS irregular_meters,
        sumIf(meters * rows, ${irregular(grid)}) AS irregular_rows,
        (SELECT uniqExact(meter_id) FROM (${openLengths(staged)})) AS open_meters
      FROM (
        SELECT ${shape}, count() AS meters, sum(quantity) AS total
        FROM (${meterShapes(staged)}) GROUP BY ${shape}
      )`,
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
    irregularMeters: Number(row?.['irregular_meters'] ?? 0),
    irregularRows: Number(row?.['irregular_rows'] ?? 0),
    openMeters: Number(row?.['open_meters'] ?? 0),
  }
}

function meterShapes(decision: Decision): Sql {
  return sql`SELECT meter_id, sum(s.rows) AS rows, sum(s.quantity) AS quantity,
      min(s.first) AS first, max(s.last) AS last,
      min(s.first_day) AS first_day, max(s.last_day) AS last_day, sum(s.slots) AS slots
    FROM ${id(derivedOf(decision).series)} AS s GROUP BY meter_id`
}

const shape = sql`rows, first, last, first_day, last_day, slots`

/**
 * The meters of the table that was summed up last that are not regular. Each different shape is judged
 * once: the slots that are expected of it are spelt out in memory.
 */
export function irregularMeters(decision: Decision, grid: Grid): Sql {
  const shapes = meterShapes(decision)
  return sql`SELECT meter_id FROM (${shapes}) WHERE (${shape}) IN (
      SELECT ${shape} FROM (SELECT DISTINCT ${shape} FROM (${shapes})) WHERE ${irregular(grid)})`
}

/** The sum of hashes differs for a row off the grid, or in place of a missing one, except once in 2^64. */
function irregular(grid: Grid): Sql {
  const { seconds } = grid
  const shapeless = sql`${spanOf(seconds)} != rows OR slots != ${expectedOf(seconds)}`
  return seconds === daySeconds ? shapeless : sql`NOT (${fillsDay(grid)}) OR ${shapeless}`
}

/** Whether rows without a hole between `first` and `last` fill nine tenths of a local day. */
function fillsDay(grid: Grid): Sql {
  const end = sql`toUnixTimestamp(last) + ${literal(grid.seconds)}`
  const [firstEnd, lastStart] = [startOf(sql`first_day + 1`, grid), startOf(sql`last_day`, grid)]
  return sql`last_day - first_day > 1
    OR (least(${end}, ${firstEnd}) - toUnixTimestamp(first)) * 10 >= 9 * ${daySecondsOf(sql`first_day`, grid)}
    OR (${end} - greatest(toUnixTimestamp(first), ${lastStart})) * 10 >= 9 * ${daySecondsOf(sql`last_day`, grid)}`
}

/** When a local day starts, epoch seconds. */
function startOf(day: Sql, { timeZone }: Grid): Sql {
  return sql`toUnixTimestamp(toDateTime(${day}, ${literal(timeZone)}))`
}

/** What a local day has: 23 to 25 hours, in seconds. */
export function daySecondsOf(day: Sql, grid: Grid): Sql {
  return sql`(${startOf(sql`${day} + 1`, grid)} - ${startOf(day, grid)})`
}

/** Days are counted by the calendar: a day of 23 hours is one like any other. */
function spanOf(seconds: number): Sql {
  return seconds === daySeconds
    ? sql`(last_day - first_day + 1)`
    : sql`(intDiv(last - first, ${typed('UInt32', seconds)}) + 1)`
}

function slotOf(seconds: number): Sql {
  return seconds === daySeconds
    ? sql`intHash64(toUInt64(local_day))`
    : sql`intHash64(toUInt64(toUnixTimestamp(starts_at)))`
}

function expectedOf(seconds: number): Sql {
  const slot =
    seconds === daySeconds
      ? sql`toUInt64(first_day) + i`
      : sql`toUInt64(toUnixTimestamp(first)) + i * ${typed('UInt32', seconds)}`
  const count = sql`if(${spanOf(seconds)} = rows, rows, 0)`
  return sql`arraySum(arrayMap(i -> intHash64(${slot}), range(${count})))`
}
