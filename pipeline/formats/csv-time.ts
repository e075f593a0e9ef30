import { csvField } from '../../schemas/field.js'
import { datesMax, orderedDate } from '../../schemas/time/date-order.js'
import { rememberTimes } from '../../schemas/time/remember.js'
import {
  type DateOrder,
  detectFormat,
  isDayFormat,
  offsetSeconds,
  parseTimestamp,
  type TimestampFormat,
} from '../../schemas/time/timestamp.js'
import { addDays, daySeconds, toDay, wallSeconds, type Zone } from '../../schemas/time/zone.js'
import { toInstantText } from './plain-row.js'

const compact = /^(\d{4})(\d\d)(\d\d)(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d))?)?$/
const otherDate = /^(\d{1,2})[.-](\d{1,2})[.-](\d{4})(.*)$/
const yearFirst = /^\d{4}[/.]\d{1,2}[/.]\d{1,2}(?!\d)/
/** What databases export: seconds with a fraction that is 0. */
const noFraction = /(:\d\d)\.0+$/
const otherClock = /^(\d{1,2})[:.]?(\d\d)(?:[:.]?(\d\d))?$/

/** A timestamp as the plain layout has it, of what systems write; other texts stay as they are. */
export function normalTime(time: string, timeOfDay = ''): string {
  const [, hour = '', minute, second = ''] = otherClock.exec(timeOfDay.trim()) ?? []
  const clock =
    minute === undefined
      ? timeOfDay.trim()
      : `${hour.padStart(2, '0')}:${minute}${second && `:${second}`}`
  const sent = clock === '' ? time.trim() : `${normalTime(time)} ${clock}`
  const text = sent.replace(noFraction, '$1').replace(yearFirst, toIsoDate)
  const [, year, month, day, hours, minutes, seconds = ''] = compact.exec(text) ?? []
  if (year !== undefined) {
    const date = `${year}-${month}-${day}`
    return hours === undefined ? date : `${date} ${hours}:${minutes}${seconds && `:${seconds}`}`
  }
  return text.replace(otherDate, '$1/$2/$3$4')
}

function toIsoDate(date: string): string {
  const [year, month = '', day = ''] = date.split(/[/.]/)
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}

const lastMidnight = /^(.*\d)[T ]24:00(:00)?$/

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
  readonly zone: Zone
}

type Clock = 'wall' | 'standard' | (string & {})

/** Whether timestamps are at an offset, so that each means one instant. */
export function isOffset(clock: Clock): clock is string & {} {
  return clock !== 'wall' && clock !== 'standard'
}

/** When a day of a wide file starts and how long it is, in seconds. */
export interface SentDay {
  readonly start: number
  readonly seconds: number
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
  const { clock, dateOrder } = options
  const dates = new Set<string>()
  const written = new Set<TimestampFormat | undefined>()
  const see = (time: string, timeOfDay?: string): string => {
    const text = startOfNextDay(normalTime(time, timeOfDay), dateOrder)
    const date = orderedDate(text)
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
  const days = rememberTimes((text) => readDay(see(text), options), { timesMax })
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
  if (format === undefined || !isDayFormat(format)) return undefined
  const parsed = parseTimestamp(text, format, dateOrder)
  if (parsed === undefined) return undefined
  const { wall } = parsed
  if (clock === 'wall') {
    const day = toDay(wall)
    return { start: zone.dayStart(day), seconds: zone.daySeconds(day) }
  }
  const offset = clock === 'standard' ? zone.standardOffsetSeconds(wall.year) : offsetSeconds(clock)
  return { start: wallSeconds(wall) - offset, seconds: daySeconds }
}
