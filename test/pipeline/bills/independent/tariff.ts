import { isWeekend, textOf } from './wall-calendar.js'

/** Rows of the rate files, with days as text as the files have them and '' where open. */
interface Dated {
  readonly rate: string
  readonly from: string
  readonly to: string
}

export interface TouRow extends Dated {
  readonly component: string
  readonly name: string
  readonly amount: string
  readonly startMinute: number
  readonly endMinute: number
  readonly dayType: 'Weekday' | 'Weekend' | 'Holiday' | 'WeekendHoliday' | 'All'
}

export interface TierRow extends Dated {
  readonly component: string
  readonly tier: number
  readonly dailyFactor: string
  readonly periodLimit: string
  readonly amount: string
}

export interface FlatRow extends Dated {
  readonly component: string
  readonly amount: string
}

export interface ChargeRow extends Dated {
  readonly name: string
  readonly kind:
    | 'Service'
    | 'Facility'
    | 'TaxPercent'
    | 'TaxAmount'
    | 'Program'
    | 'Credit'
    | 'Minimum'
  readonly basis: 'PerPeriod' | 'PerDay' | 'PerMonth' | 'PerUnit' | 'Percent'
  readonly amount: string
  readonly taxable: boolean
}

export interface Tariffs {
  readonly codes: readonly { readonly rate: string; readonly type: string; readonly gas: boolean }[]
  readonly tou: readonly TouRow[]
  readonly tiers: readonly TierRow[]
  readonly flats: readonly FlatRow[]
  readonly charges: readonly ChargeRow[]
  /** Days as text, each for all rates or for one. */
  readonly holidays: readonly { readonly day: string; readonly rate: string }[]
}

/** Whether a row is in force on a day; `--MM-DD` holds in every year and may pass New Year. */
export function isInForce({ from, to }: Dated, day: number): boolean {
  const text = textOf(day)
  if (!from.startsWith('--')) return from <= text && (to === '' || text <= to)
  const yearless = `-${text.slice(4)}`
  if (from <= to) return from <= yearless && yearless <= to
  return from <= yearless || yearless <= to
}

type DayKind = 'workingDay' | 'weekend' | 'holiday'

export function kindOfDay(tariffs: Tariffs, rate: string, day: number): DayKind {
  const text = textOf(day)
  const isHoliday = tariffs.holidays.some(
    (one) => one.day === text && (one.rate === '' || one.rate === rate),
  )
  if (isHoliday) return 'holiday'
  return isWeekend(day) ? 'weekend' : 'workingDay'
}

const typesOf: Readonly<Record<DayKind, readonly string[]>> = {
  workingDay: ['Weekday', 'All'],
  weekend: ['Weekend', 'WeekendHoliday', 'All'],
  holiday: ['Holiday', 'WeekendHoliday', 'All'],
}

const isOffPeak = ({ name }: TouRow) => name.replace(/[^a-z]/gi, '').toLowerCase() === 'offpeak'

function covers({ startMinute, endMinute }: TouRow, minute: number): boolean {
  if (startMinute < endMinute) return startMinute <= minute && minute < endMinute
  return minute >= startMinute || minute < endMinute
}

/**
 * The window of a local minute: a row of its kind of day, else the off-peak row of the season. Of several, one
 * for such days is closest, and a holiday is most like a weekend.
 */
export function windowAt(
  tariffs: Tariffs,
  at: {
    readonly rate: string
    readonly component: string
    readonly day: number
    readonly minute: number
  },
): TouRow | undefined {
  const rows = tariffs.tou.filter(
    (row) => row.rate === at.rate && row.component === at.component && isInForce(row, at.day),
  )
  const kind = kindOfDay(tariffs, at.rate, at.day)
  const own = rows.find((row) => typesOf[kind].includes(row.dayType) && covers(row, at.minute))
  if (own !== undefined) return own
  const distance = ({ dayType }: TouRow) => {
    if (typesOf[kind].includes(dayType)) return 0
    return kind === 'holiday' && typesOf.weekend.includes(dayType) ? 1 : 2
  }
  // The sort is stable: of equals the first row of the file counts.
  return rows.filter(isOffPeak).sort((a, b) => distance(a) - distance(b))[0]
}

/** The components of a rate that are in force on a day. */
export function componentsOf(
  rows: readonly (Dated & { readonly component: string })[],
  rate: string,
  day: number,
): readonly string[] {
  const own = rows.filter((row) => row.rate === rate && isInForce(row, day))
  return [...new Set(own.map(({ component }) => component))]
}

/** Whether the energy itself has a price on a day: a bill may lack other components, but not this one. */
export function hasEnergy({ tou, tiers, flats }: Tariffs, rate: string, day: number): boolean {
  return [tou, tiers, flats].some((rows) => componentsOf(rows, rate, day).includes('Energy'))
}
