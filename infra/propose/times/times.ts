import { normalTime, startOfNextDay } from '../../../pipeline/formats/csv/times.js'
import { orderedDate, proveDateOrder } from '../../../schemas/time/date-order.js'
import { type DateOrder, detectFormat, parseTimestamp } from '../../../schemas/time/timestamp.js'
import { createZone, daySeconds, wallSeconds, type Zone } from '../../../schemas/time/zone.js'
import type { Shown } from '../finding.js'

/** The times of the rows of a sample, by meter, as a clock without zone shows them. */
export interface MeterTimes {
  readonly meter: string
  /** Seconds since 1970 as if they were UTC, in the order of the file. */
  readonly seconds: readonly number[]
}

/** A text as the clock shows it, that of an offset as UTC does; undefined where it is not a time. */
export function toSeconds(text: string, order: DateOrder, timeOfDay = ''): number | undefined {
  const normal = startOfNextDay(normalTime(text, timeOfDay), order)
  const format = detectFormat(normal)
  const parsed = format === undefined ? undefined : parseTimestamp(normal, format, order)
  if (parsed === undefined) return undefined
  return wallSeconds(parsed.wall) - (parsed.offsetSeconds ?? 0)
}

/** The order of day and month; undefined is a question, and no finding where years come first. */
export function findDateOrder(texts: readonly string[], fileDate: string): Shown | undefined {
  const dates = texts
    .map((text) => normalTime(text))
    .filter((text) => orderedDate(text) !== undefined)
  if (dates.length === 0) return undefined
  const { proved, proof } = proveDateOrder(dates, fileDate)
  const question = `are dates such as ${dates[0]} MDY or DMY?`
  if (proved === 'mixed' || proved === undefined) return { evidence: proof, question }
  return { value: proved, evidence: proof }
}

/** Whether a text has an offset of its own. */
export function hasOffset(text: string): boolean {
  return detectFormat(normalTime(text)) === 'isoOffset'
}

/** The length that nine tenths of the gaps between rows of one meter have, seconds. */
export function findLength(series: readonly MeterTimes[]): number | undefined {
  const counts = new Map<number, number>()
  let all = 0
  for (const { seconds } of series) {
    const sorted = [...new Set(seconds)].sort((a, b) => a - b)
    for (let at = 1; at < sorted.length; at++) {
      const gap = (sorted[at] as number) - (sorted[at - 1] as number)
      counts.set(gap, (counts.get(gap) ?? 0) + 1)
      all++
    }
  }
  for (const [gap, count] of counts) if (count >= 0.9 * all) return gap
  return undefined
}

/** The different smallest gaps of the meters. */
export function meterLengths(series: readonly MeterTimes[]): readonly number[] {
  const found = series.map((one) => findLength([one])).filter((gap) => gap !== undefined)
  return [...new Set(found)].sort((a, b) => a - b)
}

const hourSeconds = 3_600

/** The day of a time as the clock shows it, `YYYY-MM-DD`. */
export function dayText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(0, 10)
}

const timeOf = (seconds: number) => ((seconds % daySeconds) + daySeconds) % daySeconds

export function timeOfDayText(seconds: number): string {
  const minutes = Math.floor(timeOf(seconds) / 60)
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
}

/**
 * At which end of their interval timestamps are. The first and last rows of the meters are a hint for a person
 * only: an export that begins at 0:00 may have the interval that ends then.
 */
export function findStamp(series: readonly MeterTimes[], length: number): Shown {
  const question = 'does a timestamp name the start or the end of its interval?'
  const bounds = series.map(({ seconds }) =>
    [Math.min(...seconds), Math.max(...seconds)].map(timeOfDayText).join(' and end at '),
  )
  const [first] = bounds
  if (first === undefined) return { evidence: 'no row has a time', question }
  const isSame = bounds.every((one) => one === first)
  const startsDay = `0:00 and end at ${timeOfDayText(daySeconds - length)}`
  const endsDay = `${timeOfDayText(length)} and end at 0:00`
  const like = {
    [startsDay]: ', as starts of whole days do',
    [endsDay]: ', as ends of whole days do',
  }
  const whose = isSame ? 'the rows of each meter' : 'the rows of one meter'
  return { evidence: `${whose} begin at ${first}${like[first] ?? ''}`, question }
}

/** A day on which the clock of a zone changes, in seconds as the clock shows them. */
export interface ZoneChange {
  readonly day: string
  readonly kind: 'skipped' | 'repeated'
  readonly from: number
  readonly to: number
}

/** No zone changes its clock twice within so many seconds: a change back would hide both. */
const stepSeconds = 20 * daySeconds

/** The clock changes of a zone between two times of its clock. */
export function zoneChanges(zone: Zone, from: number, to: number): readonly ZoneChange[] {
  const found: ZoneChange[] = []
  for (let at = from - daySeconds; at < to + daySeconds; at += stepSeconds) {
    const change = zone.changeWithin(at, at + stepSeconds)
    if (change >= at + stepSeconds) continue
    const before = wallSeconds(zone.toWall(change - 1)) + 1
    const after = wallSeconds(zone.toWall(change))
    found.push({
      day: dayText(before),
      kind: after > before ? 'skipped' : 'repeated',
      from: Math.min(before, after),
      to: Math.max(before, after),
    })
  }
  return found.filter((one) => one.to > from && one.from < to)
}

export interface ClockQuestion {
  readonly zone: Zone
  readonly series: readonly MeterTimes[]
  readonly length: number
}

/**
 * Whether the times follow the clock on the wall: what the hours show that it skips or repeats. Times at the
 * end of an interval are instants like those at its start, so both skip and repeat the same ones.
 */
export function findClock({ zone, series, length }: ClockQuestion): Shown {
  const question =
    'do the times follow daylight saving time (wall), standard time all year (standard), or an offset such as "+00:00"?'
  const all = series.flatMap(({ seconds }) => seconds)
  const from = all.reduce((low, one) => Math.min(low, one), Number.POSITIVE_INFINITY)
  const to = all.reduce((high, one) => Math.max(high, one), Number.NEGATIVE_INFINITY)
  const years = zoneChanges(zone, from - 366 * daySeconds, to + 366 * daySeconds)
  if (years.length === 0) {
    const evidence = `${zone.timeZone} does not change its clock, so the rows cannot show it`
    return {
      evidence,
      question: 'are the times those of the zone (wall), or of an offset such as "+00:00"?',
    }
  }
  const changes = zoneChanges(zone, from, to)
  if (changes.length === 0) {
    return { evidence: `no sample has a day on which ${zone.timeZone} changes its clock`, question }
  }
  const votes = changes.flatMap((change) =>
    series.flatMap(({ seconds }) => voteOf(change, seconds, length)),
  )
  const wall = votes.filter((vote) => vote.wall)
  const days = [...new Set(changes.map(({ day }) => day))].join(', ')
  if (votes.length === 0) {
    return { evidence: `the samples have no rows around the clock change on ${days}`, question }
  }
  if (wall.length === votes.length) {
    return { value: 'wall', evidence: `${votes[0]?.what}, as the clock of ${zone.timeZone}` }
  }
  if (wall.length > 0) {
    return { evidence: `meters differ around the clock change on ${days}`, question }
  }
  const evidence = `${votes[0]?.what}, so they do not follow daylight saving time`
  const year = new Date(from * 1_000).getUTCFullYear()
  if (zone.standardOffsetSeconds(year) === 0) return { value: 'standard', evidence }
  return {
    evidence,
    question:
      'are they standard time of the zone (standard), or an offset such as "+00:00" for UTC?',
  }
}

function voteOf(
  { day, kind, from, to }: ZoneChange,
  times: readonly number[],
  length: number,
): readonly { readonly wall: boolean; readonly what: string }[] {
  const around = [from - length, to]
  if (length >= daySeconds || !around.every((at) => times.includes(at))) return []
  const inside = times.filter((at) => at >= from && at < to).length
  const once = (to - from) / length
  const hour = timeOfDayText(from)
  if (kind === 'skipped') {
    if (inside === 0) return [{ wall: true, what: `on ${day} the hour of ${hour} is absent` }]
    return inside >= once ? [{ wall: false, what: `on ${day} the hour of ${hour} is there` }] : []
  }
  if (inside === 2 * once)
    return [{ wall: true, what: `on ${day} the hour of ${hour} is there twice` }]
  return inside === once
    ? [{ wall: false, what: `on ${day} the hour of ${hour} is there once` }]
    : []
}

/** One zone of each kind of clock change that utilities have; a person knows which of its like it is. */
const known = [
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Los_Angeles',
  'America/Halifax',
  'America/St_Johns',
  'Europe/London',
  'Europe/Berlin',
  'Europe/Athens',
  'Australia/Sydney',
  'Australia/Adelaide',
  'Pacific/Auckland',
] as const

/** What the clock changes among the rows show of the zone, as evidence for a person. */
export function describeZone(series: readonly MeterTimes[], length: number | undefined): string {
  const longest = series.reduce<readonly number[]>(
    (best, { seconds }) => (seconds.length > best.length ? seconds : best),
    [],
  )
  const jumps = length === undefined || length > hourSeconds ? [] : findJumps(longest, length)
  const [first] = jumps
  if (first === undefined) return 'no file states it'
  const from = longest[0] as number
  const to = longest.at(-1) as number
  const like = known.filter((name) => {
    const changes = zoneChanges(createZone(name), from, to)
    return changes.length === jumps.length && changes.every((one, at) => isSame(one, jumps[at]))
  })
  const what = `the clock changes on ${jumps.map(({ day }) => day).join(', ')}`
  return like.length === 0 ? what : `${what}, as in ${like.join(', ')}`
}

type Jump = Pick<ZoneChange, 'day' | 'kind' | 'from'>

function isSame(one: ZoneChange, other: Jump | undefined): boolean {
  return one.kind === other?.kind && one.from === other.from
}

/** Where the times of a meter, oldest first, skip an hour or go back by one. */
function findJumps(seconds: readonly number[], length: number): readonly Jump[] {
  return seconds.slice(1).flatMap((to, at): readonly Jump[] => {
    const expected = (seconds[at] as number) + length
    const kind =
      to === expected + hourSeconds
        ? 'skipped'
        : to === expected - hourSeconds
          ? 'repeated'
          : undefined
    if (kind === undefined) return []
    const from = kind === 'skipped' ? expected : to
    return [{ day: dayText(from), kind, from }]
  })
}
