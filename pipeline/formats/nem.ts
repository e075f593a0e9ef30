import { isCalendarDay } from '../../schemas/time/timestamp.js'

/** Seconds east of Greenwich of an offset such as `+10:00`. */
export function offsetSeconds(offset: string): number {
  const [hours, minutes] = offset.slice(1).split(':').map(Number) as [number, number]
  const size = hours * 3_600 + minutes * 60
  return offset.startsWith('-') ? -size : size
}

/** When a day `YYYYMMDD` starts at an offset in seconds, epoch seconds; undefined for any other text. */
export function readAemoDay(text: string, offset: number): number | undefined {
  const found = /^(\d{4})(\d\d)(\d\d)$/.exec(text.trim())
  if (found === null) return undefined
  const [year, month, day] = found.slice(1).map(Number) as [number, number, number]
  if (!isCalendarDay(year, month, day)) return undefined
  return Date.UTC(year, month - 1, day) / 1_000 - offset
}

const warningsMax = 20

/** What was counted while a file was read, for its receipt. */
export function tallyWarnings(counted: ReadonlyMap<string, number>): readonly string[] {
  const all = [...counted].map(([what, intervals]) => `intervals ${what}: ${intervals}`)
  const more = all.length - warningsMax
  return more > 0 ? [...all.slice(0, warningsMax), `and ${more} other kinds of intervals`] : all
}
