import { type DateOrder, isCalendarDay } from './timestamp.js'
import { addDays } from './zone.js'

/** What the timestamps of a whole file say about the order of day and month. */
export interface DateOrderProof {
  /** The proved order, if any; `mixed` where the file has dates of both orders. */
  readonly proved: DateOrder | 'mixed' | undefined
  /** The evidence in plain text. */
  readonly proof: string
}

interface SlashDate {
  readonly text: string
  readonly first: number
  readonly second: number
  readonly year: number
}

const orders = ['MDY', 'DMY'] as const
const slashes = /^[ \t]*((\d{1,2})\/(\d{1,2})\/(\d{4}))(?!\d)/
/** Different dates of a file that are looked at: more than a hundred years of them. */
export const datesMax = 40_000
const monthMax = 12

/**
 * Proves the date order of a file from all its different timestamps (decision 13): a component
 * above 12, a date later than the file's own plus one day under one order only, or three dates that
 * are consecutive days under one order only. Never guesses. Components above 12 in both places say
 * that the file is mixed; where weaker evidence says both, nothing is proved.
 */
export function proveDateOrder(texts: Iterable<string>, fileDate: string): DateOrderProof {
  const dates = readDates(texts)
  if (dates.length === 0)
    return { proved: undefined, proof: 'no timestamp begins with a day or month' }
  const components = byComponent(dates)
  if (components.length === 2) return { proved: 'mixed', proof: spell(components) }
  const evidence = [components, byFileDate(dates, fileDate), byNeighbours(dates)].flat()
  const proved = orders.filter((order) => evidence.some((one) => one.order === order))
  const proof = spell(evidence)
  if (proved.length === 1) return { proved: proved[0], proof }
  if (proved.length === 2) return { proved: undefined, proof: `contradictory: ${proof}` }
  return { proved: undefined, proof: 'every date can be read both ways' }
}

/** The date of a timestamp whose order of day and month must be known; undefined where it has none. */
export function orderedDate(text: string): string | undefined {
  return slashes.exec(text)?.[1]
}

interface Evidence {
  readonly order: DateOrder
  readonly words: string
}

function spell(evidence: readonly Evidence[]): string {
  return evidence.map(({ words }) => words).join('; ')
}

function readDates(texts: Iterable<string>): readonly SlashDate[] {
  const found = new Map<string, SlashDate>()
  for (const text of texts) {
    const [, date, first, second, year] = slashes.exec(text) ?? []
    if (date === undefined || found.has(date)) continue
    found.set(date, {
      text: date,
      first: Number(first),
      second: Number(second),
      year: Number(year),
    })
  }
  return [...found.values()]
    .filter((date) => orders.some((order) => dayUnder(order, date) !== undefined))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
}

/** `YYYY-MM-DD`, undefined where the calendar has no such day. */
function dayUnder(order: DateOrder, { first, second, year }: SlashDate): string | undefined {
  const [month, day] = order === 'MDY' ? [first, second] : [second, first]
  if (!isCalendarDay(year, month, day)) return undefined
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

function byComponent(dates: readonly SlashDate[]): readonly Evidence[] {
  return orders.flatMap((order) => {
    const large = dates.find((date) => {
      const day = order === 'MDY' ? date.second : date.first
      return day > monthMax && dayUnder(order, date) !== undefined
    })
    if (large === undefined) return []
    const place = order === 'MDY' ? 'second' : 'first'
    return [{ order, words: `${large.text} has a ${place} number above 12, which is a day` }]
  })
}

/** A date in the future under one order is read under the other. */
function byFileDate(dates: readonly SlashDate[], fileDate: string): readonly Evidence[] {
  const latest = addDays(fileDate, 1)
  return orders.flatMap((order) => {
    const other = order === 'MDY' ? 'DMY' : 'MDY'
    const date = dates.find((one) => {
      const [here, there] = [dayUnder(order, one), dayUnder(other, one)]
      return here !== undefined && here <= latest && there !== undefined && there > latest
    })
    if (date === undefined) return []
    return [
      { order, words: `${date.text} lies after the file's date ${fileDate} if read ${other}` },
    ]
  })
}

/** Three days in a row under one order, and none under the other. */
function byNeighbours(dates: readonly SlashDate[]): readonly Evidence[] {
  const rows = orders.map((order) => ({ order, first: firstOfThree(order, dates) }))
  const found = rows.filter((row) => row.first !== undefined)
  const [only] = found
  if (only === undefined || found.length !== 1) return []
  const words = `three dates from ${only.first} on are consecutive days only if read ${only.order}`
  return [{ order: only.order, words }]
}

function firstOfThree(order: DateOrder, dates: readonly SlashDate[]): string | undefined {
  const days = new Map<string, string>()
  for (const date of dates) {
    const day = dayUnder(order, date)
    if (day !== undefined) days.set(day, date.text)
  }
  for (const [day, text] of days) {
    if (days.has(addDays(day, 1)) && days.has(addDays(day, 2))) return text
  }
  return undefined
}
