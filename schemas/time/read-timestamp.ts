import type { DateOrder } from './timestamp.js'
import { detectFormat, isDayFormat, parseTimeStamp, type TimeStampFormat } from './timestamp.js'
import { daySeconds, toDay, type Wall, wallSeconds, type Zone } from './zone.js'

/** How the timestamps of a file are to be read (decisions 13 to 15). */
export interface StampRules {
  readonly zone: Zone
  readonly dateOrder: DateOrder
  /** The one format of the file; undefined takes any. */
  readonly format: TimeStampFormat | undefined
  /** `wall`: the clock on the wall; `standard`: standard time all year. */
  readonly clock: 'wall' | 'standard'
  /** Whether a stamp says when its interval starts or when it ends. */
  readonly stamp: 'start' | 'end'
  /** Interval length, seconds; 86400 for local days. Matters for stamps at the end. */
  readonly seconds: number
}

/** Why a timestamp says nothing. */
export type StampFault = 'EMPTY' | 'NOT_A_TIME' | 'TIME_FORMAT' | 'NONEXISTENT_TIME'

/** What a timestamp of a file means: see `readStamp`. */
export type StampReader = (text: string) => readonly number[] | StampFault

/**
 * The instants at which the interval of a timestamp may start, epoch seconds: one, or in the hour
 * that the clock repeats two, daylight time first; else why there is none.
 */
export function readStamp(text: string, rules: StampRules): readonly number[] | StampFault {
  if (text === '') return 'EMPTY'
  const format = detectFormat(text)
  const parsed = format && parseTimeStamp(text, format, rules.dateOrder)
  if (format === undefined || parsed === undefined) return 'NOT_A_TIME'
  if (rules.format !== undefined && rules.format !== format) return 'TIME_FORMAT'
  const starts = isDayFormat(format)
    ? dayStarts(toDay(parsed.wall), rules.zone)
    : instantsOf(parsed, rules).map((instant) => startOf(instant, rules))
  if (starts.length === 0) return 'NONEXISTENT_TIME'
  return starts.every((start) => isStorable(start, rules.zone)) ? starts : 'NOT_A_TIME'
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
  rules: StampRules,
): readonly number[] {
  const { wall, offsetSeconds } = parsed
  if (offsetSeconds !== undefined) return [wallSeconds(wall) - offsetSeconds]
  if (rules.clock === 'standard') {
    return [wallSeconds(wall) - rules.zone.standardOffsetSeconds(wall.year)]
  }
  return rules.zone.toInstants(wall)
}

/** The stamp becomes an instant first, the interval is taken off then. */
function startOf(instant: number, { stamp, seconds, zone }: StampRules): number {
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
