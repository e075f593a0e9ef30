import type { RecordRow } from '../record-feed.js'

/** Days since 1970, both inclusive. */
export interface DaySpan {
  readonly from: number
  readonly to: number
}

/** A valid row of a complete schedule and its place; line 0 is a row that is in force already. */
export interface PlacedRow {
  readonly fileName: string
  readonly line: number
  readonly row: RecordRow
  /** When a row of every year applies, if other versions of its code apply before or after; else always. */
  readonly during?: DaySpan
}

/** A conflict between rows. It is recorded for one of them, where a person would fix it. */
export interface Finding {
  readonly at: PlacedRow
  readonly column: string
  readonly code: LintCode
  readonly detail: string
}

/** What keeps a schedule from being published, in addition to rejected rows. */
const lintCodes = [
  'KEY_TWICE',
  'NO_RATE_CODE',
  'PERIOD_GAP',
  'PERIOD_OVERLAP',
  'PERIOD_KINDS',
  'HOUR_TWICE',
  'HOUR_UNCOVERED',
  'TIER_UNLIMITED',
  'TIER_LIMITS',
  'DATES_TWICE',
  'UNIT',
] as const
export type LintCode = (typeof lintCodes)[number]

export interface Linted {
  readonly errors: readonly Finding[]
  readonly warnings: readonly string[]
}

/** The rows of a set by feed: those of its files, and for feeds without one those in force. */
export type ScheduleRows = Readonly<Record<string, readonly PlacedRow[]>>

/** What registrations say that a schedule must fit, each with the number of its meters. */
export interface RegisteredMeters {
  readonly rates: readonly {
    readonly rateCode: string
    readonly unit: string
    readonly meters: number
  }[]
  readonly cycles: readonly { readonly cycleId: string; readonly meters: number }[]
}

export interface LintInput {
  readonly rows: ScheduleRows
  /** The feeds of which nothing is known: neither a file nor a version in force. */
  readonly unknown: readonly string[]
  readonly registered: RegisteredMeters
  /** The date of the files. */
  readonly fileDate: string
}

const dayMs = 86_400_000

/** Days since 1970. */
export function toDays(date: string): number {
  return Date.parse(date) / dayMs
}

export function fromDays(days: number): string {
  return new Date(days * dayMs).toISOString().slice(0, 10)
}

export function groupRows<R extends PlacedRow>(
  rows: readonly R[],
  ...columns: readonly string[]
): readonly (readonly R[])[] {
  const groups = new Map<string, R[]>()
  for (const one of rows) {
    const key = columns.map((column) => one.row[column] ?? '').join('\0')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [one])
    else group.push(one)
  }
  return [...groups.values()]
}

/** Codes that are one number, such as `07` and `7`, which a spreadsheet may have changed. */
export function findAlike(codes: Iterable<string>, what: string): readonly string[] {
  const seen = new Map<string, string>()
  const warnings: string[] = []
  for (const code of new Set(codes)) {
    if (!/^\d+$/.test(code)) continue
    const number = code.replace(/^0+(?=\d)/, '')
    const other = seen.get(number)
    if (other === undefined) seen.set(number, code)
    else warnings.push(`${what} ${other} and ${code} look alike; write them in one way`)
  }
  return warnings
}
