import type { Column } from './columns.js'

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

/** Finds the longest row of columns of numbers whose names count intervals of a day. */
export function findWide(columns: readonly Column[]): WideColumns | undefined {
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
