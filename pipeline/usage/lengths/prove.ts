import { timesOf } from '../../../schemas/settings/profile.js'
import { intervalStart } from '../../../schemas/time/read-timestamp.js'
import { daySeconds, type Zone } from '../../../schemas/time/zone.js'
import type { PipelineContext } from '../../context.js'
import type { FileState } from '../../ledger/file-state.js'
import type { Store } from '../../store/clickhouse.js'
import { type Sql, sql } from '../../store/sql.js'
import { toLength } from '../sample.js'
import { timestampsOf } from './guessed.js'
import { fills, firstAfter, fits, type KnownLength, nearest } from './judge.js'

/** Reads of a meter that have one length on a local day, from one file or from several. */
export interface ReadSeries extends KnownLength {
  readonly meterId: string
  /** Epoch seconds ascending: all of them, the first one of stored reads that were proved, or none of provisional ones. */
  readonly starts: readonly number[]
}

/** Stored reads of a length that nothing has proved, of one arrival. */
export interface OpenReads extends ReadSeries {
  readonly arrival: number
}

/**
 * The days of a meter on which its rows in a file prove a length: they fill the day, three are in succession,
 * or they fill it together with `open`, stored reads whose length nothing has proved.
 */
export function provedDays(
  series: readonly ReadSeries[],
  open: readonly OpenReads[],
  { zone, atEnd }: ProveRules,
): readonly ReadSeries[] {
  const lengths = [...new Set(series.map(({ seconds }) => seconds))]
  return lengths.flatMap((seconds) => {
    const own = series.filter((one) => one.seconds === seconds)
    const inRun = daysInSuccession(own, seconds)
    return own.filter(({ day, starts }) => {
      if (inRun.has(day)) return true
      const opened = open.filter((one) => one.day === day)
      const guessed = opened.flatMap((one) =>
        atEnd(one.arrival)
          ? timestampsOf(one, true, zone).map((at) => intervalStart(at, seconds, zone))
          : one.starts,
      )
      return seconds !== daySeconds && fills([...starts, ...guessed], seconds, zone.daySeconds(day))
    })
  })
}

interface ProveRules {
  readonly zone: Zone
  /** Whether the timestamps of an arrival are at the end of the interval. */
  readonly atEnd: (arrival: number) => boolean
}

/** The days that provisional reads of a meter fill together, each with the length at which they do. */
export function filledDays(
  open: readonly OpenReads[],
  rules: ProveRules & { readonly allowed: (arrival: number) => readonly number[] },
): readonly ReadSeries[] {
  const { zone, atEnd, allowed } = rules
  return [...new Set(open.map(({ day }) => day))].flatMap((day) => {
    const ofDay = open.filter((one) => one.day === day)
    const [{ meterId, arrival }] = ofDay as [OpenReads, ...OpenReads[]]
    const times = ofDay.flatMap((one) => timestampsOf(one, atEnd(one.arrival), zone))
    const seconds = allowed(arrival).find(
      (length) => length !== daySeconds && fills(times, length, zone.daySeconds(day)),
    )
    return seconds === undefined ? [] : [{ meterId, day, seconds, starts: [] }]
  })
}

function daysInSuccession(series: readonly ReadSeries[], seconds: number): ReadonlySet<string> {
  const rows = series.flatMap(({ day, starts }) => starts.map((start) => ({ day, start })))
  rows.sort((one, other) => one.start - other.start)
  const gapAt = (at: number) => {
    const gap = (rows[at + 1]?.start ?? Number.NaN) - (rows[at]?.start ?? 0)
    return seconds === daySeconds ? toLength(gap) : gap
  }
  const days = rows.flatMap((_, at) =>
    gapAt(at) === seconds && gapAt(at + 1) === seconds ? rows.slice(at, at + 3) : [],
  )
  return new Set(days.map(({ day }) => day))
}

/** A series whose length is known now: another one, or the one that it has. */
export interface Proved {
  readonly series: OpenReads
  readonly seconds: number
}

/**
 * What the length of a meter's provisional reads is: the one that is known on their day, on the nearest day
 * before it or else after it. Reads of a day that do not fit it stay as they are.
 */
export function proveOpen(
  open: readonly OpenReads[],
  known: readonly ReadSeries[],
  { zone, atEnd }: ProveRules,
): readonly Proved[] {
  return open.flatMap((series) => {
    const { day } = series
    const seconds = nearest(known, day) ?? firstAfter(known, day)
    if (seconds === undefined) return []
    const own = open
      .filter((one) => one.day === day)
      .flatMap((one) => timestampsOf(one, atEnd(one.arrival), zone))
    // A day has one read, whatever its time.
    const others = known.filter(
      (one) => one.day === day && one.seconds === seconds && seconds !== daySeconds,
    )
    const times = others.flatMap(({ starts }) =>
      atEnd(series.arrival) ? starts.map((start) => start + seconds) : starts,
    )
    const distinct = [...new Set([...own, ...times])].sort((one, other) => one - other)
    return fits(distinct, seconds) ? [{ series, seconds }] : []
  })
}

/** The reads of a table by meter, day and length, and by arrival where they are asked for so. */
export async function seriesOf<T extends ReadSeries>(
  store: Store,
  { of, arrival = sql`0` }: { readonly of: Sql; readonly arrival?: Sql },
): Promise<Map<string, T[]>> {
  const rows = await store.rows<T>({
    sql: sql`SELECT meter_id AS meterId, toString(local_day) AS day, seconds, ${arrival} AS arrival,
        arraySort(groupUniqArray(toUnixTimestamp(starts_at))) AS starts
      FROM ${of} GROUP BY meterId, day, seconds, arrival ORDER BY meterId, day`,
  })
  const meters = new Map<string, T[]>()
  for (const row of rows) {
    const known = meters.get(row.meterId)
    if (known === undefined) meters.set(row.meterId, [row])
    else known.push(row)
  }
  return meters
}

/** Which arrivals of stored reads have their timestamps at the end; of unknown ones as the file has. */
export async function stampedAtEnd(
  { profile, ledger }: PipelineContext,
  { manifest }: Pick<FileState, 'manifest'>,
  open: readonly OpenReads[],
): Promise<ProveRules['atEnd']> {
  const states = await ledger.states([...new Set(open.map(({ arrival }) => arrival))])
  const manifests = new Map(states.map((one) => [one.arrival, one.manifest]))
  return (arrival) => timesOf(profile, manifests.get(arrival) ?? manifest).stamp === 'end'
}
