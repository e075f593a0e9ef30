import { Fault } from '../../../schemas/fault.js'
import { addDays, daySeconds, wallSeconds, type Zone } from '../../../schemas/time/zone.js'
import { toInstantText } from '../plain-row.js'
import type { SentDay } from './times.js'

/**
 * What the numbers of intervals do on a day when the clock changes. `counted`: they count its intervals, 1 to 23
 * or 25 hours. `clock`: they name the hours of the clock, of which one is absent or there twice. `fixed`: the
 * day has 24 hours, since its times do not follow the clock.
 */
export type Numbering = 'counted' | 'clock' | 'fixed'

/** A day of 23 or 25 hours: which of its intervals, from 0 on, the clock skips or repeats. */
export interface ChangeDay {
  readonly isLong: boolean
  readonly from: number
  readonly to: number
  /** How many intervals 24 hours have. */
  readonly usual: number
}

/** Undefined where the clock does not change on a local day, or not by whole intervals. */
export function changeDayOf(zone: Zone, day: string, interval: number): ChangeDay | undefined {
  const seconds = zone.daySeconds(day)
  if (seconds === daySeconds || seconds === 0) return undefined
  // A day may begin with the change.
  const change = zone.changeWithin(zone.dayStart(day) - 1, zone.dayStart(addDays(day, 1)))
  const midnight = Date.parse(`${day}T00:00:00Z`) / 1_000
  const places = [wallSeconds(zone.toWall(change - 1)) + 1, wallSeconds(zone.toWall(change))]
    .map((wall) => (wall - midnight) / interval)
    .sort((a, b) => a - b)
  const [from, to] = places as [number, number]
  if (!Number.isInteger(from) || !Number.isInteger(to)) return undefined
  return { isLong: seconds > daySeconds, from, to, usual: daySeconds / interval }
}

/** Which numberings the rows of such a day may have. `counts` has how often each interval is there. */
export function numberingsOf(counts: Uint32Array, day: ChangeDay): readonly Numbering[] {
  const { isLong, from, to, usual } = day
  const countOf = (at: number) => counts[at] ?? 0
  const isAll = (until: number) => counts.subarray(0, until).every((count) => count > 0)
  const isBeyond = (last: number) => counts.subarray(last).some((count) => count > 0)
  const inside = counts.subarray(from, to).reduce((sum, count) => sum + count, 0)
  const beside = [countOf(from - 1), countOf(to)].filter((count) => count > 0)
  const isAmong = beside.length === (from === 0 ? 1 : 2)
  if (isLong) {
    if (isBeyond(usual)) return ['counted']
    const once = (Math.max(0, ...beside) * (to - from) * 3) / 2
    if (beside.length > 0 && inside > once) return ['clock']
    if (isAll(usual)) return ['fixed']
    return isAmong ? ['counted', 'fixed'] : ['counted', 'clock', 'fixed']
  }
  const last = usual - (to - from)
  const possible: Numbering[] = []
  if (!isBeyond(last) && (inside > 0 || !isAmong)) possible.push('counted')
  if (inside === 0) possible.push('clock')
  if (inside > 0 ? isBeyond(last) || !isAll(last) : !isAmong) possible.push('fixed')
  return possible
}

/** How the numbers of a file are to be read. */
interface NumbersOptions {
  readonly zone: Zone
  /** Seconds. */
  readonly interval: number
  /** The number of the first interval of a day. */
  readonly first: number
  /** Undefined where the profile does not say it; then no day on which the clock changes can be read. */
  readonly numbering: Numbering | undefined
}

/** The timestamp of the start of an interval; `absent` is a place for one that its day does not have. */
export type NumberedTime = { readonly timestamp: string } | { readonly refused: string } | 'absent'

export interface IntervalNumbers {
  /** An interval without a quantity shows nothing of the numbering. */
  read(day: SentDay, sent: { readonly number: string; readonly isEmpty: boolean }): NumberedTime
  /** Throws `INTERVAL_NUMBER` where the numbers of a day show another numbering. */
  judge(): void
}

const sentNumber = /^(?:[A-Za-z]{1,6}[ _-]?)?(\d{1,4})$/
const longestSeconds = 90_000

/** The place of an interval in its day, from 0 on; undefined for what is not its number. */
export function intervalPlaceOf(text: string, first: number): number | undefined {
  const number = sentNumber.exec(text.trim())?.[1]
  return number === undefined || Number(number) < first ? undefined : Number(number) - first
}

/**
 * Reads numbers of intervals. Those of a day on which the clock changes are counted, so that a numbering that
 * is not the profile's refuses the file: most hours of the day would be wrong, and no row of them shows it.
 */
export function createNumbers({
  zone,
  interval,
  first,
  numbering,
}: NumbersOptions): IntervalNumbers {
  const changed = new Map<string, { readonly day: ChangeDay; readonly counts: Uint32Array }>()
  const changedOf = (date: string) => {
    const known = changed.get(date)
    if (known !== undefined) return known
    const day = changeDayOf(zone, date, interval)
    if (day === undefined) return undefined
    const found = { day, counts: new Uint32Array(longestSeconds / interval) }
    changed.set(date, found)
    return found
  }
  return {
    read: ({ date, start, seconds, localSeconds }, { number, isEmpty }) => {
      const place = intervalPlaceOf(number, first)
      const intervals = seconds / interval
      if (place === undefined || place >= longestSeconds / interval)
        return { refused: 'the column of columns.intervalNumber has no number of an interval' }
      if (!Number.isInteger(intervals))
        return { refused: `the day has ${intervals} intervals of the length of interval` }
      const isChanged = localSeconds !== daySeconds
      if (isChanged && numbering === undefined)
        return { refused: 'the clock changes on this day: set numbering to counted or clock' }
      const change = isChanged ? changedOf(date) : undefined
      const isClock = numbering === 'clock'
      const count = isClock ? daySeconds / interval : intervals
      const skips = isClock && change?.day.isLong === false ? change.day : undefined
      const isSkipped = skips !== undefined && place >= skips.from && place < skips.to
      if (isEmpty && (isSkipped || place >= count)) return 'absent'
      if (change !== undefined) change.counts[place] = (change.counts[place] ?? 0) + 1
      else if (place >= count) {
        throw contradiction(`${date} has ${count} intervals, and there is number ${place + first}`)
      }
      if (place >= count) return { refused: `the day has ${count} intervals` }
      if (isClock) return { timestamp: `${date} ${timeOfDay(place * interval)}` }
      return { timestamp: toInstantText(start + place * interval) }
    },
    judge: () => {
      for (const [date, { day, counts }] of changed) {
        const shown = numberingsOf(counts, day)
        if (numbering === undefined || shown.includes(numbering)) continue
        const hours = day.isLong ? 25 : 23
        const like = shown.map((one) => likeness[one]).join(', or ')
        throw contradiction(`on ${date}, a day of ${hours} hours, they are ${like}`)
      }
    },
  }
}

const likeness: Readonly<Record<Numbering, string>> = {
  counted: 'those of numbering: counted',
  clock: 'those of numbering: clock',
  fixed: 'those of a day of 24 hours (clock: standard, or an offset)',
}

function contradiction(what: string): Fault {
  const remedy = 'fix numbering, clock, interval or timeZone, or the export'
  return new Fault(
    'INTERVAL_NUMBER',
    `the numbers of intervals contradict the profile: ${what}; ${remedy}`,
  )
}

function timeOfDay(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 19)
}
