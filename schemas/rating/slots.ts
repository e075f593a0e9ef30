import { fromDays, toDays } from '../lint/finding.js'
import { daySeconds, type Zone } from '../time/zone.js'

/**
 * The quarter hours of a interval of time, each with what a rate asks of it. Days are counted from
 * 1970. Clock changes are settled here: nothing behind this knows of zones.
 */
export interface Slots {
  /** Epoch seconds of the first. */
  readonly startsAt: number
  readonly count: number
  /** The calendar day on the wall, by which prices, seasons and holidays go. */
  readonly day: Int32Array
  /** The quarter hour of the clock on the wall, 0 to 95. */
  readonly quarter: Uint8Array
  /** The day by which a slot belongs to a billing period: that of standard time where it breaks so. */
  readonly periodDay: Int32Array
}

export type PeriodClock = 'wall' | 'standard'

export const slotSeconds = 900
const dayMs = 86_400_000

/** All slots of the period days `from` to `to`, both inclusive. */
export function createSlots(
  zone: Zone,
  { from, to }: { readonly from: number; readonly to: number },
  periodClock: PeriodClock,
): Slots {
  const startsAt = periodStart(zone, fromDays(from), periodClock)
  const count = (periodStart(zone, fromDays(to + 1), periodClock) - startsAt) / slotSeconds
  const day = new Int32Array(count)
  const quarter = new Uint8Array(count)
  const periodDay = new Int32Array(count)
  for (let slot = 0; slot < count; slot++) {
    const instant = startsAt + slot * slotSeconds
    const wall = zone.toWall(instant)
    day[slot] = Date.UTC(wall.year, wall.month - 1, wall.day) / dayMs
    quarter[slot] = wall.hour * 4 + Math.floor(wall.minute / 15)
    periodDay[slot] =
      periodClock === 'wall'
        ? (day[slot] as number)
        : Math.floor((instant + zone.standardOffsetSeconds(wall.year)) / 86_400)
  }
  return { startsAt, count, day, quarter, periodDay }
}

/** The instant at which a day, `YYYY-MM-DD`, begins for billing: epoch seconds. */
export function periodStart(zone: Zone, day: string, periodClock: PeriodClock): number {
  if (periodClock === 'wall') return zone.dayStart(day)
  return toDays(day) * daySeconds - zone.standardOffsetSeconds(Number(day.slice(0, 4)))
}

/** Local days after its last of which a period may have an hour: one where it ends in standard time. */
export function daysBehind(periodClock: PeriodClock): number {
  return periodClock === 'standard' ? 1 : 0
}

const quartersOfDay = 96

/**
 * For each quarter hour of the clock on some days, both inclusive, the first slot that it has; a
 * day's slots before the first where the clock skips it.
 */
export function slotsOnWall(
  slots: Slots,
  { from, to }: { readonly from: number; readonly to: number },
): readonly number[] {
  const known = new Array<number>((to - from + 1) * quartersOfDay).fill(-quartersOfDay)
  for (let slot = slots.count - 1; slot >= 0; slot--) {
    const day = (slots.day[slot] as number) - from
    const at = day * quartersOfDay + (slots.quarter[slot] as number)
    if (at in known) known[at] = slot
  }
  return known
}

/** The first slot of each period day. */
export function dayStarts(slots: Slots): readonly number[] {
  const starts: number[] = []
  for (let slot = 0; slot < slots.count; slot++) {
    if (slot === 0 || slots.periodDay[slot] !== slots.periodDay[slot - 1]) starts.push(slot)
  }
  return starts
}

/** The slots of some days, the second one exclusive. */
export function slotsOf(slots: Slots, days: { readonly from: number; readonly to: number }) {
  let [from, to] = [slots.count, 0]
  for (let slot = 0; slot < slots.count; slot++) {
    const day = slots.periodDay[slot] as number
    if (day < days.from || day > days.to) continue
    from = Math.min(from, slot)
    to = slot + 1
  }
  return { from, to }
}
