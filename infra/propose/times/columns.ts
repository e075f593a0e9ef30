import { toClock } from '../../../pipeline/formats/csv/times.js'
import type { Column } from '../columns.js'
import type { Findings } from '../finding.js'
import { columnWords } from '../words.js'
import { findNumbers, type NumberColumn } from './numbers.js'
import { toSeconds } from './times.js'

/** The columns that say when an interval is. */
export interface TimeColumns {
  readonly time: Column
  readonly timeOfDay: Column | undefined
  /** The column that numbers intervals, where times are dates only. */
  readonly numbers?: NumberColumn | undefined
  /** The length that a second column shows, seconds, and that `time` is the start. */
  readonly length: number | undefined
}

type Rows = readonly (readonly string[])[]

/** Rows that are compared to find pairs of columns. */
const comparedRows = 2_000
/** Columns of times that are compared with each other. */
const comparedColumns = 8
const pairShare = 0.95

/** Finds them; undefined while a question about them is open. `byReference` finds an answered column. */
export function findTimes(
  {
    columns,
    rows,
    isWide,
  }: { readonly columns: readonly Column[]; readonly rows: Rows; readonly isWide: boolean },
  findings: Findings,
  reference: {
    readonly to: (column: Column) => string | number
    readonly from: (value: unknown) => Column | undefined
  },
): TimeColumns | undefined {
  const some = rows.slice(0, comparedRows)
  const ofKind = (wanted: Column['kind']) => columns.filter(({ kind }) => kind === wanted)
  const isOfInterval = ({ word }: Column) => !columnWords.otherTime.test(word)
  // The time of an export is the same in each row.
  const isMoving = ({ texts }: Column) => texts.length > 1 || rows.length === 1
  const clocks = ofKind('clock')
  const stamps = ofKind('time').filter(isMoving)
  const dates = ofKind('date')
  const hasStamps = stamps.some(isOfInterval) || dates.length === 0
  const candidates = hasStamps ? stamps : dates
  const pair = startAndEnd(candidates, some)
  const own = candidates.filter(isOfInterval)
  const only = own.length === 1 ? own[0] : undefined
  // Of dates alone the start may be that of a month.
  const named = clocks.length > 0 && pair === undefined ? startByName(own) : undefined
  const chosen =
    pair?.start ?? named ?? only ?? (candidates.length === 1 ? candidates[0] : undefined)
  const what = hasStamps ? 'dates and times' : 'dates'
  const decided = findings.decide('columns.time', {
    value: chosen && reference.to(chosen),
    evidence:
      chosen === undefined
        ? `${candidates.length} columns have ${what}`
        : chosen === named
          ? 'its name; the other one is that of the end'
          : pair === undefined
            ? `the only column of ${what}${candidates.length > 1 ? ' of intervals' : ''}`
            : `${nameOf(pair.end)} is always ${lengthText(pair.length)} later`,
    question: `which column has the time of the interval: ${candidates.map(nameOf).join(' or ')}?`,
  })
  const time = reference.from(decided)
  if (time === undefined) return undefined
  const isDay = time.kind === 'date' || time.texts.every(isMidnight)
  if (isDay && clocks.length === 0 && !isWide) {
    const numbers = findNumbers({ columns, rows, time, reference }, findings)
    if (numbers !== undefined) {
      return { time, timeOfDay: undefined, numbers, length: numbers.interval }
    }
  }
  if (time.kind === 'time' || clocks.length === 0) {
    return { time, timeOfDay: undefined, length: time === pair?.start ? pair.length : undefined }
  }
  const span = startAndEnd(clocks, some)
  const clock = span?.start ?? (clocks.length === 1 ? clocks[0] : undefined)
  const timeOfDay = reference.from(
    findings.decide('columns.timeOfDay', {
      value: clock && reference.to(clock),
      evidence:
        span === undefined
          ? 'the only column of times of day'
          : `${nameOf(span.end)} is always ${lengthText(span.length)} later`,
      question: `which column has the time of day: ${clocks.map(nameOf).join(' or ')}?`,
    }),
  )
  if (timeOfDay === undefined) return undefined
  return { time, timeOfDay, length: timeOfDay === span?.start ? span.length : undefined }
}

export function nameOf({ name, at }: Pick<Column, 'name' | 'at'>): string {
  return name === '' ? `position ${at + 1}` : JSON.stringify(name)
}

export function lengthText(seconds: number): string {
  return seconds % 3_600 === 0 ? `${seconds / 3_600} h` : `${seconds / 60} minutes`
}

/** The one of two columns that is named as a start, where the other is named as an end. */
function startByName(columns: readonly Column[]): Column | undefined {
  const [starts, ends] = [columnWords.start, columnWords.end].map((pattern) =>
    columns.filter(({ word }) => pattern.test(word)),
  )
  const isPair = columns.length === 2 && starts?.length === 1 && ends?.length === 1
  return isPair && starts[0] !== ends[0] ? starts[0] : undefined
}

interface Pair {
  readonly start: Column
  readonly end: Column
  readonly length: number
}

/** Two columns of which one is later by the same length in nearly all rows. */
function startAndEnd(columns: readonly Column[], rows: Rows): Pair | undefined {
  const compared = columns.slice(0, comparedColumns)
  for (const start of compared) {
    for (const end of compared) {
      if (start === end) continue
      const length = distance(start, end, rows)
      if (length !== undefined) return { start, end, length }
    }
  }
  return undefined
}

const day = 86_400

function distance(start: Column, end: Column, rows: Rows): number | undefined {
  const counts = new Map<number, number>()
  for (const row of rows) {
    const [from, to] = [start, end].map(({ at }) => secondsOf(row[at] as string))
    if (from === undefined || to === undefined) continue
    const gap = start.kind === 'clock' ? (to - from + day) % day : to - from
    counts.set(gap, (counts.get(gap) ?? 0) + 1)
  }
  for (const [gap, count] of counts) {
    // A report may name the last minute or second of the interval: 0:00 to 0:14.
    const whole = gap % 300 === 240 ? gap + 60 : gap % 300 === 299 ? gap + 1 : gap
    const isLength =
      whole >= 60 && (3_600 % whole === 0 || (whole === day && start.kind !== 'clock'))
    if (isLength && count >= pairShare * rows.length) return whole
  }
  return undefined
}

/** A date of a database that has only dates. */
function isMidnight(text: string): boolean {
  return /[ T]0?0:00(:00)?(\.0+)?$/.test(text)
}

function secondsOf(text: string): number | undefined {
  const [, hour, minute] = /^(\d\d):(\d\d)/.exec(toClock(text) ?? '') ?? []
  if (hour !== undefined) return Number(hour) * 3_600 + Number(minute) * 60
  return toSeconds(text, 'MDY') ?? toSeconds(text, 'DMY')
}
