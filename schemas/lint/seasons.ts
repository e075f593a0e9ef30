import { type DaySpan, fromDays, groupRows, type PlacedRow, toDays } from './finding.js'

/** Days on which the same rows hold, both ends inclusive. */
export interface Season<R extends PlacedRow = PlacedRow> {
  readonly from: number
  readonly to: number
  readonly rows: readonly R[]
}

interface RowInterval<R> {
  readonly from: number
  readonly to: number
  readonly row: R
}

/** Ranges without an end, or of every year, are looked at for so many years behind the last date. */
const yearsAhead = 1
const endless = Number.POSITIVE_INFINITY

/**
 * Cuts time where rows of one rate begin or end to hold, in order. Between the first and the last
 * there may be seasons of no rows at all. Rows of every year are laid out for the years of `days` too.
 * The first season in which more rows hold than `rowsAtOnceMax` is the last: some of them are for the
 * same hours, and there would be no end of it.
 */
export function toSeasons<R extends PlacedRow>(
  rows: readonly R[],
  days?: DaySpan,
): readonly Season<R>[] {
  const years = yearsOf(rows, days)
  const intervals = rows.flatMap((row) => toIntervals(row, years))
  const cuts = new Set<number>()
  for (const { from, to } of intervals) {
    cuts.add(from)
    if (to !== endless) cuts.add(to + 1)
  }
  const sorted = [...cuts].sort((a, b) => a - b)
  const seasons = cutAt(sorted, intervals)
  const last = seasons.findLastIndex((season) => season.rows.length > 0)
  return seasons.slice(0, last + 1)
}

/** More than the quarter hours of a day by the five types of days. */
const rowsAtOnceMax = 500

function cutAt<R extends PlacedRow>(
  cuts: readonly number[],
  intervals: readonly RowInterval<R>[],
): readonly Season<R>[] {
  const inOrder = intervals.map((interval, at) => ({ ...interval, at }))
  inOrder.sort((a, b) => a.from - b.from)
  const seasons: Season<R>[] = []
  let begun = 0
  let holding: typeof inOrder = []
  for (const [at, from] of cuts.entries()) {
    holding = holding.filter((one) => one.to >= from)
    while ((inOrder[begun]?.from ?? endless) <= from) {
      const next = inOrder[begun++]
      if (next !== undefined && next.to >= from) holding.push(next)
    }
    const rows = [...holding].sort((a, b) => a.at - b.at).map(({ row }) => row)
    seasons.push({ from, to: (cuts[at + 1] ?? endless) - 1, rows })
    if (rows.length > rowsAtOnceMax) break
  }
  return seasons
}

interface Years {
  readonly first: number
  readonly last: number
}

/** Where no row has a year, a leap year and the one after show all that there is to see. */
function yearsOf(rows: readonly PlacedRow[], days?: DaySpan): Years {
  const asked = days === undefined ? [] : [fromDays(days.from), fromDays(days.to)]
  const years = rows
    .flatMap(({ row }) => [row['RateStartDate'] ?? '', row['RateEndDate'] ?? ''])
    .concat(asked)
    .filter((date) => /^\d/.test(date))
    .map((date) => Number(date.slice(0, 4)))
  if (years.length === 0) return { first: 2024, last: 2024 + yearsAhead }
  return { first: Math.min(...years), last: Math.max(...years) + yearsAhead }
}

function toIntervals<R extends PlacedRow>(
  row: R,
  { first, last }: Years,
): readonly RowInterval<R>[] {
  const from = row.row['RateStartDate'] ?? ''
  const to = row.row['RateEndDate'] ?? ''
  if (!from.startsWith('--')) return [{ ...daysInForce(row), row }]
  const overYearEnd = to < from ? 1 : 0
  const { during = always } = row
  const all = Array.from({ length: last - first + 1 + overYearEnd }, (_, at) => {
    const year = first - overYearEnd + at
    return {
      from: Math.max(onDay(year, from), onDay(first, '--01-01'), during.from),
      to: Math.min(onDay(year + overYearEnd, to), onDay(last, '--12-31'), during.to),
      row,
    }
  })
  return all.filter((one) => one.from <= one.to)
}

const always: DaySpan = { from: -endless, to: endless }

/** The first and the last day on which a row may apply; infinite without an end and of every year. */
export function daysInForce({ row, during = always }: PlacedRow): DaySpan {
  const [from, to] = [row['RateStartDate'] ?? '', row['RateEndDate'] ?? '']
  if (from.startsWith('--')) return during
  return { from: toDays(from), to: to === '' ? endless : toDays(to) }
}

/** That day of a year; 29 February is the 28th where the year has none. */
function onDay(year: number, day: string): number {
  const days = toDays(`${year}-${day.slice(2)}`)
  return Number.isNaN(days) || fromDays(days).slice(5) !== day.slice(2)
    ? toDays(`${year}-02-28`)
    : days
}

/** The component of the energy itself: that of rows that name none. */
export const energyComponent = 'Energy'

/** A component of a rate and its first and last day, infinite for rows without an end or of every year. */
export interface ComponentDays extends DaySpan {
  readonly name: string
}

/** The components of the energy rows of one rate code. */
export function toComponents(rows: readonly PlacedRow[]): readonly ComponentDays[] {
  return groupRows(rows, 'Component').map((own) => {
    const days = own.map(daysInForce)
    return {
      name: own[0]?.row['Component'] ?? '',
      from: Math.min(...days.map(({ from }) => from)),
      to: Math.max(...days.map(({ to }) => to)),
    }
  })
}

/** Whether the component has another name before or after: one that begins as it ends, or ends as it begins. */
export function isRenamed({ from, to }: DaySpan, components: readonly ComponentDays[]): boolean {
  return components.some((other) => other.from === to + 1 || other.to === from - 1)
}

/** `2026-06-01 to 2026-09-30`, or `from 2026-06-01 on`. */
export function spellSeason({ from, to }: Pick<Season, 'from' | 'to'>): string {
  return Number.isFinite(to) ? `${fromDays(from)} to ${fromDays(to)}` : `${fromDays(from)} on`
}
