import type { Season } from '../lint/seasons.js'
import type { RateInterval } from './kind.js'
import type { RateRow } from './rate-book.js'

/** The seasons of a interval of days, cut to it, and the one that each slot is in, counted from 1. */
export interface CutDays {
  readonly seasons: readonly Season<RateRow>[]
  readonly segmentOf: Uint16Array
}

/** Cuts the days of a interval where the rows that hold change. */
export function cutDays(all: readonly Season<RateRow>[], interval: RateInterval): CutDays {
  const { slots, from, to } = interval
  const seasons = all
    .filter((season) => season.rows.length > 0 && season.from <= to && season.to >= from)
    .map((one) => ({ ...one, from: Math.max(from, one.from), to: Math.min(to, one.to) }))
  const segmentOf = new Uint16Array(slots.count)
  for (let slot = 0; slot < slots.count; slot++) {
    const periodDay = slots.periodDay[slot] as number
    if (periodDay < from || periodDay > to) continue
    const day = slots.day[slot] as number
    // Where periods break in standard time, an hour of the day before or after is in the period.
    const within = Math.min(to, Math.max(from, day))
    const at = seasons.findIndex((season) => season.from <= within && within <= season.to)
    segmentOf[slot] = at + 1
  }
  return { seasons, segmentOf }
}
