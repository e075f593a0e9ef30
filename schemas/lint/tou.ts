import { type Finding, groupRows, type Linted, type PlacedRow } from './finding.js'
import { type Season, spellSeason, toSeasons } from './seasons.js'

/** Quarter hours of a day on the clock. */
export const quarters = 96

/** The kinds of day and the day types of the rows that hold on them (decision 29). */
export const kindsOfDay = [
  { words: 'working days', types: ['Weekday', 'All'] },
  { words: 'weekends', types: ['Weekend', 'WeekendHoliday', 'All'] },
  { words: 'holidays', types: ['Holiday', 'WeekendHoliday', 'All'] },
] as const
export type KindOfDay = (typeof kindsOfDay)[number]
const [, weekends, holidays] = kindsOfDay

/** Whether a row may fill the hours of its season that no other covers. */
function isOffPeak({ row }: PlacedRow): boolean {
  return (row['Name'] ?? '').replace(/[^A-Za-z]/g, '').toLowerCase() === 'offpeak'
}

/**
 * The off-peak row that prices the hours of a kind of day that no row covers (decision 29): of several one
 * of that kind, then for holidays one of weekends, then the first.
 */
export function offPeakOn<Row extends PlacedRow>(
  rows: readonly Row[],
  kind: KindOfDay,
): Row | undefined {
  const offPeak = rows.filter(isOffPeak)
  const like = kind === holidays ? [kind, weekends] : [kind]
  const fitting = like.flatMap((one) => offPeak.filter((row) => isOn(row, one)))
  return fitting[0] ?? offPeak[0]
}

/** Whether a row holds on a kind of day. */
export function isOn({ row }: PlacedRow, { types }: KindOfDay): boolean {
  return (types as readonly string[]).includes(row['DayType'] ?? '')
}

/**
 * Judges time-of-use rows (decision 28): in each component of a rate code every hour of every kind
 * of day is covered once, an off-peak row filling what is left.
 */
export function lintTou(rows: readonly PlacedRow[]): Linted {
  const errors: Finding[] = []
  const warnings: string[] = []
  for (const rate of groupRows(rows, 'RateCode', 'Component')) {
    const seasons = toSeasons(rate)
    for (const kind of kindsOfDay) {
      errors.push(...inSeasons(seasons, (rows) => judgeDay(rows, kind)))
      const doubts = inSeasons(seasons, (rows) => findDoubts(rows, kind))
      warnings.push(...doubts.map(({ detail }) => detail))
    }
    for (const season of seasons) {
      if (season.rows.length === 0)
        warnings.push(`no season of ${nameOf(rate)} covers ${spellSeason(season)}`)
    }
  }
  return { errors, warnings }
}

function nameOf(rate: readonly PlacedRow[]): string {
  const { RateCode, Component } = rate[0]?.row ?? {}
  return `${RateCode} ${Component}`
}

interface Flaw extends Finding {
  readonly season: Season
}

/** What is wrong in all seasons; neighbours with the same flaw are one. */
function inSeasons(
  seasons: readonly Season[],
  judge: (rows: readonly PlacedRow[]) => readonly Finding[],
): readonly Finding[] {
  const flaws: Flaw[] = []
  const latest = new Map<string, number>()
  for (const season of seasons) {
    if (season.rows.length === 0) continue
    for (const finding of judge(season.rows)) {
      const at = latest.get(finding.detail) ?? flaws.length
      const before = flaws[at]
      if (before?.season.to === season.from - 1) {
        flaws[at] = { ...before, season: { ...before.season, to: season.to } }
      } else {
        latest.set(finding.detail, flaws.length)
        flaws.push({ ...finding, season })
      }
    }
  }
  return flaws.map(({ season, ...finding }) => ({
    ...finding,
    detail: `${finding.detail}, ${spellSeason(season)}`,
  }))
}

/** Rows beyond the quarter hours of a day are ignored: with one more, some hour has two prices anyway. */
function judgeDay(rows: readonly PlacedRow[], kind: KindOfDay): readonly Finding[] {
  const { words } = kind
  const own = rows.filter((one) => isOn(one, kind))
  const covered: PlacedRow[][] = Array.from({ length: quarters }, () => [])
  for (const one of own.slice(0, quarters + 1))
    for (const quarter of quartersOf(one)) covered[quarter]?.push(one)
  const isFilled = own.length > quarters || rows.some(isOffPeak)
  const found: Finding[] = []
  const name = nameOf(rows)
  for (const { from, to } of stretches((at) => !isFilled && covered[at]?.length === 0)) {
    const detail = `${name} has no price on ${words} from ${clock(from)} to ${clock(to)}`
    const at = own[0] ?? (rows[0] as PlacedRow)
    found.push({ at, column: 'StartHour', code: 'HOUR_UNCOVERED', detail })
  }
  for (const { from, to } of stretches((at) => (covered[at]?.length ?? 0) > 1)) {
    const [first, second] = covered[from] as [PlacedRow, PlacedRow]
    const detail = `${name} has two prices on ${words} from ${clock(from)} to ${clock(to)}, in line ${first.line} and line ${second.line}`
    found.push({ at: second, column: 'StartHour', code: 'HOUR_TWICE', detail })
  }
  return found
}

/** Hours that no row covers, while the off-peak rows of the season have different prices. */
function findDoubts(rows: readonly PlacedRow[], kind: KindOfDay): readonly Finding[] {
  const prices = new Set(rows.filter(isOffPeak).map(({ row }) => Number(row['Amount'])))
  const at = offPeakOn(rows, kind)
  if (at === undefined || prices.size < 2) return []
  const own = rows.filter((one) => isOn(one, kind))
  const covered = new Set(own.slice(0, quarters + 1).flatMap((one) => [...quartersOf(one)]))
  return stretches((quarter) => !covered.has(quarter)).map(({ from, to }) => {
    const hours = `on ${kind.words} from ${clock(from)} to ${clock(to)}`
    const detail = `${nameOf(rows)} has off-peak rows of different amounts and no row ${hours}: line ${at.line} applies`
    return { at, column: 'DayType', code: 'HOUR_UNCOVERED', detail }
  })
}

/** The quarter hours of a row; start after end goes over midnight. */
export function* quartersOf({ row }: PlacedRow): Generator<number> {
  const from = Number(row['StartHour']) * 4
  const to = Number(row['EndHour']) * 4
  const length = to > from ? to - from : to - from + quarters
  for (let at = 0; at < length; at++) yield (from + at) % quarters
}

function stretches(isIn: (quarter: number) => boolean): readonly { from: number; to: number }[] {
  const found: { from: number; to: number }[] = []
  for (let at = 0; at < quarters; at++) {
    const last = found.at(-1)
    if (!isIn(at)) continue
    if (last?.to === at) last.to = at + 1
    else found.push({ from: at, to: at + 1 })
  }
  return found
}

export function clock(quarter: number): string {
  return `${Math.floor(quarter / 4)}:${String((quarter % 4) * 15).padStart(2, '0')}`
}
