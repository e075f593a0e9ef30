import { Fault } from '../../schemas/fault.js'
import { type Column, toReference } from './columns.js'
import type { Findings } from './finding.js'
import { lengthText, nameOf } from './times/columns.js'

/** Columns that have one value for each interval of a day. */
export interface WideColumns {
  readonly from: Column
  readonly count: number
  /** Length of each interval, seconds. */
  readonly interval: number
  readonly evidence: string
}

/** How many columns a day has: of 24 and 25 hours, or of the longest day only. */
const counts: ReadonlyMap<number, number> = new Map(
  [3_600, 1_800, 900, 300, 60].flatMap((interval) => [
    [86_400 / interval, interval] as const,
    [90_000 / interval, interval] as const,
  ]),
)

/** Finds the columns that are the values of a day, or takes those of an answer. */
export function decideWide(
  columns: readonly Column[],
  findings: Findings,
): WideColumns | undefined {
  const found = findWide(columns)
  const shown = found && { from: found.from.name || found.from.at + 1, count: found.count }
  const evidence = found?.evidence ?? 'no columns are named like the values of a day'
  const decided = findings.decide('columns.values', { value: shown, evidence })
  if (decided === undefined || decided === null) return undefined
  if (decided === shown) noteSecond(found as WideColumns, columns, findings)
  const wide = decided === shown ? (found as WideColumns) : toWide(decided, columns)
  findings.decide('interval', {
    value: wide.interval,
    evidence: `${wide.count} values are a day of intervals of ${lengthText(wide.interval)}`,
  })
  return wide
}

/** Columns behind those of 24 hours, which have values on some days only. */
function noteSecond(
  { from, count, interval }: WideColumns,
  columns: readonly Column[],
  findings: Findings,
): void {
  const more = count * interval === 86_400 ? 3_600 / interval : 0
  const behind = columns.slice(from.at + count, from.at + count + more)
  const isSeldom = ({ kind, isAlwaysThere }: Column) => kind === 'number' && !isAlwaysThere
  if (more === 0 || behind.length < more || !behind.every(isSeldom)) return
  const answer = `{from: ${JSON.stringify(toReference(from, columns))}, count: ${count + more}}`
  findings.note(
    `${behind.map(nameOf).join(', ')} may have the second values of a repeated hour: if so, add --answer 'columns.values=${answer}'`,
  )
}

function toWide(answer: unknown, columns: readonly Column[]): WideColumns {
  const { from: name, count } = answer as { readonly from?: unknown; readonly count?: unknown }
  const from = columns.find((one) => toReference(one, columns) === name || one.at + 1 === name)
  const interval = counts.get(Number(count))
  if (from === undefined || interval === undefined || from.at + Number(count) > columns.length) {
    const detail =
      '--answer columns.values: answer {from: NAME, count: N}, the first of N columns side by side that are a day of 24 or 25 hours'
    throw new Fault('CONFIG', detail)
  }
  const range = columns.slice(from.at, from.at + Number(count))
  const odd = range.filter((one, at) => at > 0 && maskOf(one) !== maskOf(range[at - 1] as Column))
  const other = range.find(({ kind }) => kind !== 'number' && kind !== 'empty')
  const between = other ?? (odd.length > range.length / 4 ? odd[0] : undefined)
  if (between !== undefined) {
    const detail = `--answer columns.values: ${nameOf(between)} is between them; export the values without it`
    throw new Fault('CONFIG', detail)
  }
  return { from, count: Number(count), interval, evidence: 'answered' }
}

/** Finds the longest row of columns of numbers whose names count intervals of a day. */
function findWide(columns: readonly Column[]): WideColumns | undefined {
  let best: readonly Column[] = []
  let run: Column[] = []
  for (const column of columns) {
    const isValue = column.kind === 'number' || column.kind === 'empty'
    const follows = run.length === 0 || maskOf(run[0] as Column) === maskOf(column)
    if (!isValue || !follows) run = []
    if (isValue) run = [...run, column]
    if (run.length > best.length) best = run
  }
  const interval = counts.get(best.length)
  const [from] = best
  if (from === undefined || interval === undefined) return undefined
  const last = best.at(-1) as Column
  const isCounted = from.name === '' || isFirstOfDay(from.name, interval)
  if (!isCounted) return undefined
  const named = from.name === '' ? '' : `, ${from.name} to ${last.name}`
  const evidence = `${best.length} columns of numbers side by side${named}`
  return { from, count: best.length, interval, evidence }
}

/** `H1` and `H24` are one: names that differ in their digits only. */
function maskOf({ name }: Column): string {
  return name.replace(/\d+/g, '#')
}

/** Whether a name is that of the first interval: number 0 or 1, midnight, or the end of the interval. */
function isFirstOfDay(name: string, interval: number): boolean {
  const [, hour, minute] = /(\d{1,2}):?(\d\d)(?!\d)/.exec(name) ?? []
  if (hour !== undefined) {
    const seconds = Number(hour) * 3_600 + Number(minute) * 60
    if (seconds === 0 || seconds === interval) return true
  }
  const [number] = /\d+/.exec(name) ?? []
  return number !== undefined && Number(number) <= 1
}
