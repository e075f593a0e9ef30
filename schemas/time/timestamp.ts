import type { Wall } from './zone.js'

/** Which of the two numbers before the year is the month. */
export type DateOrder = 'MDY' | 'DMY'

const slashDate = String.raw`(?<first>\d{1,2})/(?<second>\d{1,2})/(?<year>\d{4})`
const isoDate = String.raw`(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)`
const clock = String.raw`(?<hour>\d{1,2}):(?<minute>\d\d)`
const isoClock = String.raw`[T ](?<hour>\d\d):(?<minute>\d\d)`
const seconds = String.raw`:(?<seconds>\d\d)`
const offset = String.raw`(?:Z|(?<sign>[+-])(?<offsetHour>\d\d):?(?<offsetMinute>\d\d))`

/**
 * The shapes of a timestamp in a usage file, one blank between its parts; no text has two of them.
 * Month and day are in the order of the file where the shape has slashes.
 */
export const timestampFormats = {
  slashDate: pattern(slashDate),
  slashMinutes: pattern(`${slashDate} ${clock}`),
  slashSeconds: pattern(`${slashDate} ${clock}${seconds}`),
  slashTwelveHour: pattern(`${slashDate} ${clock}(?:${seconds})? (?<half>[AaPp])[Mm]`),
  isoDate: pattern(isoDate),
  isoMinutes: pattern(isoDate + isoClock),
  isoSeconds: pattern(isoDate + isoClock + seconds),
  isoOffset: pattern(`${isoDate}${isoClock}(?:${seconds})?${offset}`),
} as const satisfies Record<string, RegExp>

export type TimestampFormat = keyof typeof timestampFormats

/** The formats as a person would write them; M/D means either order. */
export const timestampNames = {
  slashDate: 'M/D/YYYY',
  slashMinutes: 'M/D/YYYY H:MM',
  slashSeconds: 'M/D/YYYY H:MM:SS',
  slashTwelveHour: 'M/D/YYYY H:MM AM',
  isoDate: 'YYYY-MM-DD',
  isoMinutes: 'YYYY-MM-DD HH:MM',
  isoSeconds: 'YYYY-MM-DD HH:MM:SS',
  isoOffset: 'YYYY-MM-DD HH:MM:SS with offset',
} as const satisfies Record<TimestampFormat, string>

export const timestampFormatNames = Object.keys(timestampFormats) as TimestampFormat[]

/** Whether a format has no time of day, so that its timestamps are whole local days. */
export function isDayFormat(format: TimestampFormat): boolean {
  return format === 'slashDate' || format === 'isoDate'
}

/** The format that has the shape of `text`, whether or not the calendar knows the date. */
export function detectFormat(text: string): TimestampFormat | undefined {
  return timestampFormatNames.find((name) => timestampFormats[name].test(text))
}

/** A parsed timestamp, with its seconds east of Greenwich where it has an offset. */
export interface Timestamp {
  readonly wall: Wall
  readonly offsetSeconds?: number
}

/**
 * Reads `text` in a known format, or gives undefined where the shape, the calendar date, the year
 * (1970 to 2105) or the time of day (0:00:00 to 23:59:59) is wrong. A day is its midnight.
 */
export function parseTimestamp(
  text: string,
  format: TimestampFormat,
  dateOrder: DateOrder,
): Timestamp | undefined {
  const groups = timestampFormats[format].exec(text)?.groups
  if (groups === undefined) return undefined
  const monthFirst = dateOrder === 'MDY'
  const wall = {
    year: Number(groups['year']),
    month: Number(groups['month'] ?? (monthFirst ? groups['first'] : groups['second'])),
    day: Number(groups['day'] ?? (monthFirst ? groups['second'] : groups['first'])),
    hour: readHour(groups),
    minute: Number(groups['minute'] ?? 0),
    second: Number(groups['seconds'] ?? 0),
  }
  if (!isCalendarDay(wall.year, wall.month, wall.day)) return undefined
  if (!(wall.hour < 24 && wall.minute < 60 && wall.second < 60)) return undefined
  if (format !== 'isoOffset') return { wall }
  const offsetSeconds = readOffset(groups)
  return offsetSeconds === undefined ? undefined : { wall, offsetSeconds }
}

/** Whether the Gregorian calendar has the day, in the years that the store's DateTime can hold. */
export function isCalendarDay(year: number, month: number, day: number): boolean {
  if (year < 1970 || year > 2105 || month < 1 || month > 12) return false
  return day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

type Groups = Readonly<Record<string, string | undefined>>

/** Hour 0 to 23; NaN where a twelve-hour clock does not show 1 to 12. */
function readHour(groups: Groups): number {
  const hour = Number(groups['hour'] ?? 0)
  const half = groups['half']?.toUpperCase()
  if (half === undefined) return hour
  if (hour < 1 || hour > 12) return Number.NaN
  return (hour % 12) + (half === 'P' ? 12 : 0)
}

/** Offsets in use lie between -12:00 and +14:00; hours above 14 are not an offset. */
function readOffset(groups: Groups): number | undefined {
  const [hours, minutes] = [Number(groups['offsetHour'] ?? 0), Number(groups['offsetMinute'] ?? 0)]
  if (hours > 14 || minutes > 59) return undefined
  const size = hours * 3_600 + minutes * 60
  return groups['sign'] === '-' ? 0 - size : size
}

/** Seconds east of Greenwich of an offset such as `+10:00`. */
export function offsetSeconds(offset: string): number {
  const [hours, minutes] = offset.slice(1).split(':').map(Number) as [number, number]
  const size = hours * 3_600 + minutes * 60
  return offset.startsWith('-') ? -size : size
}

function pattern(source: string): RegExp {
  return new RegExp(`^${source}$`)
}
