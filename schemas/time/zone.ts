import { Fault } from '../fault.js'

/** A reading of the clock on the wall: the calendar date, hours 0 to 23, minutes and seconds. */
export interface Wall {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

/** The clock of one IANA zone. Instants are epoch seconds, days are local `YYYY-MM-DD`. */
export interface Zone {
  readonly timeZone: string
  /** Ascending: none in a skipped hour, in a repeated one daylight time, then standard time. */
  toInstants(wall: Wall): readonly number[]
  toWall(epochSeconds: number): Wall
  /** The first instant of the day; a day that the zone skipped starts with the day after it. */
  dayStart(day: string): number
  /** Until the next day starts: 86400, or 82800 and 90000 where the clock changes by an hour. */
  daySeconds(day: string): number
  /** The first instant after `from` at which another offset holds; `to` where none does until then. */
  changeWithin(from: number, to: number): number
  /** Seconds east of Greenwich outside daylight time, for meters that ignore it. */
  standardOffsetSeconds(year: number): number
}

/** What a day has unless the clock changes in it. */
export const daySeconds = 86_400
/** Offsets stay within 16 hours, so a wall time's instants lie this near to its reading as UTC. */
const offsetSecondsMax = 16 * 3_600
/** Offsets are found once for each span of 2^25 s, about 388 days. */
const spanSeconds = 2 ** 25

type OffsetAt = (epochSeconds: number) => number
interface OffsetInterval {
  readonly from: number
  readonly offset: number
}

/**
 * The clock of `timeZone`, an IANA name spelled as in the database. Throws Fault `PROFILE` for an
 * unknown one. Clock changes are looked up once and remembered; years 1970 to 2105 are meant.
 */
export function createZone(timeZone: string): Zone {
  const offsetAt = rememberOffsets(readOffsets(timeZone))

  function toInstants(wall: Wall): readonly number[] {
    const seconds = wallSeconds(wall)
    const before = offsetAt(seconds - offsetSecondsMax)
    const after = offsetAt(seconds + offsetSecondsMax)
    if (before === after) return [seconds - before]
    return [Math.max(before, after), Math.min(before, after)]
      .filter((offset) => offsetAt(seconds - offset) === offset)
      .map((offset) => seconds - offset)
  }

  function dayStart(day: string): number {
    const midnight = toMidnight(day)
    const [instant] = toInstants(midnight)
    if (instant !== undefined) return instant
    const seconds = wallSeconds(midnight)
    return findChange(seconds - offsetSecondsMax, seconds + offsetSecondsMax, offsetAt)
  }

  return {
    timeZone,
    toInstants,
    toWall: (epochSeconds) => fromWallSeconds(epochSeconds + offsetAt(epochSeconds)),
    dayStart,
    daySeconds: (day) => dayStart(nextDay(day)) - dayStart(day),
    changeWithin: (from, to) => findChange(from, to, offsetAt),
    standardOffsetSeconds: (year) =>
      Math.min(offsetAt(Date.UTC(year, 0) / 1_000), offsetAt(Date.UTC(year, 6) / 1_000)),
  }
}

/** A wall time's seconds since 1970 as if it were UTC, which orders and subtracts wall times. */
export function wallSeconds(wall: Wall): number {
  const { year, month, day, hour, minute, second } = wall
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1_000
}

/** The wall time that `wallSeconds` made these seconds of. */
export function fromWallSeconds(seconds: number): Wall {
  const date = new Date(seconds * 1_000)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  }
}

/** The local day of a wall time, `YYYY-MM-DD`. */
export function toDay(wall: Wall): string {
  return new Date(wallSeconds(wall) * 1_000).toISOString().slice(0, 10)
}

/** The local day of an instant, `YYYY-MM-DD`. */
export function dayAt(zone: Pick<Zone, 'toWall'>, at: Date): string {
  return toDay(zone.toWall(Math.floor(at.getTime() / 1_000)))
}

/** The calendar day so many days after one, or before it, both `YYYY-MM-DD`. */
export function addDays(day: string, days: number): string {
  return toDay(fromWallSeconds(wallSeconds(toMidnight(day)) + days * daySeconds))
}

/** The calendar day after a day, both `YYYY-MM-DD`. */
export function nextDay(day: string): string {
  return addDays(day, 1)
}

function toMidnight(day: string): Wall {
  const part = (from: number, to: number) => Number(day.slice(from, to))
  return { year: part(0, 4), month: part(5, 7), day: part(8, 10), hour: 0, minute: 0, second: 0 }
}

/** Intl's answer, some microseconds a call. Intl folds case where ClickHouse does not: refused. */
function readOffsets(timeZone: string): OffsetAt {
  const format = openFormat(timeZone)
  const known = format.resolvedOptions().timeZone
  const isRespelled = known !== timeZone && known.toLowerCase() === timeZone.toLowerCase()
  if (isRespelled || !/^[A-Z]/.test(timeZone)) throw unknownZone(timeZone)
  return (epochSeconds) => {
    const part: Record<string, number> = {}
    for (const { type, value } of format.formatToParts(epochSeconds * 1_000))
      part[type] = Number(value)
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = part
    return wallSeconds({ year, month, day, hour, minute, second }) - Math.floor(epochSeconds)
  }
}

function openFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch (cause) {
    throw unknownZone(timeZone, cause)
  }
}

function unknownZone(timeZone: string, cause?: unknown): Fault {
  const remedy = 'use an IANA name such as America/Detroit, spelled so'
  return new Fault('PROFILE', `unknown zone ${JSON.stringify(timeZone)}: ${remedy}`, { cause })
}

/** The same offsets, each span's read day by day once: no zone changes its clock twice in a day. */
function rememberOffsets(readOffset: OffsetAt): OffsetAt {
  const spans = new Map<number, readonly OffsetInterval[]>()
  return (epochSeconds) => {
    const span = Math.floor(epochSeconds / spanSeconds)
    let intervals = spans.get(span)
    if (intervals === undefined) {
      intervals = readIntervals(span * spanSeconds, readOffset)
      spans.set(span, intervals)
    }
    for (const interval of intervals) if (interval.from <= epochSeconds) return interval.offset
    throw new RangeError(`no offset for ${epochSeconds}`)
  }
}

/** The intervals of equal offset in a span, latest first. */
function readIntervals(start: number, readOffset: OffsetAt): readonly OffsetInterval[] {
  const end = start + spanSeconds - 1
  let latest: OffsetInterval = { from: start, offset: readOffset(start) }
  const intervals = [latest]
  for (let from = start; from < end; from += daySeconds) {
    const to = Math.min(from + daySeconds, end)
    if (readOffset(to) === latest.offset) continue
    const change = findChange(from, to, readOffset)
    latest = { from: change, offset: readOffset(change) }
    intervals.unshift(latest)
  }
  return intervals
}

/** The first instant after `low`, at most `high`, where the offset is no longer that of `low`. */
function findChange(low: number, high: number, offsetAt: OffsetAt): number {
  const offset = offsetAt(low)
  let before = low
  let after = high
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetAt(middle) === offset) before = middle
    else after = middle
  }
  return after
}
