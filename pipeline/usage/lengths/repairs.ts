import type { Counted } from '../../ledger/sums.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { id, sql } from '../../store/sql.js'
import { createReads, type Decision, derivedOf } from '../../store/staging.js'
import { arrivalOf, lineBounds, within } from '../../store/versions.js'
import type { Grid } from '../irregular-meters.js'
import type { LocalStart } from '../timestamps.js'

/** Rows of a meter on a day that must not stay as they are staged. */
export interface Repair {
  readonly meterId: string
  /** `YYYY-MM-DD`, as the file's grid has it. */
  readonly day: string
  /** The length that they really have, seconds; 0 takes them out. */
  readonly seconds: number
  /** Whether nothing proves that length. */
  readonly isGuessed: boolean
  /** Where they contradict the stored reads: how far apart they are, and the stored length; else 0. */
  readonly apart: number
  readonly stored: number
}

/** Where an interval starts, if its meter's length is another one than that of the file. */
export type Move = (startsAt: number, to: Pick<Repair, 'seconds' | 'isGuessed'>) => LocalStart

/** Makes room for the repairs of a file. */
export async function createRepairs(store: Store, decision: Decision): Promise<void> {
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(derivedOf(decision).repairs)}
      (meter_id String, day Date, seconds UInt32, guessed Bool, apart UInt32, stored UInt32)
      ENGINE = MergeTree ORDER BY (meter_id, day)`,
  })
}

/** Writes down which rows of a file are not as they are staged. */
export async function recordRepairs(
  store: Store,
  decision: Decision,
  repairs: readonly Repair[],
): Promise<void> {
  if (repairs.length === 0) return
  await store.insert(
    derivedOf(decision).repairs,
    repairs.map(({ meterId, isGuessed, ...repair }) => {
      return { meter_id: meterId, guessed: isGuessed, ...repair }
    }),
  )
}

/** Takes out all rows of a file. */
export async function refuseAll(store: Store, { grid, ...decision }: StagedFile): Promise<void> {
  const { whole, repairs } = derivedOf(decision)
  await store.command({
    sql: sql`INSERT INTO ${id(repairs)}
      SELECT DISTINCT meter_id, ${grid.day}, 0, false, 0, 0 FROM ${id(whole)}`,
  })
}

/** The staged rows of a file, and what they are laid on. */
export interface StagedFile extends Decision {
  readonly grid: Grid
}

/**
 * Copies `whole` into `fixed` with the lengths that `recordRepairs` wrote down, and without the
 * rows that are not usable. `move` is there where the start of an interval hangs on its
 * length.
 */
export async function repairMeters(
  store: Store,
  staged: StagedFile,
  move: Move | undefined,
): Promise<void> {
  const { grid } = staged
  const { whole, fixed, repairs, moves } = derivedOf(staged)
  await store.command(createReads(fixed, 'replace'))
  const lengths = sql`SELECT r.* REPLACE(if(m.meter_id = '', r.seconds, m.seconds) AS seconds), m.guessed AS guessed
      FROM ${id(whole)} AS r
      LEFT ANY JOIN ${id(repairs)} AS m ON m.meter_id = r.meter_id AND m.day = ${grid.day}
      WHERE m.meter_id = '' OR m.seconds != 0`
  if (move !== undefined) await recordMoves(store, staged, move)
  const moved = sql`SELECT l.* EXCEPT guessed REPLACE(
        if(m.seconds = 0, l.starts_at, m.moved_at) AS starts_at,
        if(m.seconds = 0, l.local_day, m.moved_day) AS local_day,
        if(m.seconds = 0, l.local_hour, m.moved_hour) AS local_hour)
      FROM (${lengths}) AS l
      LEFT ANY JOIN ${id(moves)} AS m
        ON m.starts_at = l.starts_at AND m.seconds = l.seconds AND m.guessed = l.guessed`
  await store.command({
    sql: sql`INSERT INTO ${id(fixed)} ${move === undefined ? sql`SELECT * EXCEPT guessed FROM (${lengths})` : moved}`,
    settings: { optimize_on_insert: 0 },
  })
}

/** Writes down where each different start of the meters in `repairs` moves. */
async function recordMoves(store: Store, staged: StagedFile, move: Move): Promise<void> {
  const { grid } = staged
  const { whole, repairs, moves } = derivedOf(staged)
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(moves)} (
        starts_at DateTime('UTC'), seconds UInt32, guessed Bool,
        moved_at DateTime('UTC'), moved_day Date, moved_hour UInt8
      ) ENGINE = MergeTree ORDER BY (seconds, starts_at)`,
  })
  const starts = await store.rows<{ starts: number; seconds: number; guessed: boolean }>({
    sql: sql`SELECT DISTINCT toUnixTimestamp(r.starts_at) AS starts, m.seconds AS seconds, m.guessed AS guessed
      FROM ${id(whole)} AS r INNER JOIN ${id(repairs)} AS m
        ON m.meter_id = r.meter_id AND m.day = ${grid.day}
      WHERE m.seconds != 0`,
  })
  const rows = starts.map(({ starts: from, seconds, guessed }) => {
    const { startsAt, localDay, localHour } = move(from, { seconds, isGuessed: guessed })
    return {
      starts_at: from,
      seconds,
      guessed,
      moved_at: startsAt,
      moved_day: localDay,
      moved_hour: localHour,
    }
  })
  if (rows.length > 0) await store.insert(moves, rows)
}

const unusable = ({ grid, ...decision }: StagedFile) => {
  const { whole, repairs } = derivedOf(decision)
  return sql`${id(whole)}
    WHERE (meter_id, ${grid.day}) IN (SELECT meter_id, day FROM ${id(repairs)} WHERE seconds = 0)`
}

/** Rows that are not usable because their length is not, and of how many meters they are. */
export interface Unusable extends Counted {
  readonly meters: number
}

/** Rows and energy whose length is not usable. */
export async function countUnusable(store: Store, staged: StagedFile): Promise<Unusable> {
  const [found] = await store.rows<Unusable>({
    sql: sql`SELECT count() AS rows, toString(sum(quantity)) AS quantity,
        uniqExact(meter_id) AS meters FROM ${unusable(staged)}`,
  })
  return {
    rows: Number(found?.rows ?? 0),
    quantity: found?.quantity ?? '0',
    meters: Number(found?.meters ?? 0),
  }
}

/** The arrivals of such rows of a group. */
export async function unusableArrivals(
  store: Store,
  staged: StagedFile,
): Promise<readonly number[]> {
  const rows = await store.rows<{ found: number }>({
    sql: sql`SELECT DISTINCT ${arrivalOf} AS found FROM ${unusable(staged)}`,
  })
  return rows.map(({ found }) => found)
}

/** Two times of a meter on a day that show why its rows are not usable, the earliest such pair. */
export interface Closest {
  /** Seconds; 0 where the meter has one time only. */
  readonly gap: number
  /** The last line of each. */
  readonly lines: readonly [number, number]
  /** The stored length that the rows contradict; 0 where none is. */
  readonly stored: number
}

/** What shows of each meter and day that its rows are not usable, by `meterDayKey`. */
export async function closestOfUnusable(
  store: Store,
  staged: StagedFile,
): Promise<ReadonlyMap<string, Closest>> {
  const { repairs } = derivedOf(staged)
  const rows = await store.rows<{
    meter_id: string
    place: string
    gap: number
    line: number
    next: number
    stored: number
  }>({
    sql: sql`WITH arrayPopFront(arrayDifference(times.1)) AS gaps,
        indexOf(gaps, if(has(gaps, apart), apart, arrayMin(gaps))) AS at
      SELECT t.meter_id AS meter_id, toString(t.place) AS place, toUInt32(gaps[at]) AS gap,
        toUInt32(times[at].2) AS line, toUInt32(times[at + 1].2) AS next, r.stored AS stored
      FROM (
        SELECT meter_id, place, arraySort(groupArray((start, line))) AS times
        FROM (
          SELECT meter_id, ${staged.grid.day} AS place, toUnixTimestamp(starts_at) AS start,
            bitAnd(max(version), 4294967295) AS line
          FROM ${unusable(staged)}
          GROUP BY meter_id, place, start
        )
        GROUP BY meter_id, place
      ) AS t
      INNER JOIN ${id(repairs)} AS r ON r.meter_id = t.meter_id AND r.day = t.place`,
  })
  return new Map(
    rows.map(({ meter_id, place, gap, line, next, stored }) => [
      meterDayKey(meter_id, place),
      { gap, lines: [line, next], stored },
    ]),
  )
}

/** One key of a meter and a day. */
export function meterDayKey(meterId: string, day: string): string {
  return `${day} ${meterId}`
}

/** Their lines and quantities among `lines` physical lines from `line` on, in no order. */
export function unusableLines(staged: StagedFile, line: number, lines: number): Statement {
  const bounds = lineBounds({ arrival: staged.arrival, line, lines })
  return {
    sql: sql`SELECT toUInt32(bitAnd(version, 4294967295)) AS line, meter_id,
        toString(${staged.grid.day}) AS place, toString(quantity) AS quantity
      FROM ${unusable(staged)} AND ${within(sql`version`, bounds)}`,
  }
}
