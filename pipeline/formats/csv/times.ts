import { csvField } from '../../../schemas/field.js'
import { datesMax, orderedDate } from '../../../schemas/time/date-order.js'
import { rememberTimes } from '../../../schemas/time/remember.js'
import {
  type DateOrder,
  detectFormat,
  isDayFormat,
  offsetSeconds,
  parseTimestamp,
  type TimestampFormat,
} from '../../../schemas/time/timestamp.js'
import { addDays, daySeconds, toDay, wallSeconds, type Zone } from '../../../schemas/time/zone.js'
import { toInstantText } from '../plain-row.js'
import { monthDate } from './month-dates.js'

const compact = /^(\d{4})(\d\d)(\d\d)(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d))?)?$/
/** As DB2 writes it. */
const pointClock = /^(\d{4}-\d\d-\d\d)-(\d\d)\.(\d\d)\.(\d\d)(?:\.0+)?$/
const otherDate = /^(\d{1,2})[.-](\d{1,2})[.-](\d{4})(.*)$/
const yearFirst = /^\d{4}[/.]\d{1,2}[/.]\d{1,2}(?!\d)/
/** What databases export: seconds with a fraction that is 0. */
const noFraction = /(:\d\d)\.0+$/
const sentClock =
  /^(?<hour>\d{1,2})[:.]?(?<minute>\d\d)(?:[:.]?(?<second>\d\d))?(?:\.0+)?(?: ?(?<half>[ap])\.?m\.?)?(?: ?(?<offset>z|[+-]\d\d:?\d\d))?$/i
/** Day and month in either order, and a year of two digits. */
const shortYear = /^(0?[1-9]|[12]\d|3[01])([/.-])(0?[1-9]|[12]\d|3[01])\2(\d\d)(?!\d)/
const behindDate = /^(\d{4}-\d\d-\d\d) (.*m\.?)$/i

/** A timestamp as the plain layout has it, of what systems write; other texts stay as they are. */
export function normalTime(time: string, timeOfDay = ''): string {
  const clock = timeOfDay.trim()
  if (clock !== '') return normalTime(`${normalTime(time)} ${toClock(clock) ?? clock}`)
  const sent = time.trim()
  const named = withMonth(sent)
  if (named !== undefined) return named
  const text = sent.replace(noFraction, '$1').replace(yearFirst, toIsoDate)
  const [, year, month, day, hours, minutes, seconds = ''] = compact.exec(text) ?? []
  if (year !== undefined) {
    const date = `${year}-${month}-${day}`
    return hours === undefined ? date : `${date} ${hours}:${minutes}${seconds && `:${seconds}`}`
  }
  const [, date, half = ''] = behindDate.exec(text) ?? []
  if (date !== undefined) return `${date} ${toClock(half) ?? half}`
  return text.replace(pointClock, '$1 $2:$3:$4').replace(otherDate, '$1/$2/$3$4')
}

/** A date with the name of its month and what is behind it. */
function withMonth(text: string): string | undefined {
  const { date, rest = '' } = monthDate(text) ?? {}
  if (date === undefined || rest === '') return date
  const clock = /^[T :]/.test(rest) ? toClock(rest.slice(1)) : undefined
  return clock && `${date} ${clock}`
}

/** A time of day on the clock of 24 hours, with its offset; undefined for other texts. */
export function toClock(text: string): string | undefined {
  const { hour, minute = '', second, half, offset = '' } = sentClock.exec(text.trim())?.groups ?? {}
  if (hour === undefined) return undefined
  const hours = half === undefined ? Number(hour) : hourOf(Number(hour), half)
  if (hours === undefined) return undefined
  const time = `${String(hours).padStart(2, '0')}:${minute}`
  return `${time}${second === undefined ? '' : `:${second}`}${offset}`
}

/** An hour of the clock of 12 hours, which has no 0. */
function hourOf(hour: number, half: string): number | undefined {
  if (hour < 1 || hour > 12) return undefined
  return (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
}

function toIsoDate(date: string): string {
  const [year, month = '', day = ''] = date.split(/[/.]/)
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}

const lastMidnight = /^(.*\d)[T ]24:00(:00)?$/

/** A date whose year has two digits, behind day and month, with four; other texts stay as they are. */
export function withLongYear(text: string): string {
  return text.trim().replace(shortYear, '$1/$3/20$4')
}

/** 24:00 ends a day: 0:00 of the next one, written alike. Other texts stay as they are. */
export function startOfNextDay(text: string, dateOrder: DateOrder): string {
  const [, date = '', seconds = ''] = lastMidnight.exec(text) ?? []
  const format = detectFormat(date)
  if (format === undefined || !isDayFormat(format)) return text
  const parsed = parseTimestamp(date, format, dateOrder)
  if (parsed === undefined) return text
  const next = addDays(toDay(parsed.wall), 1)
  const [year, month, day] = next.split('-')
  const inOrder = dateOrder === 'MDY' ? `${month}/${day}/${year}` : `${day}/${month}/${year}`
  return `${format === 'isoDate' ? next : inOrder} 00:00${seconds}`
}

/** How a file writes its times. */
interface TimesOptions {
  /** `wall`, `standard`, or an offset from UTC that holds all year. */
  readonly clock: Clock
  readonly dateOrder: DateOrder
  readonly yearDigits: 2 | 4
  readonly zone: Zone
}

type Clock = 'wall' | 'standard' | (string & {})

/** Whether timestamps are at an offset, so that each means one instant. */
export function isOffset(clock: Clock): clock is string & {} {
  return clock !== 'wall' && clock !== 'standard'
}

/** A day of a file whose rows have no time of day: when it starts and how long it is, in seconds. */
export interface SentDay {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly start: number
  readonly seconds: number
  /** How long the day of this date is on the clock of the zone. */
  readonly localSeconds: number
}

/** Reads the times of one file. */
export interface CsvTimes {
  /** The field of a plain row with the timestamp; a text that says no time stays as it is. */
  timestamp(time: string, timeOfDay?: string): string
  /** Undefined for what is not a day. */
  day(time: string): SentDay | undefined
  /** The different dates that it has read whose order of day and month must be proved. */
  readonly dates: ReadonlySet<string>
  /** How it has seen all timestamps written; undefined where several ways, or none of the plain layout. */
  timestampFormat(): TimestampFormat | undefined
}

const timesMax = 10_000

export function createTimes(options: TimesOptions): CsvTimes {
  const { clock, dateOrder, yearDigits } = options
  const long = (text: string) => (yearDigits === 2 ? withLongYear(text) : text)
  const dates = new Set<string>()
  const written = new Set<TimestampFormat | undefined>()
  const see = (time: string, timeOfDay?: string): string => {
    const sent = normalTime(long(time), timeOfDay)
    // The day after it is none that the sender has written: it proves nothing.
    const date = orderedDate(sent)
    const text = startOfNextDay(sent, dateOrder)
    if (date !== undefined && dates.size < datesMax) dates.add(date)
    if (detectFormat(text) !== undefined)
      written.add(detectFormat(`${time.trim()} ${timeOfDay?.trim() ?? ''}`.trim()))
    return text
  }
  const timestamps = rememberTimes(
    (text) => {
      const [time = '', timeOfDay] = text.split('\n')
      const own = see(time, timeOfDay)
      return csvField(isOffset(clock) ? atOffset(own, clock, dateOrder) : own)
    },
    { timesMax },
  )
  const days = rememberTimes(
    (text) => (/[T ]24:/.test(normalTime(long(text))) ? undefined : readDay(see(text), options)),
    { timesMax },
  )
  return {
    timestamp: (time, timeOfDay = '') => timestamps(timeOfDay ? `${time}\n${timeOfDay}` : time),
    day: days,
    dates,
    timestampFormat: () => (written.size === 1 ? [...written][0] : undefined),
  }
}

/** A timestamp without offset as an instant at this one; texts that say no time stay as they are. */
function atOffset(text: string, offset: string, dateOrder: DateOrder): string {
  const format = detectFormat(text)
  if (format === undefined || isDayFormat(format) || format === 'isoOffset') return text
  const parsed = parseTimestamp(text, format, dateOrder)
  return parsed ? toInstantText(wallSeconds(parsed.wall) - offsetSeconds(offset)) : text
}

function readDay(text: string, { clock, dateOrder, zone }: TimesOptions): SentDay | undefined {
  const format = detectFormat(text)
  if (format === undefined || format === 'isoOffset') return undefined
  const parsed = parseTimestamp(text, format, dateOrder)
  // Databases write a day as its midnight.
  if (parsed === undefined || wallSeconds(parsed.wall) % daySeconds !== 0) return undefined
  const { wall } = parsed
  const date = toDay(wall)
  const localSeconds = zone.daySeconds(date)
  if (clock === 'wall') {
    return { date, start: zone.dayStart(date), seconds: localSeconds, localSeconds }
  }
  const offset = clock === 'standard' ? zone.standardOffsetSeconds(wall.year) : offsetSeconds(clock)
  return { date, start: wallSeconds(wall) - offset, seconds: daySeconds, localSeconds }
}
