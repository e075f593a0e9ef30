import type { Statement, Store } from '../store/clickhouse.js'
import { id, sql } from '../store/sql.js'
import { createReads, lineBounds, stagingOf, within } from '../store/staging.js'
import type { Counted } from './overlap.js'
import type { LocalStart } from './timestamps.js'

/** A meter that the staged rows must not keep as they are. */
export interface MeterRepair {
  readonly meterId: string
  /** The length that its reads really have, seconds; 0 takes its rows out. */
  readonly seconds: number
}

/** Where an interval starts, if its meter's length is `seconds` and not the one of the file. */
export type Move = (startsAt: number, seconds: number) => LocalStart

/** Writes down which meters of a file are not as they are staged. */
export async function recordRepairs(
  store: Store,
  arrival: number,
  repairs: readonly MeterRepair[],
): Promise<void> {
  const { repairs: table } = stagingOf(arrival)
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(table)} (meter_id String, seconds UInt32)
      ENGINE = MergeTree ORDER BY meter_id`,
  })
  await store.insert(
    table,
    repairs.map(({ meterId, seconds }) => ({ meter_id: meterId, seconds })),
  )
}

/**
 * Copies `reads` into `fixed` with the lengths that `recordRepairs` wrote down, and without the
 * meters whose rows are not usable. `move` is there where the start of an interval hangs on its
 * length.
 */
export async function repairMeters(
  store: Store,
  arrival: number,
  move: Move | undefined,
): Promise<void> {
  const { reads, fixed, repairs, moves } = stagingOf(arrival)
  await store.command(createReads(fixed, 'replace'))
  const lengths = sql`SELECT r.* REPLACE(if(m.meter_id = '', r.seconds, m.seconds) AS seconds)
      FROM ${id(reads)} AS r LEFT ANY JOIN ${id(repairs)} AS m ON m.meter_id = r.meter_id
      WHERE m.meter_id = '' OR m.seconds != 0`
  if (move !== undefined) await recordMoves(store, arrival, move)
  const moved = sql`SELECT l.* REPLACE(
        if(m.seconds = 0, l.starts_at, m.moved_at) AS starts_at,
        if(m.seconds = 0, l.local_day, m.moved_day) AS local_day,
        if(m.seconds = 0, l.local_hour, m.moved_hour) AS local_hour)
      FROM (${lengths}) AS l
      LEFT ANY JOIN ${id(moves)} AS m ON m.starts_at = l.starts_at AND m.seconds = l.seconds`
  await store.command({
    sql: sql`INSERT INTO ${id(fixed)} ${move === undefined ? lengths : moved}`,
    settings: { optimize_on_insert: 0 },
  })
}

/** Writes down where each different start of the meters in `repairs` moves. */
async function recordMoves(store: Store, arrival: number, move: Move): Promise<void> {
  const { reads, repairs, moves } = stagingOf(arrival)
  await store.command({
    sql: sql`CREATE OR REPLACE TABLE ${id(moves)} (
        starts_at DateTime('UTC'), seconds UInt32,
        moved_at DateTime('UTC'), moved_day Date, moved_hour UInt8
      ) ENGINE = MergeTree ORDER BY (seconds, starts_at)`,
  })
  const starts = await store.rows<{ starts: number; seconds: number }>({
    sql: sql`SELECT DISTINCT toUnixTimestamp(r.starts_at) AS starts, m.seconds AS seconds
      FROM ${id(reads)} AS r INNER JOIN ${id(repairs)} AS m ON m.meter_id = r.meter_id
      WHERE m.seconds != 0`,
  })
  const rows = starts.map(({ starts: from, seconds }) => {
    const { startsAt, localDay, localHour } = move(from, seconds)
    return {
      starts_at: from,
      seconds,
      moved_at: startsAt,
      moved_day: localDay,
      moved_hour: localHour,
    }
  })
  if (rows.length > 0) await store.insert(moves, rows)
}

const unusable = (arrival: number) => {
  const { reads, repairs } = stagingOf(arrival)
  return sql`${id(reads)}
    WHERE meter_id IN (SELECT meter_id FROM ${id(repairs)} WHERE seconds = 0)`
}

/** Rows that are not usable because their meters are not, and how many meters that are. */
export interface Unusable extends Counted {
  readonly meters: number
}

/** Rows and energy of the meters whose rows are not usable. */
export async function countUnusable(store: Store, arrival: number): Promise<Unusable> {
  const [found] = await store.rows<Unusable>({
    sql: sql`SELECT count() AS rows, toString(sum(quantity)) AS quantity,
        uniqExact(meter_id) AS meters FROM ${unusable(arrival)}`,
  })
  return {
    rows: Number(found?.rows ?? 0),
    quantity: found?.quantity ?? '0',
    meters: Number(found?.meters ?? 0),
  }
}

/** The closest two times of a meter, the earliest such pair. */
export interface Closest {
  /** Seconds; 0 where the meter has one time only. */
  readonly gap: number
  /** The last line of each. */
  readonly lines: readonly [number, number]
}

/** What shows of each meter that its rows are not usable. */
export async function closestOfUnusable(
  store: Store,
  arrival: number,
): Promise<ReadonlyMap<string, Closest>> {
  const rows = await store.rows<{ meter_id: string; gap: number; line: number; next: number }>({
    sql: sql`WITH arrayPopFront(arrayDifference(times.1)) AS gaps, indexOf(gaps, arrayMin(gaps)) AS at
      SELECT meter_id, toUInt32(arrayMin(gaps)) AS gap,
        toUInt32(times[at].2) AS line, toUInt32(times[at + 1].2) AS next
      FROM (
        SELECT meter_id, arraySort(groupArray((start, line))) AS times
        FROM (
          SELECT meter_id, toUnixTimestamp(starts_at) AS start,
            bitAnd(max(version), 4294967295) AS line
          FROM ${unusable(arrival)}
          GROUP BY meter_id, start
        )
        GROUP BY meter_id
      )`,
  })
  return new Map(
    rows.map(({ meter_id, gap, line, next }) => [meter_id, { gap, lines: [line, next] }]),
  )
}

/** Their lines and quantities among `lines` physical lines from `line` on, in no order. */
export function unusableLines(arrival: number, line: number, lines: number): Statement {
  return {
    sql: sql`SELECT toUInt32(bitAnd(version, 4294967295)) AS line, meter_id,
        toString(quantity) AS quantity
      FROM ${unusable(arrival)} AND ${within(sql`version`, lineBounds(arrival, line, lines))}`,
  }
}
