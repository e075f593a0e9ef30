import type { DateOrder } from './timestamp.js'
import { detectFormat, isDayFormat, parseTimestamp, type TimestampFormat } from './timestamp.js'
import { daySeconds, toDay, type Wall, wallSeconds, type Zone } from './zone.js'

/** How the timestamps of a file are to be read (decisions 13 to 15). */
export interface TimestampRules {
  readonly zone: Zone
  readonly dateOrder: DateOrder
  /** The one format of the file; undefined takes any. */
  readonly format: TimestampFormat | undefined
  /** `wall`: the clock on the wall; `standard`: standard time all year. */
  readonly clock: 'wall' | 'standard'
  /** Whether a timestamp says when its interval starts or when it ends. */
  readonly stamp: 'start' | 'end'
  /** Interval length, seconds; 86400 for local days. Matters for timestamps at the end. */
  readonly seconds: number
  /** The last instant at which an interval may start, epoch seconds; undefined allows any. */
  readonly startsMax?: number | undefined
}

/** Why a timestamp says nothing. */
export type TimestampFault =
  | 'EMPTY'
  | 'NOT_A_TIME'
  | 'TIME_FORMAT'
  | 'NONEXISTENT_TIME'
  | 'FUTURE_TIME'

/** What a timestamp of a file means: see `readTimestamp`. */
export type TimestampReader = (text: string) => readonly number[] | TimestampFault

/**
 * The instants at which the interval of a timestamp may start, epoch seconds: one, or in the hour
 * that the clock repeats two, daylight time first; else why there is none.
 */
export function readTimestamp(
  text: string,
  rules: TimestampRules,
): readonly number[] | TimestampFault {
  if (text === '') return 'EMPTY'
  const format = detectFormat(text)
  const parsed = format && parseTimestamp(text, format, rules.dateOrder)
  if (format === undefined || parsed === undefined) return 'NOT_A_TIME'
  if (rules.format !== undefined && rules.format !== format) return 'TIME_FORMAT'
  const starts = isDayFormat(format)
    ? dayStarts(toDay(parsed.wall), rules.zone)
    : instantsOf(parsed, rules).map((instant) => startOf(instant, rules))
  if (starts.length === 0) return 'NONEXISTENT_TIME'
  if (!starts.every((start) => isStorable(start, rules.zone))) return 'NOT_A_TIME'
  const { startsMax = Number.POSITIVE_INFINITY } = rules
  return starts.some((start) => start <= startsMax) ? starts : 'FUTURE_TIME'
}

/** The store holds neither instants nor local days before 1970. */
function isStorable(start: number, zone: Zone): boolean {
  return start > 0 && zone.toWall(start).year >= 1970
}

/** None for a day that the zone skipped whole. */
function dayStarts(day: string, zone: Zone): readonly number[] {
  return zone.daySeconds(day) === 0 ? [] : [zone.dayStart(day)]
}

function instantsOf(
  parsed: { readonly wall: Wall; readonly offsetSeconds?: number },
  rules: TimestampRules,
): readonly number[] {
  const { wall, offsetSeconds } = parsed
  if (offsetSeconds !== undefined) return [wallSeconds(wall) - offsetSeconds]
  if (rules.clock === 'standard') {
    return [wallSeconds(wall) - rules.zone.standardOffsetSeconds(wall.year)]
  }
  return rules.zone.toInstants(wall)
}

/** The timestamp becomes an instant first; then the interval is subtracted. */
function startOf(instant: number, { stamp, seconds, zone }: TimestampRules): number {
  return stamp === 'start' ? instant : intervalStart(instant, seconds, zone)
}

/** When the interval starts that ends at an instant, epoch seconds; a local day is a whole one. */
export function intervalStart(end: number, seconds: number, zone: Zone): number {
  if (seconds !== daySeconds) return end - seconds
  return zone.dayStart(toDay(zone.toWall(end - 1)))
}

/** When the interval ends that starts at an instant; a day ends with its local day. */
export function intervalEnd(start: number, seconds: number, zone: Zone): number {
  if (seconds !== daySeconds) return start + seconds
  const day = toDay(zone.toWall(start))
  return zone.dayStart(day) + zone.daySeconds(day)
}
