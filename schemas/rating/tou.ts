import { fromDays } from '../lint/finding.js'
import { daysInForce, toSeasons } from '../lint/seasons.js'
import {
  clock,
  isOn,
  type KindOfDay,
  kindsOfDay,
  offPeakOn,
  quarters,
  quartersOf,
} from '../lint/tou.js'
import {
  type Component,
  type EnergyLine,
  energyLine,
  type RateInterval,
  type RateKind,
  type Unpriced,
} from './kind.js'
import type { RateRow } from './rate-book.js'

/** Time of use: each row prices its hours of its days (decision 29). */
export const tou: RateKind = { feed: 'RateTou', compile }

function compile(rows: readonly RateRow[], interval: RateInterval): Component | Unpriced {
  const { slots } = interval
  const segmentOf = new Uint16Array(slots.count)
  const segments = new Map<RateRow, number>()
  const days = new Map<number, readonly (RateRow | undefined)[]>()
  const dayRows = createDayRows(rows, interval)
  for (let slot = 0; slot < slots.count; slot++) {
    const periodDay = slots.periodDay[slot] as number
    if (periodDay < interval.from || periodDay > interval.to) continue
    const day = slots.day[slot] as number
    let ofDay = days.get(day)
    if (ofDay === undefined) {
      ofDay = dayRows(day)
      days.set(day, ofDay)
    }
    if (ofDay.length === 0) continue
    const quarter = slots.quarter[slot] as number
    const row = ofDay[quarter]
    if (row === undefined) {
      const reason = `no price on ${fromDays(day)} at ${clock(quarter)}`
      return { status: 'noPrice', reason }
    }
    const segment = segments.get(row) ?? segments.size + 1
    segments.set(row, segment)
    segmentOf[slot] = segment
  }
  return {
    name: rows[0]?.row['Component'] ?? '',
    segmentOf,
    lines: [...segments].map(([row, segment]) => toLine(row, segment, interval)),
  }
}

type DayRows = (day: number) => readonly (RateRow | undefined)[]

/** The row of each quarter hour of a day; no rows at all where no season covers the day. */
function createDayRows(rows: readonly RateRow[], interval: RateInterval): DayRows {
  // Where periods break in standard time, an hour of the day before or after is in the interval.
  const seasons = toSeasons(rows, { from: interval.from - 1, to: interval.to + 1 })
  const known = new Map<string, readonly (RateRow | undefined)[]>()
  return (day) => {
    const at = seasons.findIndex(({ from, to }) => from <= day && day <= to)
    const season = seasons[at]
    if (season === undefined || season.rows.length === 0) return []
    const weekday = (day + 4) % 7
    const kind = interval.holidays.has(day) ? 2 : weekday === 0 || weekday === 6 ? 1 : 0
    const key = `${at} ${kind}`
    const found = known.get(key) ?? layOut(season.rows, kindsOfDay[kind])
    known.set(key, found)
    return found
  }
}

function layOut(rows: readonly RateRow[], kind: KindOfDay): readonly (RateRow | undefined)[] {
  const laid = new Array<RateRow | undefined>(quarters).fill(offPeakOn(rows, kind))
  for (const row of rows) {
    if (!isOn(row, kind)) continue
    for (const quarter of quartersOf(row)) laid[quarter] = row
  }
  return laid
}

function toLine(row: RateRow, segment: number, interval: RateInterval): EnergyLine {
  const days = daysInForce(row)
  return energyLine(row, interval, {
    name: row.row['Name'] ?? '',
    tier: 0,
    from: Math.max(interval.from, days.from),
    to: Math.min(interval.to, days.to),
    through: [segment],
    before: [],
  })
}
