import { isObject } from '../../json.js'
import { isDay } from '../../record-value.js'
import { nextDay } from '../../time/zone.js'
import { placeOf, type Tariff, wrong } from './tariff.js'

/** What a person adds where an entry has no dates. */
export interface ImportDays {
  /** The first day of entries without a start. */
  readonly from?: string | undefined
  /** The last day of prices that change within the year, for entries without an end. */
  readonly until: string
}

/** The days of an entry, both inclusive. */
export interface TariffDays {
  readonly from: string
  /** Undefined if the rate holds on. */
  readonly to: string | undefined
  /** The last day for which rows are written where they cannot be left open. */
  readonly until: string
}

/** Reads the days of an entry. Throws `CONFIG`. */
export function daysOf(tariff: Tariff, { from: given, until }: ImportDays): TariffDays {
  const from = dayOf(tariff, 'startdate') ?? given
  const to = dayOf(tariff, 'enddate')
  if (from === undefined) {
    throw wrong(placeOf(tariff.at, ['startdate']), undefined, 'name the first day with --from')
  }
  if (to !== undefined && to < from) {
    const remedy = 'Correct one of the two in the file, or remove the entry'
    throw wrong(placeOf(tariff.at, ['enddate']), to, `expected a day from ${from} on. ${remedy}`)
  }
  if (to === undefined && until < from) {
    const expected = `rows would end before, on ${until}. Name a later day with --until`
    throw wrong(placeOf(tariff.at, ['startdate']), from, expected)
  }
  return { from, to, until: to ?? until }
}

const dayMs = 86_400_000

/** Whether a date is nearer to the next day's midnight in UTC, so that a zone may have another day. */
export function isUnsureDay(value: unknown): boolean {
  return typeof value === 'number' && (value * 1_000) % dayMs > dayMs / 2
}

/**
 * The day of a date, which is in seconds since 1970 or text. Dates of the database are midnight of a
 * zone of the Americas, which is the same day in UTC.
 */
function dayOf(tariff: Tariff, name: 'startdate' | 'enddate'): string | undefined {
  const value = tariff[name]
  if (value === undefined) return undefined
  const day = textOf(isObject(value) ? value['$date'] : value)
  if (day !== undefined && isDay(day)) return day
  const expected = 'expected seconds since 1970, or text that starts with YYYY-MM-DD'
  throw wrong(placeOf(tariff.at, [name]), value, `${expected}. Correct it in the file`)
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\d(?!\d)/.exec(value)?.[0]
  if (typeof value !== 'number') return undefined
  const date = new Date(value * 1_000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, 10)
}

/** Days on which a rate has the prices of one month. */
export interface MonthSpan {
  /** From 0. */
  readonly month: number
  readonly from: string
  /** Empty if it holds on. */
  readonly to: string
}

const monthsOfYear = 12

/**
 * Cuts the days of an entry where what the months have changes; `keys` has one text for each month.
 * Rows of a season cannot hold on for ever, so these end on `until`.
 */
export function spansOf(
  keys: readonly string[],
  { from, to, until }: TariffDays,
): readonly MonthSpan[] {
  if (keys.every((key) => key === keys[0])) return [{ month: 0, from, to: to ?? '' }]
  const spans: MonthSpan[] = []
  let first = from
  while (first <= until) {
    const month = monthOf(first)
    let last = lastOfMonth(first)
    while (last < until && keys[monthOf(nextDay(last))] === keys[month]) {
      last = lastOfMonth(nextDay(last))
    }
    spans.push({ month, from: first, to: last < until ? last : until })
    first = nextDay(last)
  }
  return spans
}

const monthOf = (day: string) => (Number(day.slice(5, 7)) - 1) % monthsOfYear

function lastOfMonth(day: string): string {
  const [year, month] = [Number(day.slice(0, 4)), Number(day.slice(5, 7))]
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
}
