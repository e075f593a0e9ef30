import { daySeconds, type Zone } from '../../../schemas/time/zone.js'
import { toLength } from '../sample.js'
import { timestampsOf } from './guessed.js'

/** The rows that a meter has in a file on one local day. */
export interface MeterDay {
  /** `YYYY-MM-DD`. */
  readonly day: string
  /** The length at which the rows fill the day, seconds; 0 where they do not. */
  readonly full: number
  /** The different starts, epoch seconds ascending; empty where they fill the day. */
  readonly starts: readonly number[]
}

/** The finest length that is stored for a meter on a local day, seconds; of provisional ones apart. */
export interface StoredLength {
  readonly day: string
  readonly seconds: number
  readonly isProvisional: boolean
  /** The latest arrival that has reads of it, and when one of them starts, epoch seconds. */
  readonly arrival: number
  readonly startsAt: number
  /** The starts of provisional reads, epoch seconds; empty of others. */
  readonly starts: readonly number[]
}

/** What the rows of a file are judged by. */
export interface LengthRules {
  /** The lengths of the profile, seconds. */
  readonly allowed: readonly number[]
  readonly zone: Zone
  /** The length by which the rows of the file have their starts, and whether their timestamps are at the end of it. */
  readonly seconds: number
  readonly atEnd: boolean
  /** Whether a row with a time is of a day like a stored one: it may as well be one of its hours. */
  readonly isDay: (start: number, stored: StoredLength) => boolean
}

/** The length of a meter's rows on one day (decision 16). */
export interface DayLength {
  readonly day: string
  /** 0 where the rows are not usable. */
  readonly seconds: number
  /** Whether nothing proves the length: neither rows in succession nor stored reads of a proved length. */
  readonly isProvisional: boolean
  /** Where rows in succession contradict the stored reads: the lengths of both, else 0. */
  readonly apart: number
  readonly stored: number
}

/**
 * The lengths of a meter's rows in a file, a day at a time. `ofFile` and `stored` ascend.
 */
export function judgeMeter(
  ofFile: readonly MeterDay[],
  stored: readonly StoredLength[],
  rules: LengthRules,
): readonly DayLength[] {
  const { allowed, isDay } = rules
  const days = ofFile.map((one) => filledWith(one, stored, rules))
  const filled = days.filter(({ full }) => full !== 0)
  const trusted = stored.filter(({ isProvisional }) => !isProvisional)
  const known = [...trusted, ...filled.map(({ day, full }) => ({ day, seconds: full }))]
  const runs = findRuns(days, allowed)
  const proved = new Set(filled.map(({ full }) => full))
  for (const [day, run] of runs) {
    const length = nearest(known, day)
    for (const one of run) if (length === undefined || length === one) proved.add(one)
  }
  const guessed = proved.size === 0 ? stored.filter(({ isProvisional }) => isProvisional) : []
  const smallest = Math.min(
    ...gapsOf(days.flatMap(({ starts }) => starts)),
    ...filled.map(({ full }) => full),
  )
  return days.map((one) => {
    const { day, full, starts } = one
    const found = (seconds: number, isProvisional = false) => ({
      day,
      seconds,
      isProvisional,
      apart: 0,
      stored: 0,
    })
    if (full !== 0) return found(full)
    const run = runs.get(day) ?? []
    const length = nearest(known, day)
    const other = run.find((apart) => apart !== length)
    if (length !== undefined && other !== undefined) {
      if (filled.some((whole) => whole.full === other)) return found(other)
      return { ...found(0), apart: other, stored: length }
    }
    if (length !== undefined && fits(starts, length)) {
      const like = length === daySeconds ? nearestOf(trusted, day) : undefined
      const mayBeHour = like !== undefined && !isDay(starts[0] as number, like)
      return found(length, mayBeHour && !proved.has(length))
    }
    const likely = nearest(guessed, day) ?? firstAfter(known, day)
    if (likely !== undefined && fits(starts, likely)) return found(likely, !proved.has(likely))
    const seconds = guess(starts, smallest, allowed)
    return found(seconds, seconds !== length && !proved.has(seconds))
  })
}

/** A day that the rows of a file fill together with stored reads whose length nothing has proved yet. */
function filledWith(
  one: MeterDay,
  stored: readonly StoredLength[],
  { allowed, zone, seconds: own, atEnd }: LengthRules,
): MeterDay {
  const open = stored.filter(({ day, isProvisional }) => isProvisional && day === one.day)
  if (one.full !== 0 || open.length === 0) return one
  const times = [{ starts: one.starts, seconds: own }, ...open].flatMap((reads) =>
    timestampsOf(reads, atEnd, zone),
  )
  const whole = zone.daySeconds(one.day)
  const full = allowed.find((seconds) => seconds !== daySeconds && fills(times, seconds, whole))
  return full === undefined ? one : { ...one, full, starts: [] }
}

/** Whether reads of a length with these times, in any order, fill nine tenths of a day evenly. */
export function fills(times: readonly number[], seconds: number, ofDay: number): boolean {
  const distinct = [...new Set(times)].sort((one, other) => one - other)
  return distinct.length * seconds * 10 >= 9 * ofDay && fits(distinct, seconds)
}

/** The days that have three rows in succession at an allowed length, with these lengths. */
function findRuns(
  days: readonly MeterDay[],
  allowed: readonly number[],
): ReadonlyMap<string, readonly number[]> {
  const rows = days.flatMap(({ day, starts }) => starts.map((start) => ({ day, start })))
  const runs = new Map<string, number[]>()
  const lengthAt = (at: number) => {
    const gap = (rows[at + 1]?.start ?? Number.NaN) - (rows[at]?.start ?? 0)
    return allowed.includes(daySeconds) ? toLength(gap) : gap
  }
  for (let at = 0; at + 2 < rows.length; at++) {
    const length = lengthAt(at)
    if (length !== lengthAt(at + 1) || !allowed.includes(length)) continue
    for (const { day } of rows.slice(at, at + 3)) {
      const run = runs.get(day)
      if (run === undefined) runs.set(day, [length])
      else if (!run.includes(length)) run.push(length)
    }
  }
  return runs
}

export type KnownLength = Pick<StoredLength, 'day' | 'seconds'>

/** The length on a day, or on the nearest day before it; the finest where one day has two. */
export function nearest(known: readonly KnownLength[], day: string): number | undefined {
  return nearestOf(known, day)?.seconds
}

function nearestOf<T extends KnownLength>(known: readonly T[], day: string): T | undefined {
  let best: T | undefined
  for (const one of known) {
    if (one.day > day || (best !== undefined && one.day < best.day)) continue
    if (best?.day !== one.day || one.seconds < best.seconds) best = one
  }
  return best
}

/** The length on the first day after a day; the finest where that day has two. */
export function firstAfter(known: readonly KnownLength[], after: string): number | undefined {
  const later = known.filter(({ day }) => day > after)
  const [first = ''] = later.map(({ day }) => day).sort()
  return nearest(later, first)
}

/** Whether all rows of a day can be reads of a length. */
export function fits(starts: readonly number[], seconds: number): boolean {
  if (seconds === daySeconds) return starts.length === 1
  return gapsOf(starts).every((gap) => gap % seconds === 0)
}

/** The smallest gap of the meter if it is a length, else the first length that the rows can have. */
function guess(starts: readonly number[], smallest: number, allowed: readonly number[]): number {
  const length = toLength(smallest)
  if (allowed.includes(length) && (length !== daySeconds || fits(starts, length))) return length
  return allowed.find((seconds) => fits(starts, seconds)) ?? 0
}

function gapsOf(starts: readonly number[]): readonly number[] {
  return starts.slice(1).map((start, at) => start - (starts[at] as number))
}
