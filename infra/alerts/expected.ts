import type { ExpectedFile, Weekday } from '../../schemas/settings/alert.js'
import { addDays, type Zone } from '../../schemas/time/zone.js'

/** How far back missing files are counted. */
export const daysLookedBack = 31

/** A file that was due: the date in its name, and its deadline. */
export interface DueFile {
  readonly fileDate: string
  readonly dueAt: Date
}

/** The files that were due by an instant, latest first. */
export function listDueFiles(
  { by, days, daysBack }: ExpectedFile,
  { zone, now }: { readonly zone: Zone; readonly now: Date },
): readonly DueFile[] {
  const { year, month, day } = zone.toWall(Math.floor(now.getTime() / 1_000))
  const today = new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10)
  const [hours = 0, minutes = 0] = by.split(':').map(Number)
  return Array.from({ length: daysLookedBack }, (_, back) => addDays(today, -back))
    .filter((due) => days.includes(weekdayOf(due)))
    .map((due) => ({
      fileDate: addDays(due, -daysBack),
      dueAt: new Date(instantOf(zone, due, { hour: hours, minute: minutes }) * 1_000),
    }))
    .filter(({ dueAt }) => dueAt <= now)
}

/** A local time that the clock skips counts as the same duration after midnight. */
function instantOf(zone: Zone, day: string, time: { hour: number; minute: number }): number {
  const midnight = zone.dayStart(day)
  const [instant] = zone.toInstants({ ...zone.toWall(midnight), ...time, second: 0 })
  return instant ?? midnight + time.hour * 3_600 + time.minute * 60
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

function weekdayOf(day: string): Weekday {
  return weekdays[new Date(`${day}T00:00:00Z`).getUTCDay()] ?? 'Sun'
}
