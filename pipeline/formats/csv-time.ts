import {
  type DateOrder,
  detectFormat,
  isDayFormat,
  offsetSeconds,
  parseTimestamp,
} from '../../schemas/time/timestamp.js'
import { daySeconds, toDay, wallSeconds, type Zone } from '../../schemas/time/zone.js'
import { toInstantText } from './plain-row.js'

const compact = /^(\d{4})(\d\d)(\d\d)(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d))?)?$/
const otherDate = /^(\d{1,2})[.-](\d{1,2})[.-](\d{4})(.*)$/
const otherClock = /^(\d{1,2})[:.]?(\d\d)(?:[:.]?(\d\d))?$/

/** A timestamp as the plain layout has it, of what systems write; other texts stay as they are. */
export function normalTime(time: string, timeOfDay = ''): string {
  const [, hour = '', minute, second = ''] = otherClock.exec(timeOfDay.trim()) ?? []
  const clock =
    minute === undefined
      ? timeOfDay.trim()
      : `${hour.padStart(2, '0')}:${minute}${second && `:${second}`}`
  const text = clock === '' ? time.trim() : `${normalTime(time)} ${clock}`
  const [, year, month, day, hours, minutes, seconds = ''] = compact.exec(text) ?? []
  if (year !== undefined) {
    const date = `${year}-${month}-${day}`
    return hours === undefined ? date : `${date} ${hours}:${minutes}${seconds && `:${seconds}`}`
  }
  return text.replace(otherDate, '$1/$2/$3$4')
}

/** A timestamp without offset as an instant at this one; texts that say no time stay as they are. */
export function atOffset(text: string, offset: string, dateOrder: DateOrder): string {
  const format = detectFormat(text)
  if (format === undefined || isDayFormat(format) || format === 'isoOffset') return text
  const parsed = parseTimestamp(text, format, dateOrder)
  return parsed ? toInstantText(wallSeconds(parsed.wall) - offsetSeconds(offset)) : text
}

/** When a day of a wide file starts and how long it is, in seconds; undefined for what is not a day. */
export interface SentDay {
  readonly start: number
  readonly seconds: number
}

export function readDay(
  text: string,
  {
    clock,
    dateOrder,
    zone,
  }: { readonly clock: string; readonly dateOrder: DateOrder; readonly zone: Zone },
): SentDay | undefined {
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
