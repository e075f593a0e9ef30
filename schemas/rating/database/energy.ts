import { type MonthSpan, spansOf, type TariffDays } from './days.js'
import type { TariffPeriod, TariffPeriods, UnpricedEnergy } from './periods.js'
import { nanosText } from './price.js'

/** Texts of a row by column, without the rate code; columns left out are empty. */
export type ImportedRow = Readonly<Record<string, string>>

export interface EnergyRows {
  readonly type: 'Flat' | 'Tiered' | 'TOU'
  readonly rows: {
    readonly RateFlat?: readonly ImportedRow[]
    readonly RateTiers?: readonly ImportedRow[]
    readonly RateTou?: readonly ImportedRow[]
  }
  readonly notes: readonly string[]
}

/** The component of what upper tiers add to time-of-use prices. */
const above = 'Above'

/** Turns the energy prices of an entry into rows, of the simplest kind that has all of them. */
export function toEnergyRows(read: TariffPeriods, days: TariffDays): EnergyRows | UnpricedEnergy {
  const { periods, weekday, weekend } = read
  const months = weekday.map((hours, month) => ({ hours, weekend: weekend[month] ?? [] }))
  const spans = spansOf(months.map(keyOf), days)
  const usedOf = (month: number) =>
    [...new Set([...(weekday[month] ?? []), ...(weekend[month] ?? [])])].flatMap(
      (number) => periods[number] ?? [],
    )
  const notes = spans.some(({ to }) => to !== '') && days.to === undefined ? [untilNote(days)] : []
  const isTiered = periods.some((period) => (period?.tiers.length ?? 0) > 1)
  const dated = spans.map((span) => ({ ...datesOf(span), used: usedOf(span.month) }))
  const isByHour = months.some((_, month) => usedOf(month).length > 1)
  if (!isByHour) {
    const own = dated.map(({ used: [only], ...dates }) => ({ only: only as TariffPeriod, dates }))
    if (isTiered) {
      const RateTiers = own.flatMap(({ only, dates }) => tierRows(only, dates))
      return { type: 'Tiered', rows: { RateTiers }, notes }
    }
    const RateFlat = own.map(({ only, dates }) => ({ Amount: priceOf(only), ...dates }))
    return { type: 'Flat', rows: { RateFlat }, notes }
  }
  const RateTou = spans.flatMap((span) => touRows(read, span))
  const holidays = keysDiffer(months) ? [holidayNote] : []
  if (!isTiered) return { type: 'TOU', rows: { RateTou }, notes: [...notes, ...holidays] }
  const RateTiers: ImportedRow[] = []
  for (const { used, ...dates } of dated) {
    const added = addedTiers(used)
    if ('refused' in added) return added
    RateTiers.push(...tierRows(added, dates).map((row) => ({ ...row, Component: above })))
  }
  const split = `what upper tiers add to the first is the component ${above}`
  return { type: 'TOU', rows: { RateTou, RateTiers }, notes: [...notes, ...holidays, split] }
}

interface MonthHours {
  readonly hours: readonly number[]
  readonly weekend: readonly number[]
}

const keyOf = ({ hours, weekend }: MonthHours) => `${hours} ${weekend}`
const keysDiffer = (months: readonly MonthHours[]) =>
  months.some(({ hours, weekend }) => String(hours) !== String(weekend))

const holidayNote =
  'the database lists no holidays: days of a Holidays file are priced as weekends, others as they fall'

export function untilNote({ until }: TariffDays): string {
  return `prices change within the year and the entry has no end: rows end on ${until}. Import again before then, or set --until`
}

export function datesOf({ from, to }: MonthSpan) {
  return { RateStartDate: from, RateEndDate: to }
}

const priceOf = ({ tiers }: TariffPeriod) => nanosText(tiers[0]?.price ?? 0n)

function tierRows(
  { tiers, isDaily }: Pick<TariffPeriod, 'tiers' | 'isDaily'>,
  dates: ReturnType<typeof datesOf>,
): readonly ImportedRow[] {
  return tiers.map(({ price, limit }, at) => ({
    Tier: String(at + 1),
    [isDaily ? 'DailyProrateFactor' : 'PeriodLimit']: limit,
    Amount: nanosText(price),
    ...dates,
  }))
}

/** What the tiers of all periods of a month add to their first price, if it is the same for all. */
function addedTiers(
  used: readonly TariffPeriod[],
): Pick<TariffPeriod, 'tiers' | 'isDaily'> | UnpricedEnergy {
  const [first, ...others] = used.map(({ name, isDaily, tiers }) => {
    const lowest = tiers[0]?.price ?? 0n
    const added = tiers.map(({ price, limit }) => ({ price: price - lowest, limit }))
    return { name, isDaily, tiers: added }
  })
  if (first === undefined) return { tiers: [], isDaily: false }
  const shapeOf = ({ isDaily, tiers }: Pick<TariffPeriod, 'tiers' | 'isDaily'>) =>
    `${tiers.length > 1 && isDaily} ${tiers.map(({ price, limit }) => `${price} ${limit}`).join()}`
  const other = others.find((one) => shapeOf(one) !== shapeOf(first))
  if (other === undefined) return first
  const names = `${first.name} and ${other.name}`
  return {
    refused: `energy: the tiers of the periods ${names} have different limits, or add different prices`,
  }
}

/** A row for each run of hours of one period; a run over midnight is one. */
function touRows(
  { periods, weekday, weekend }: TariffPeriods,
  span: MonthSpan,
): readonly ImportedRow[] {
  const [working = [], free = []] = [weekday[span.month], weekend[span.month]]
  const kinds: readonly (readonly [string, readonly number[]])[] =
    String(working) === String(free)
      ? [['All', working]]
      : [
          ['Weekday', working],
          ['WeekendHoliday', free],
        ]
  return kinds.flatMap(([DayType, hours]) =>
    runsOf(hours).map(({ period, start, end }) => ({
      Name: periods[period]?.name ?? '',
      Amount: priceOf(periods[period] as TariffPeriod),
      StartHour: String(start),
      EndHour: String(end),
      ...datesOf(span),
      DayType,
    })),
  )
}

function runsOf(hours: readonly number[]) {
  const runs: { period: number; start: number; end: number }[] = []
  for (const [hour, period] of hours.entries()) {
    const last = runs.at(-1)
    if (last?.period === period) last.end = hour + 1
    else runs.push({ period, start: hour, end: hour + 1 })
  }
  const [first, last] = [runs[0], runs.at(-1)]
  if (first === undefined || last === undefined || first === last) return runs
  if (first.period !== last.period) return runs
  return [...runs.slice(1, -1), { ...last, end: first.end }]
}
