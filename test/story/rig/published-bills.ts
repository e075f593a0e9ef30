import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sample, someOf } from '../../rig/sample.js'
import { type Case, dayMs, near, own, spread, stamp } from './bill-case.js'
import { imported, scheduleOf, vectors } from './published-schedules.js'

/** Bills that others have published; a checkout without them has the bills worked by hand alone. */
export const isThere = existsSync(join(vectors, 'rates.json'))
interface Vector {
  readonly id: string
  readonly [name: string]: unknown
}
const all = isThere
  ? (JSON.parse(readFileSync(join(vectors, 'rates.json'), 'utf8')) as readonly Vector[])
  : []
const lastDayOf = (exclusive: string) =>
  new Date(Date.parse(exclusive) - dayMs).toISOString().slice(0, 10)

/** Six months of one rate code whose prices, credits and limits change; exact to 0.0001. */
function genability(): Case {
  const months = all.filter(({ id }) => id.startsWith('GEN-')) as unknown as readonly (Vector & {
    period: { start: string; end_exclusive: string; days: number }
    usage_kwh: number
    tier_upper_kwh_per_day: readonly number[]
    tier_prices: readonly number[]
    fixed_total: number
    minimum_bill_for_period: number
    expected: { total: number; tier_kwh: readonly number[] }
    tolerance: number
  })[]
  const dates = months.map(({ period }) => [period.start, lastDayOf(period.end_exclusive)] as const)
  const datesAt = (at: number) => dates[at]?.join(',')
  return {
    rate: 'E1',
    type: 'Tiered',
    rows: {
      RateTiers: months.flatMap((month, at) =>
        month.tier_prices.map((price, tier) => {
          const isLast = tier === month.tier_prices.length - 1
          const limit = isLast ? '' : month.tier_upper_kwh_per_day[tier]
          return `${tier + 1},${limit},${price},${datesAt(at)},,`
        }),
      ),
      RateFixed: months.flatMap((month, at) => [
        `Least,Minimum,PerDay,${(month.minimum_bill_for_period / month.period.days).toFixed(6)},false,${datesAt(at)}`,
        `Credit,Credit,PerPeriod,${-month.fixed_total},true,${datesAt(at)}`,
      ]),
    },
    periods: dates,
    reads: months.flatMap(({ usage_kwh }, at) => spread(dates[at] ?? ['', ''], usage_kwh)),
    rules: { rounding: 'none' },
    check: (bills) => {
      for (const [at, { id, expected, tolerance }] of months.entries()) {
        near(bills[at]?.total, expected.total, tolerance, id)
        for (const [tier, kwh] of expected.tier_kwh.entries())
          near(bills[at]?.lines[tier]?.quantity, kwh, 0.000001, `${id}, tier ${tier + 1}`)
      }
      t.equal(months.length, 6)
    },
  }
}

/** A year of hours under windows by month, the second one with a tier that adds to each price. */
function ssc(id: string, rate: string): Case {
  const schedule = scheduleOf(id)
  const prices = schedule.rate_rows_period_tier_maxusage_unit_buy_sell
  const priceOf = (window: number, tier = 1) =>
    prices.find(([one, of]) => one === window && of === tier) as readonly number[]
  const months = Array.from({ length: 12 }, (_, at) => {
    const [first, last] = [new Date(Date.UTC(2018, at, 1)), new Date(Date.UTC(2018, at + 1, 0))]
    return [first.toISOString().slice(0, 10), last.toISOString().slice(0, 10)] as const
  })
  const windows = (
    hours: readonly number[],
    type: string,
    [first, last]: readonly [string, string],
  ) =>
    hours.flatMap((window, hour) => {
      if (hour > 0 && hours[hour - 1] === window) return []
      const next = hours.findIndex((one, at) => at > hour && one !== window)
      const price = priceOf(window)[4]
      return [`P${window},${price},${hour},${next < 0 ? 24 : next},${first},${last},${type},`]
    })
  const isTiered = prices.some(([, tier]) => tier === 2)
  const tiers = months.flatMap(([first, last], at) => {
    const window = schedule.weekday_12x24[at]?.[0] ?? 0
    const [lower, upper] = [priceOf(window), priceOf(window, 2)]
    const adder = ((upper?.[4] ?? 0) - (lower[4] ?? 0)).toFixed(6)
    return [`1,${lower[2]},0,${first},${last},,Above`, `2,,${adder},${first},${last},,Above`]
  })
  const load = readFileSync(join(vectors, 'ssc', 'residential_load_8760h_kW.csv'), 'utf8')
  const hours = load.trimEnd().split(/\r?\n/)
  const wanted = all.find((one) => one.id === id) as Vector & {
    expected: { year1_bill_without_system: number }
    tolerance: number
  }
  return {
    rate,
    type: 'TOU',
    rows: {
      RateTou: months.flatMap((month, at) => [
        ...windows(schedule.weekday_12x24[at] ?? [], 'Weekday', month),
        ...windows(schedule.weekend_12x24[at] ?? [], 'WeekendHoliday', month),
      ]),
      ...(isTiered && { RateTiers: tiers }),
    },
    periods: months,
    reads: hours.map((kw, hour): readonly [string, string] => [
      `${stamp('2018-01-01', Math.floor(hour / 24))} ${hour % 24}:00`,
      Number(kw).toFixed(6),
    ]),
    check: (bills) => {
      const year = bills.reduce((sum, { total }) => sum + total, 0)
      near(year, wanted.expected.year1_bill_without_system, wanted.tolerance, id)
      t.same([hours.length, bills.length], [8_760, 12], 'a whole year')
    },
  }
}

/** The same rate written by hand and imported. */
function bothWays(id: string, rate: string): readonly Case[] {
  const one = ssc(id, rate)
  return [one, imported(id, one)]
}

/** The bill so far on some days of a month, by meters whose reads end there. */
function gridlab(days: number, expected: number): Case {
  const period = ['2006-01-01', '2006-01-31'] as const
  return {
    rate: `GLD${days}`,
    type: 'Tiered',
    rows: {
      RateTiers: ['0.5,6', '1,12', '2,18', '4,'].map((text, at) => {
        const [price, limit] = text.split(',')
        return `${at + 1},,${price},2000-01-01,,${limit},`
      }),
      RateFixed: ['Fee,Service,PerPeriod,10,true,2000-01-01,'],
    },
    periods: [period],
    reads: Array.from({ length: days * 24 }, (_, hour) => [
      `${stamp(period[0], Math.floor(hour / 24))} ${hour % 24}:00`,
      '0.05',
    ]),
    rules: { presentShareMin: 0 },
    check: ([found]) => {
      near(found?.total, expected, 0.1, `GLD after ${days} days`)
      t.equal(found?.status, days === 31 ? 'computed' : 'incomplete')
    },
  }
}

/** A tariff in cents with tax on everything, rounded once. 19 Monday hours are peak here. */
const queensland: Case = {
  rate: 'T12',
  type: 'TOU',
  rows: {
    RateTou: [
      'Peak,0.55865,12,20,--01-01,--12-31,All,',
      'Shoulder,0.19859,7,12,--01-01,--12-31,All,',
      'Off-Peak,0.19859,20,7,--01-01,--12-31,All,',
    ],
    RateFixed: [
      'Daily,Service,PerDay,1.01306,true,2000-01-01,',
      'Tax,TaxPercent,Percent,10,false,2000-01-01,',
    ],
  },
  periods: [['2016-01-01', '2016-01-31']],
  reads: Array.from({ length: 744 }, (_, hour) => [
    `${stamp('2016-01-01', Math.floor(hour / 24))} ${hour % 24}:00`,
    hour === 12 ? '75.49' : hour === 22 ? '109.5' : '0',
  ]),
  rules: { rounding: 'total' },
  check: ([found]) => {
    const cents = (name: string) =>
      (found?.lines.find((line) => line.name === name)?.amount ?? 0) * 110
    near(cents('Daily'), 3_455, 0.5, 'QLD fixed')
    near(cents('Peak'), 4_639, 0.5, 'QLD peak')
    near(cents('Off-Peak'), 2_392, 0.5, 'QLD off-peak')
    near((found?.total ?? 0) * 100, 10_486, 0.5, 'QLD total')
  },
}

const sce: Case = {
  rate: 'SCE',
  type: 'Tiered',
  rows: {
    RateTiers: ['1,28.8,0.15726', '2,115.2,0.20056', '3,,0.2507'].map(
      (row) => `${row},2018-01-01,,,`,
    ),
    RateFixed: ['Basic,Service,PerDay,0.031,true,2018-01-01,'],
  },
  periods: [['2018-03-01', '2018-03-03']],
  reads: ['100', '200', '1000'].map((quantity, at) => [stamp('2018-03-01', at), quantity]),
  rules: { rounding: 'none' },
  check: ([found]) => {
    t.same(
      found?.lines.map(({ quantity }) => quantity),
      [86.4, 259.2, 954.4, 0],
      'SCE tiers',
    )
    t.equal(found?.lines.at(-1)?.amount, 0.093, 'SCE fixed')
  },
}

const seymour: Case = {
  rate: 'SEYMOUR',
  type: 'Tiered',
  rows: {
    RateTiers: [
      '1,,0.064,2018-01-01,,250,',
      '2,,0.049,2018-01-01,,700,',
      '3,,0.0446,2018-01-01,,,',
    ],
    RateFlat: ['0.085,2018-01-01,,Tracker'],
    RateFixed: [
      'Customer,Service,PerPeriod,7.5,true,2018-01-01,',
      'Tax,TaxPercent,Percent,1,false,2018-01-01,',
    ],
  },
  periods: [['2019-01-01', '2019-01-31']],
  reads: spread(['2019-01-01', '2019-01-31'], 1_200),
  check: ([found]) => {
    t.same(
      found?.lines.map(({ amount }) => amount),
      [16, 22.05, 22.3, 102, 7.5, 1.7],
      'SEYMOUR lines',
    )
    t.equal(found?.total, 171.55)
  },
}

const otterTail: Case = {
  rate: 'OTTER',
  type: 'Flat',
  rows: {
    RateFlat: ['0.08,2018-01-01,2018-12-31,', '0.09,2019-01-01,,'],
    RateFixed: ['Customer,Service,PerMonth,9.75,true,2018-01-01,'],
  },
  periods: [['2018-12-12', '2019-01-09']],
  reads: spread(['2018-12-12', '2019-01-09'], 600),
  rules: { prorateMonths: 'always', monthDays: 365 / 12 },
  check: ([found]) => {
    t.equal(found?.lines.at(-1)?.amount, 9.3, 'OTTERTAIL fixed')
    near(found?.lines[0]?.quantity, 413.793103, 0.00001, 'OTTERTAIL December')
    near(found?.lines[1]?.quantity, 186.206897, 0.00001, 'OTTERTAIL January')
  },
}

const months = [5, 10, 15, 20, 31].map((days, at) =>
  gridlab(days, [13, 19, 31, 55, 107.8][at] ?? 0),
)

/** What is billed in one stack, each under a rate and in a cycle of its own. */
export const cases: readonly Case[] = [
  own,
  ...(isThere
    ? [
        ...sample({ short: [], long: bothWays('SSC-Test_Residential_TOU_Rates', 'SSC') }),
        ...someOf(bothWays('SSC-Test_Residential_TOU_Rates_w_tiers', 'SSCT')),
        ...sample({ short: months.slice(2, 3), long: months }),
        ...someOf([genability(), queensland, sce, seymour, otterTail], 2),
      ]
    : []),
]
