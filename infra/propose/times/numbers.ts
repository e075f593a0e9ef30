import {
  type ChangeDay,
  changeDayOf,
  intervalPlaceOf,
  type Numbering,
  numberingsOf,
} from '../../../pipeline/formats/csv/interval-numbers.js'
import type { DateOrder } from '../../../schemas/time/timestamp.js'
import type { Zone } from '../../../schemas/time/zone.js'
import type { Column } from '../columns.js'
import type { Findings } from '../finding.js'
import { columnWords } from '../words.js'
import { dayText, toSeconds, zoneChanges } from './times.js'

/** A column that numbers the intervals of a day. */
export interface NumberColumn {
  readonly column: Column
  /** The number of the first interval. */
  readonly first: number
  /** Seconds. */
  readonly interval: number
}

type Rows = readonly (readonly string[])[]

const lengths = [3_600, 1_800, 900, 300] as const
const longestHours = 25
/** Of the intervals of a day, how many must be there, and on how many of the days. */
const presentShare = 0.9
const daysShare = 0.5

/** The columns that may number intervals; `interval` is known where they run through whole days. */
function candidatesOf(columns: readonly Column[], time: Column, rows: Rows) {
  return columns.flatMap((column) => {
    const places = column.texts.map((text) => intervalPlaceOf(text, 0))
    const isNumbers = places.every((place) => place !== undefined) && places.length > 1
    if (!isNumbers || column === time || !column.isAlwaysThere) return []
    const first = Math.min(...(places as number[]))
    const most = Math.max(...(places as number[])) - first + 1
    if (first > 1 || most > (longestHours * 3_600) / 300) return []
    const interval = lengths.find((length) => {
      const hour = 3_600 / length
      return most >= 23 * hour && most <= longestHours * hour
    })
    const isFull = interval !== undefined && isOnMostDays(column, { time, rows, interval })
    const isNamed = columnWords.intervalNumber.test(column.word)
    return isFull || isNamed
      ? [{ column, first, interval: isFull ? interval : undefined, isNamed }]
      : []
  })
}

function isOnMostDays(
  { at }: Column,
  {
    time,
    rows,
    interval,
  }: { readonly time: Column; readonly rows: Rows; readonly interval: number },
): boolean {
  const days = new Map<string, Set<string>>()
  for (const row of rows) {
    const day = row[time.at] as string
    const numbers = days.get(day) ?? new Set()
    numbers.add(row[at] as string)
    days.set(day, numbers)
  }
  const wanted = (presentShare * 86_400) / interval
  const full = [...days.values()].filter(({ size }) => size >= wanted).length
  return full > 0 && full >= daysShare * days.size
}

interface NumbersQuestion {
  readonly columns: readonly Column[]
  readonly rows: Rows
  readonly time: Column
  readonly reference: {
    readonly to: (column: Column) => string | number
    readonly from: (value: unknown) => Column | undefined
  }
}

/** Finds the column of interval numbers, where days are all that the times say. */
export function findNumbers(
  { columns, rows, time, reference }: NumbersQuestion,
  findings: Findings,
): NumberColumn | undefined {
  const found = candidatesOf(columns, time, rows)
  if (found.length === 0) return undefined
  const named = found.filter(({ isNamed }) => isNamed)
  const isUnnamed = columns.every(({ name }) => name === '')
  const [only, ...others] = named.length > 0 ? named : found
  const isSure = only?.interval !== undefined && others.length === 0 && (only.isNamed || isUnnamed)
  const shown = found.map(({ column }) => column.name || `position ${column.at + 1}`).join(' or ')
  const decided = findings.decide('columns.intervalNumber', {
    ...(isSure && only && { value: reference.to(only.column) }),
    evidence: isSure
      ? `its numbers are those of the ${86_400 / (only.interval ?? 1)} intervals of a day`
      : 'the times are dates only',
    question: `does a column number the intervals of a day: ${shown}? Answer its name, or none where a row is a day`,
  })
  const column = reference.from(decided)
  if (column === undefined) return undefined
  const own = found.find((one) => one.column === column)
  const interval = findings.decide('interval', {
    value: own?.interval,
    evidence: 'the numbers of a day',
    question: 'how long is an interval, in seconds?',
  })
  if (typeof interval !== 'number') return undefined
  const first = own?.first ?? 1
  if (first === 0) decideFirst(column, findings)
  return { column, first, interval }
}

function decideFirst({ word }: Column, findings: Findings): void {
  const isStart = columnWords.start.test(word) && !columnWords.end.test(word)
  findings.decide('firstNumber', {
    ...(isStart && { value: 0 }),
    evidence: 'the numbers begin with 0',
    question:
      'does 0 number the interval that begins at midnight? Then answer 0; otherwise export numbers from 1',
  })
}

interface NumberingQuestion {
  readonly numbers: NumberColumn
  readonly time: Column
  readonly rows: Rows
  readonly order: DateOrder
}

/** Whether the days of the numbers follow the clock, and what the numbers do when it changes. */
export function decideNumbering(
  question: NumberingQuestion,
  { findings, zone }: { readonly findings: Findings; readonly zone: Zone },
): void {
  const { timeZone } = zone
  const days = changedDays(question, zone)
  const possible = days.reduce<readonly Numbering[]>(
    (kept, { counts, day }) => numberingsOf(counts, day).filter((one) => kept.includes(one)),
    ['counted', 'clock', 'fixed'],
  )
  const { from, to } = spanOf(question)
  const changes = zoneChanges(zone, from - yearSeconds, to + yearSeconds)
  const dates = days.map(({ date }) => date).join(', ')
  const seen = days.length > 0 ? `the numbers on ${dates}, when the clock changes` : undefined
  const evidence = seen ?? `no sample has a day on which ${timeZone} changes its clock`
  const isWall = possible.length > 0 && !possible.includes('fixed')
  const clock = findings.decide('clock', {
    ...(isWall && { value: 'wall' }),
    evidence: possible.length === 1 && !isWall ? `${evidence}, are those of 24 hours` : evidence,
    question:
      possible.length === 1
        ? 'are the days those of standard time of the zone (standard), or of an offset such as "+00:00"?'
        : 'do the days follow daylight saving time (wall), standard time all year (standard), or an offset such as "+00:00"?',
  })
  if (clock !== 'wall' || changes.length === 0) return
  const left = possible.filter((one) => one !== 'fixed')
  findings.decide('numbering', {
    ...(left.length === 1 && { value: left[0] }),
    evidence,
    question:
      'on a day of 23 or 25 hours, do the numbers count its intervals (counted), or is a number of the clock absent or there twice (clock)?',
  })
}

const yearSeconds = 366 * 86_400

function spanOf({ time, order }: NumberingQuestion) {
  const all = time.texts.map((text) => toSeconds(text, order)).filter((one) => one !== undefined)
  const [first = 0] = all
  return {
    from: all.reduce((low, one) => Math.min(low, one), first),
    to: all.reduce((high, one) => Math.max(high, one), first),
  }
}

interface ChangedDay {
  readonly date: string
  readonly day: ChangeDay
  readonly counts: Uint32Array
}

function changedDays({ numbers, time, rows, order }: NumberingQuestion, zone: Zone) {
  const days = new Map<string, ChangedDay | undefined>()
  const found = (text: string): ChangedDay | undefined => {
    const seconds = toSeconds(text, order)
    const date = seconds === undefined ? undefined : dayText(seconds)
    const day = date === undefined ? undefined : changeDayOf(zone, date, numbers.interval)
    if (date === undefined || day === undefined) return undefined
    return { date, day, counts: new Uint32Array((longestHours * 3_600) / numbers.interval) }
  }
  for (const row of rows) {
    const text = row[time.at] as string
    if (!days.has(text)) days.set(text, found(text))
    const day = days.get(text)
    const place = intervalPlaceOf(row[numbers.column.at] as string, numbers.first)
    if (day !== undefined && place !== undefined) day.counts[place] = (day.counts[place] ?? 0) + 1
  }
  return [...days.values()].filter((day) => day !== undefined)
}
