import type { DayRange } from '../../pipeline/store/own/holds.js'
import type { Granularity } from '../../schemas/gateway/reads.js'
import {
  addDays,
  dayAt,
  daySeconds,
  nextDay,
  wallSeconds,
  type Zone,
} from '../../schemas/time/zone.js'

/** From an instant up to another, exclusive; epoch seconds. */
export type Span = readonly [start: number, end: number]

/** Days of one page that reads intervals: with the finest usual length, 15 minutes, some 3,000. */
const pageDays = 32

/** Whether a page covers a part of the days only. */
export function isPaged(granularity: Granularity): boolean {
  return granularity === 'interval' || granularity === 'hour'
}

/** The time of local days. */
export function spanOf(zone: Zone, { from, to }: DayRange): Span {
  return [zone.dayStart(from), zone.dayStart(nextDay(to))]
}

/** The local days that a span touches. */
export function localDaysOf(zone: Zone, [start, end]: Span): DayRange {
  return { from: localDay(zone, start), to: localDay(zone, end - 1) }
}

function localDay(zone: Zone, at: number): string {
  return dayAt(zone, new Date(at * 1_000))
}

/** Days from the first to the last, both counted. */
function countDays({ from, to }: DayRange): number {
  return (Date.parse(to) - Date.parse(from)) / (daySeconds * 1_000) + 1
}

/** Why days cannot be asked for together; undefined if they can. */
export function refuseDays(days: DayRange, daysMax: number): string | undefined {
  if (days.from > days.to) return 'from: use a day that is not after to'
  return countDays(days) > daysMax ? `to: use at most ${daysMax} days from from on` : undefined
}

/** The part of a span that one page covers: an answer is bounded in what it reads, not only in what it has. */
export function pageOf(zone: Zone, [start, end]: Span, granularity: Granularity): Span {
  if (!isPaged(granularity)) return [start, end]
  return [start, Math.min(end, zone.dayStart(addDays(localDay(zone, start), pageDays)))]
}

/**
 * The hours, days or months of a span, in order, cut at its ends; of intervals one for all. Hours begin
 * with the local hour, also where the clock changes.
 */
export function divide(
  zone: Zone,
  [start, end]: Span,
  granularity: Exclude<Granularity, 'billingPeriod'>,
): readonly Span[] {
  const starts = [start, ...startsOf(zone, localDaysOf(zone, [start, end]), granularity)]
  const within = starts.filter((at, index) => index === 0 || (at > start && at < end))
  return within.map((at, index): Span => [at, within[index + 1] ?? end])
}

function startsOf(zone: Zone, { from, to }: DayRange, granularity: Granularity): readonly number[] {
  const starts: number[] = []
  if (granularity === 'interval') return starts
  for (let day = from; day <= to; day = nextDay(day)) {
    const [at, next] = spanOf(zone, { from: day, to: day })
    const toNextHour = (hour: number) => 3_600 - (wallSeconds(zone.toWall(hour)) % 3_600)
    if (granularity === 'hour')
      for (let hour = at; hour < next; hour += toNextHour(hour)) starts.push(hour)
    else if (granularity === 'day' || day.endsWith('-01')) starts.push(at)
  }
  return starts
}

/** How long spans are together, in seconds. */
export function secondsOf(spans: readonly Span[]): number {
  return spans.reduce((sum, [start, end]) => sum + end - start, 0)
}

/** What two lists of spans have in common. */
export function intersect(some: readonly Span[], others: readonly Span[]): readonly Span[] {
  return some.flatMap(([start, end]) =>
    others.flatMap(([from, to]): Span[] => {
      const common: Span = [Math.max(start, from), Math.min(end, to)]
      return common[0] < common[1] ? [common] : []
    }),
  )
}

/** What is left of a list of spans without others. */
export function subtract(some: readonly Span[], others: readonly Span[]): readonly Span[] {
  return merge(others).reduce<readonly Span[]>(
    (left, [from, to]) =>
      left.flatMap(([start, end]) => {
        const parts: readonly Span[] = [
          [start, Math.min(end, from)],
          [Math.max(start, to), end],
        ]
        return parts.filter(([a, b]) => a < b)
      }),
    some,
  )
}

/** Spans in order; those that touch or overlap become one. */
export function merge(spans: readonly Span[]): readonly Span[] {
  const merged: [number, number][] = []
  for (const [start, end] of [...spans].sort(([a], [b]) => a - b)) {
    const last = merged.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  return merged
}
