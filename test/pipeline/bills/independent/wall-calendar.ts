/** Days are counted from 1970-01-01, instants in seconds. */
export const daySeconds = 86_400

export function dayOf(text: string): number {
  return Date.parse(`${text}T00:00:00Z`) / (daySeconds * 1_000)
}

export function textOf(day: number): string {
  return new Date(day * daySeconds * 1_000).toISOString().slice(0, 10)
}

export function daysBetween(first: number, last: number): readonly number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at)
}

export function isWeekend(day: number): boolean {
  // 1970-01-01 was a Thursday: the days 2 and 3 were a weekend.
  return day % 7 === 2 || day % 7 === 3
}

export interface WallTime {
  readonly day: number
  /** Since the wall's midnight. */
  readonly minute: number
}

/** What the walls of one time zone show, taken from Intl. */
export interface WallCalendar {
  toWall(instant: number): WallTime
  /** The first instant of a local day. */
  startOf(day: number): number
}

export function createWallCalendar(timeZone: string): WallCalendar {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  const offsets = new Map<number, number>()
  /** Seconds ahead of UTC; zones change on whole hours. */
  const offsetAt = (instant: number) => {
    const hour = Math.floor(instant / 3_600)
    const known = offsets.get(hour)
    if (known !== undefined) return known
    const parts = format.formatToParts(new Date(hour * 3_600_000))
    const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0'] = /([+-])(\d+):(\d+)/.exec(text) ?? []
    const seconds = (sign === '-' ? -1 : 1) * (Number(hours) * 3_600 + Number(minutes) * 60)
    offsets.set(hour, seconds)
    return seconds
  }
  return {
    toWall: (instant) => {
      const local = instant + offsetAt(instant)
      const day = Math.floor(local / daySeconds)
      return { day, minute: Math.floor((local - day * daySeconds) / 60) }
    },
    startOf: (day) => {
      const midnight = day * daySeconds
      return midnight - offsetAt(midnight - offsetAt(midnight))
    },
  }
}
