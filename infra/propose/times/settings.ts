import { changeDayOf, intervalPlaceOf } from '../../../pipeline/formats/csv/interval-numbers.js'
import { orderedDate } from '../../../schemas/time/date-order.js'
import type { DateOrder } from '../../../schemas/time/timestamp.js'
import { daySeconds, type Zone } from '../../../schemas/time/zone.js'
import type { Column } from '../columns.js'
import type { Findings } from '../finding.js'
import type { SentSample } from '../sample.js'
import type { Table } from '../table.js'
import type { WideColumns } from '../wide.js'
import { columnWords } from '../words.js'
import { lengthText, type TimeColumns } from './columns.js'
import { decideNumbering } from './numbers.js'
import {
  dayText,
  describeZone,
  findClock,
  findDateOrder,
  findStamp,
  hasOffset,
  type MeterTimes,
  timeOfDayText,
  toSeconds,
} from './times.js'

/** What is known before the columns are looked at. */
export interface ProposalContext {
  readonly findings: Findings
  /** The zone, once decided; `evidence` is for the question. */
  readonly zoneBy: (evidence: string) => Zone | undefined
}

export function placesOf(times: TimeColumns | undefined): readonly Column[] {
  if (times === undefined) return []
  const { time, timeOfDay, numbers } = times
  return [time, timeOfDay, numbers?.column].filter((column) => column !== undefined)
}

export function orderOf(
  samples: readonly SentSample[],
  times: TimeColumns,
  findings: Findings,
): DateOrder {
  const shown = findDateOrder(times.time.texts, latestOf(samples))
  if (shown === undefined) return 'MDY'
  const asks = findings.all.some(({ setting, question }) => setting === 'yearDigits' && question)
  const evidence = `${asks ? 'if the year is the last number, ' : ''}${shown.evidence}`
  return findings.decide('dateOrder', { ...shown, evidence }) === 'DMY' ? 'DMY' : 'MDY'
}

/** The date of the latest sample, `YYYY-MM-DD`. */
function latestOf(samples: readonly SentSample[]): string {
  return samples
    .map(({ fileDate }) => fileDate)
    .sort()
    .at(-1) as string
}

/** Reads of a sample are of so many years, and surely of no more than so many. */
const years = { usual: 5, possible: 20 } as const

/** Whether the last number of a date is its year; asked where the first one may be it. */
export function decideYear(
  samples: readonly SentSample[],
  times: TimeColumns,
  findings: Findings,
): void {
  const latest = Number(latestOf(samples).slice(0, 4))
  const isYear = (text: string, yearsMax: number) => {
    const year = 2_000 + Number(text.slice(-2))
    return year <= latest && year > latest - yearsMax
  }
  const dates = [...new Set(times.time.texts.flatMap((text) => orderedDate(text) ?? []))].map(
    (date) => date.split('/') as [first: string, second: string, last: string],
  )
  const sure = dates.find(
    ([first, second]) => Number(second) > 12 || !isYear(first, years.possible),
  )
  const isLast = sure !== undefined && dates.every(([, , last]) => isYear(last, years.usual))
  const lasts = [...new Set(dates.map(([, , last]) => last))].sort().join(', ')
  const asSent = (date: readonly string[]) => date.join('/').replace(/20(..)$/, '$1')
  findings.decide('yearDigits', {
    ...(isLast && { value: 2 }),
    evidence: isLast
      ? `all dates end with ${lasts}, and ${asSent(sure)} cannot begin with its year`
      : 'the year may be the first number of a date, or the last one',
    question: `is the year of ${asSent(dates[0] ?? [])} its last number? Answer 2 if so, or else change the export`,
  })
}

interface SeriesOptions {
  readonly times: TimeColumns
  readonly meter: readonly Column[] | undefined
  readonly order: DateOrder
}

export function toSeries(
  { rows }: Pick<Table, 'rows'>,
  { times, meter = [], order }: SeriesOptions,
): readonly MeterTimes[] {
  const series = new Map<string, number[]>()
  const known = new Map<string, number | undefined>()
  const { time, timeOfDay, numbers } = times
  const read = (day: string, other: string) => {
    if (numbers === undefined) return toSeconds(day, order, other)
    const [midnight, place] = [toSeconds(day, order), intervalPlaceOf(other, numbers.first)]
    if (midnight === undefined || place === undefined) return undefined
    return midnight + place * numbers.interval
  }
  const second = timeOfDay ?? numbers?.column
  for (const row of rows) {
    const [day, other] = [row[time.at] as string, second === undefined ? '' : row[second.at]]
    const text = `${day}\n${other}`
    if (!known.has(text)) known.set(text, read(day, other as string))
    const seconds = known.get(text)
    if (seconds === undefined) continue
    const key = meter.map(({ at }) => row[at]).join('\0')
    const one = series.get(key)
    if (one === undefined) series.set(key, [seconds])
    else one.push(seconds)
  }
  return [...series].map(([key, seconds]) => ({ meter: key, seconds }))
}

export interface TimeFacts {
  readonly times: TimeColumns
  readonly rows: Table['rows']
  readonly order: DateOrder
  readonly series: readonly MeterTimes[]
  readonly wide: WideColumns | undefined
  readonly length: number | undefined
}

export function decideTimes(facts: TimeFacts, { findings, zoneBy }: ProposalContext): void {
  const { times, series, wide, length, rows, order } = facts
  const { numbers } = times
  const zone = zoneBy(numbers === undefined ? describeZone(series, length) : 'no file states it')
  const isDaily = times.time.kind === 'date' && (times.timeOfDay ?? numbers) === undefined
  if (isDaily && wide === undefined) return
  const isRead = wide === undefined && numbers === undefined
  if (isRead && length !== undefined && length < daySeconds) {
    const evidence = times.length ? 'start and end' : 'nine tenths of the rows of each meter'
    findings.decide('interval', {
      value: length,
      evidence: `${evidence} are ${lengthText(length)} apart`,
    })
  }
  if (isRead) decideStamp(facts, findings)
  if (hasOffset(times.time.texts[0] ?? '')) return
  if (zone === undefined) {
    const question = 'answer timeZone first: the clock changes of the zone show it'
    findings.decide('clock', { evidence: 'the zone is not known', question })
    return
  }
  if (wide !== undefined) {
    decideWideClock({ ...facts, wide }, { findings, zone })
    return
  }
  if (numbers !== undefined) {
    decideNumbering({ numbers, time: times.time, rows, order }, { findings, zone })
    return
  }
  findings.decide('clock', findClock({ zone, series, length: length ?? 3_600 }))
}

function decideStamp({ times, series, length }: TimeFacts, findings: Findings): void {
  const { time, timeOfDay } = times
  const names = [time.word, timeOfDay?.word ?? ''].join(' ')
  const late = [time, timeOfDay].some((one) =>
    one?.texts.some((text) => /(^|[ T])24:?00/.test(text)),
  )
  const isStart = columnWords.start.test(names)
  const isEnd = columnWords.end.test(names)
  const shown = late
    ? { value: 'end', evidence: '24:00 is the end of a day' }
    : times.length !== undefined
      ? { value: 'start', evidence: 'another column has the end of the interval' }
      : isStart !== isEnd
        ? { value: isStart ? 'start' : 'end', evidence: 'the name of the column' }
        : findStamp(series, length ?? 3_600)
  findings.decide('stamp', shown)
  // Times with an offset are those of UTC here.
  if (hasOffset(time.texts[0] ?? '')) return
  const all = series.flatMap(({ seconds }) => seconds)
  const step = length ?? 3_600
  const [first] = all.filter((seconds) => seconds % step !== 0)
  if (first !== undefined && step < daySeconds && all.every((seconds) => seconds % step !== 0)) {
    findings.note(
      `no time is a multiple of ${lengthText(step)}, such as ${timeOfDayText(first)}: reads are stored at these times; if they are the last minutes or seconds of intervals, export their starts or ends`,
    )
  }
}

/** A wide row has a value for each interval of a day of 25 hours, or always those of 24 hours. */
function decideWideClock(
  facts: TimeFacts & { readonly wide: WideColumns },
  { findings, zone }: { readonly findings: Findings; readonly zone: Zone },
): void {
  const { count, interval, from } = facts.wide
  const isLong = count * interval > daySeconds
  const hole = holeOf(facts, zone)
  const question =
    'do the values of a day follow daylight saving time (wall), standard time (standard), or an offset such as "+00:00"?'
  const evidence =
    hole !== undefined
      ? `on ${hole} the hour that the clock of ${zone.timeZone} skips is empty`
      : isLong
        ? 'there are columns for a day of 25 hours'
        : `there are columns for 24 hours, also when ${zone.timeZone} changes its clock`
  const isWall = isLong || hole !== undefined
  const clock = findings.decide('clock', { ...(isWall && { value: 'wall' }), evidence, question })
  const isOfClock = hole !== undefined || (isLong && /\d:\d\d/.test(from.name))
  if (clock !== 'wall') return
  findings.decide('numbering', {
    ...(!isLong && isOfClock && { value: 'clock' }),
    evidence: hole === undefined ? `the first value is named ${from.name}` : evidence,
    ...(isOfClock && {
      question:
        'where an hour occurs twice, are its second values in the columns behind those of 24 hours (clock), or directly after the first ones (none)?',
    }),
  })
}

/** A day without the values of the hour that the clock skips, and with those of its end. */
function holeOf(
  { times, wide, rows, order }: TimeFacts & { readonly wide: WideColumns },
  zone: Zone,
): string | undefined {
  const changes = new Map<string, ReturnType<typeof changeDayOf>>()
  const found = rows.find((row) => {
    const text = row[times.time.at] as string
    if (!changes.has(text)) {
      const seconds = toSeconds(text, order)
      const day = seconds === undefined ? undefined : dayText(seconds)
      changes.set(text, day === undefined ? undefined : changeDayOf(zone, day, wide.interval))
    }
    const change = changes.get(text)
    if (change === undefined || change.isLong) return false
    const values = row.slice(wide.from.at, wide.from.at + change.usual)
    const isEmpty = values.slice(change.from, change.to).every((value) => value === '')
    return (
      isEmpty &&
      values.findLastIndex((value) => value !== '') >= change.usual - change.to + change.from
    )
  })
  const seconds = found && toSeconds(found[times.time.at] as string, order)
  return seconds === undefined ? undefined : dayText(seconds)
}
