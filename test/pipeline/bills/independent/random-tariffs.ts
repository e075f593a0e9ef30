import type { Draw } from './draw.js'
import type { ChargeRow, FlatRow, Tariffs, TierRow, TouRow } from './tariff.js'

/** Days on which prices change, so that each frame has one. */
const changes = ['2021-03-20', '2025-11-05', '2026-01-20', '2026-03-10', '2026-04-12', '2026-07-06']

type Dates = readonly [from: string, to: string]

const dayBefore = (day: string) => new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10)

/** From long ago, cut at some of the changes; some end with one. */
function versions(draw: Draw, endsPercent = 0): readonly Dates[] {
  const cuts = ['2019-01-01', ...changes.filter(() => draw.chance(50))]
  const count = draw.chance(endsPercent) ? draw.below(cuts.length) + 1 : cuts.length
  return cuts.slice(0, count).map((from, at) => {
    const next = cuts[at + 1]
    return [from, next === undefined ? '' : dayBefore(next)]
  })
}

/** The energy itself seldom ends: its bills then have no price. */
const endsPercent = (component: string) => (component === 'Energy' ? 15 : 40)

const price = (draw: Draw, most: number) => (draw.below(most) / 1_000_000).toFixed(6)

function flats(draw: Draw, rate: string, component: string): readonly FlatRow[] {
  return versions(draw, endsPercent(component)).map(([from, to]) => ({
    ...{ rate, component, from, to },
    amount: price(draw, 400_000),
  }))
}

function tiers(draw: Draw, rate: string, component: string): readonly TierRow[] {
  const count = draw.pick([2, 2, 3, 4])
  const isForPeriod = draw.chance(25)
  const limits = Array.from({ length: count }, (_, at) => (at + 1) * 10 + draw.below(60) / 10 - 6)
  return versions(draw, endsPercent(component)).flatMap(([from, to]) => {
    const more = isForPeriod ? 0 : draw.below(3)
    return limits.map((limit, at) => {
      const isLast = at === count - 1
      return {
        ...{ rate, component, from, to, tier: at + 1, amount: price(draw, 500_000) },
        dailyFactor: isLast || isForPeriod ? '' : (limit + more).toFixed(1),
        periodLimit: isLast || !isForPeriod ? '' : (limit * 30).toFixed(1),
      }
    })
  })
}

const halfHour = 30

function windows(draw: Draw, rate: string, component: string): readonly TouRow[] {
  const isYearly = draw.chance(50)
  const day = draw.pick(['03-12', '06-25', '07-08', '04-10', '01-25', '11-03'])
  const before = dayBefore(`2026-${day}`).slice(5)
  const seasons: readonly Dates[] = isYearly
    ? [
        ['--09-15', `--${before}`],
        [`--${day}`, '--09-14'],
      ]
    : versions(draw, endsPercent(component))
  const inYear = (dates: readonly Dates[]) =>
    day >= '09-15' ? [[`--${day}`, '--09-14'] as const, ['--09-15', `--${before}`] as const] : dates
  const step = draw.pick([60, 60, 60, halfHour])
  const start = draw.below(20) * step + (step === halfHour ? 240 : 0)
  const end = (start + (draw.below(10) + 1) * step) % 1_440
  const hasWeekend = draw.chance(40)
  return (isYearly ? inYear(seasons) : seasons).flatMap(([from, to]) => {
    const row = (name: string, dayType: TouRow['dayType'], hours: readonly [number, number]) => ({
      ...{ rate, component, from, to, name, dayType },
      amount: price(draw, 600_000),
      startMinute: hours[0],
      endMinute: hours[1],
    })
    return [
      row('Peak', 'Weekday', [start, end]),
      row('Off-Peak', 'Weekday', [end, start]),
      ...(hasWeekend ? [row('Weekend day', 'WeekendHoliday', [8 * 60, 20 * 60])] : []),
    ]
  })
}

const chargeKinds = [
  ['Service charge', 'Service', 'PerMonth', 2_000],
  ['Meter', 'Facility', 'PerDay', 50],
  ['Program', 'Program', 'PerPeriod', 300],
  ['Rider', 'Program', 'PerUnit', 2],
  ['Bonus', 'Credit', 'PerPeriod', 500],
  ['City tax', 'TaxAmount', 'PerPeriod', 100],
  ['State tax', 'TaxPercent', 'Percent', 900],
  ['Levy', 'TaxPercent', 'Percent', 200],
  ['Least', 'Minimum', 'PerPeriod', 9_000],
] as const

function charges(draw: Draw, rate: string): readonly ChargeRow[] {
  return chargeKinds.flatMap(([name, kind, basis, most]) => {
    if (draw.chance(45)) return []
    const isTaxed = kind !== 'TaxPercent' && kind !== 'Minimum'
    return versions(draw).map(([from, to]) => ({
      ...{ rate, name, kind, basis, from, to, taxable: isTaxed && draw.chance(60) },
      amount: (draw.below(most * 100) / 10_000).toFixed(4),
    }))
  })
}

/** Rates of every kind; the last one is of gas. */
export function drawTariffs(draw: Draw): Tariffs {
  const kinds = ['Flat', 'Tiered', 'TOU', 'TOU', 'Tiered', 'TOU', 'Flat', 'Tiered', 'Flat']
  const codes = kinds.map((type, at) => ({ rate: `R${at}`, type, gas: at === kinds.length - 1 }))
  const electric = codes.filter(({ gas }) => !gas).map(({ rate }) => rate)
  const more = (component: string) =>
    electric.filter(() => draw.chance(30)).map((rate) => ({ rate, component }))
  const own = (type: string) =>
    codes.filter((one) => one.type === type).map(({ rate }) => ({ rate, component: 'Energy' }))
  return {
    codes,
    tou: [...own('TOU'), ...more('Delivery')].flatMap(({ rate, component }) =>
      windows(draw, rate, component),
    ),
    tiers: [...own('Tiered'), ...more('Distribution')].flatMap(({ rate, component }) =>
      tiers(draw, rate, component),
    ),
    flats: [...own('Flat'), ...more('EnergyWasteReduction')].flatMap(({ rate, component }) =>
      flats(draw, rate, component),
    ),
    charges: codes.flatMap(({ rate }) => charges(draw, rate)),
    holidays: [
      ...['2021-04-02', '2025-11-11', '2026-01-01', '2026-01-19', '2026-02-16', '2026-04-03'],
      ...['2026-06-19', '2026-07-03', '2026-07-04'],
    ]
      .map((day) => ({ day, rate: '' }))
      .concat([{ day: '2026-03-17', rate: 'R3' }]),
  }
}
