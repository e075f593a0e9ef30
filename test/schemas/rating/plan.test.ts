import t from 'tap'
import { createSlots } from '../../../schemas/rating/slots.js'
import { createZone } from '../../../schemas/time/zone.js'
import { planOf, price, steadyBill } from './bills.js'

const month = { first: '2026-01-01', last: '2026-01-31' }
const flatFiles = {
  RateCodes: ['R,Residential,Flat,,'],
  RateFlat: ['R,0.1234,2025-01-01,,'],
}

t.test('a flat rate is quantity times price', async (t) => {
  // 31 days of 96 quarters of 0.1 kWh: 297.6 kWh at 12.34 cents are 36.72384 dollars.
  const bill = steadyBill({ ...month, files: flatFiles }, 0.1)
  t.same(bill, { lines: [['Flat', 297.6, 36.72]], total: 36.72 })
})

t.test('a price that changes inside a period splits the line, each naming its days', async (t) => {
  const files = {
    ...flatFiles,
    RateFlat: ['R,0.1,2025-01-01,2026-01-10,', 'R,0.2,2026-01-11,,'],
  }
  const { plan } = planOf({ ...month, files })
  t.match(plan, {
    components: [
      {
        lines: [
          { from: 20_454, to: 20_463 },
          { from: 20_464, to: 20_484 },
        ],
      },
    ],
  })
  // 10 days of 24 kWh at 10 cents, 21 days at 20 cents.
  t.same(steadyBill({ ...month, files }, 0.25), {
    lines: [
      ['Flat', 240, 24],
      ['Flat', 504, 100.8],
    ],
    total: 124.8,
  })
})

t.test('a rate that changes its type is priced by the one before until then', async (t) => {
  const files = {
    RateCodes: ['R,Residential,TOU,,'],
    RateFlat: ['R,0.1,2025-01-01,2026-01-10,'],
    RateTou: ['R,Off-Peak,0.2,0,24,2026-01-11,,All,'],
  }
  t.match(steadyBill({ ...month, files }, 0.25), { total: 124.8 })
  const late = { ...files, RateFlat: ['R,0.1,2025-01-01,2026-01-09,'] }
  t.match(planOf({ ...month, files: late }).plan, { reason: /no price on 2026-01-10/ })
})

const touFiles = {
  RateCodes: ['R,Residential,TOU,,'],
  RateTou: [
    'R,Peak,0.3,14,19,--06-01,--09-30,Weekday,',
    'R,Off-Peak,0.1,19,14,--06-01,--09-30,Weekday,',
    'R,Peak,0.2,14,19,--10-01,--05-31,Weekday,',
    'R,Off-Peak,0.08,19,14,--10-01,--05-31,Weekday,',
  ],
}

t.test('weekends and holidays are off-peak, in whatever year', async (t) => {
  // January 2026 has 22 Mondays to Fridays; 1 January is a holiday. 21 days x 5 h x 1 kWh is peak.
  const files = { ...touFiles, Holidays: ['2026-01-01'] }
  t.same(steadyBill({ ...month, files }, 0.25), {
    lines: [
      ['Off-Peak', 639, 51.12],
      ['Peak', 105, 21],
    ],
    total: 72.12,
  })
})

t.test('a holiday has the off-peak price of weekends, in any order of rows', async (t) => {
  const ofWeek = ['Off-Peak,0.11,19,14', 'Peak,0.21,14,19'].map((row) => `R,${row},2026-01-01,,,`)
  const RateTou = [...ofWeek, 'R,Off-Peak,0.09,0,24,2026-01-01,,Weekend,']
  for (const ordered of [RateTou, RateTou.toReversed()]) {
    const files = { ...touFiles, RateTou: ordered, Holidays: ['2026-01-01'] }
    const { total } = steadyBill({ first: '2026-01-01', last: '2026-01-02', files }, 0.25)
    t.equal(total, 5.3, '24 hours of 0.09, and a Friday')
  }
})

t.test('a season that begins inside a period splits the lines', async (t) => {
  // 30 May 2026 is a Saturday: Sat, Sun winter; Mon 1 and Tue 2 June summer, 5 peak hours each.
  const days = { first: '2026-05-30', last: '2026-06-02' }
  t.same(steadyBill({ ...days, files: touFiles }, 0.25), {
    lines: [
      ['Off-Peak', 48, 3.84],
      ['Off-Peak', 38, 3.8],
      ['Peak', 10, 3],
    ],
    total: 10.64,
  })
})

t.test('a day of 23 or 25 hours has its own hours, by the clock on the wall', async (t) => {
  const files = {
    ...touFiles,
    RateTou: ['R,Night,1,0,4,--01-01,--12-31,All,', 'R,Day,2,4,24,--01-01,--12-31,All,'],
  }
  const night = (day: string) => steadyBill({ files, first: day, last: day }, 0.25).lines
  t.same(night('2026-03-08'), [
    ['Night', 3, 3],
    ['Day', 20, 40],
  ])
  t.same(night('2026-11-01'), [
    ['Night', 5, 5],
    ['Day', 20, 40],
  ])
})

t.test('periods may break at midnight of standard time, prices go by the wall', async (t) => {
  const zone = createZone('America/Chicago')
  const days = { from: Date.UTC(2026, 6, 1) / 864e5, to: Date.UTC(2026, 6, 1) / 864e5 }
  const slots = createSlots(zone, days, 'standard')
  t.same([slots.startsAt, slots.count], [Date.UTC(2026, 6, 1, 6) / 1_000, 96])
  t.same([slots.quarter[0], slots.day[0]], [4, days.from], '1:00 on the wall')
  t.same([slots.quarter[95], slots.day[95]], [3, days.from + 1], '0:45 of the next day')
  const { plan } = planOf({
    files: flatFiles,
    first: '2026-07-01',
    last: '2026-07-31',
    periodClock: 'standard',
  })
  t.match(plan, { resolution: 86_400 }, 'daily reads have one price')
})

const tierFiles = {
  RateCodes: ['R,Residential,Tiered,,'],
  RateTiers: ['R,1,10,0.1,2025-01-01,,,', 'R,2,,0.2,2025-01-01,,,'],
}

t.test('net metering: windows net, tiers never go below 0', async (t) => {
  t.same(steadyBill({ ...month, files: tierFiles }, -0.25).total, 0)
  t.same(steadyBill({ ...month, files: flatFiles }, -0.25).total, -91.81)
})

t.test('tiers under time-of-use are another component', async (t) => {
  const files = {
    ...touFiles,
    RateTiers: ['R,1,10,0,2025-01-01,,,Baseline', 'R,2,,0.05,2025-01-01,,,Baseline'],
  }
  // 22 days x 5 h peak; 434 kWh above the baseline cost 5 cents more.
  t.same(steadyBill({ ...month, files }, 0.25), {
    lines: [
      ['Off-Peak', 634, 50.72],
      ['Peak', 110, 22],
      ['Tier 1', 310, 0],
      ['Tier 2', 434, 21.7],
    ],
    total: 94.42,
  })
})

t.test('charges, credits and percents of what is taxable', async (t) => {
  const files = {
    ...flatFiles,
    RateFixed: [
      'R,Service charge,Service,PerMonth,8.5,true,2025-01-01,',
      'R,Meter,Facility,PerDay,0.031,false,2025-01-01,',
      'R,Fund,Program,PerUnit,0.001,false,2025-01-01,',
      'R,Rebate,Credit,PerPeriod,5,true,2025-01-01,',
      'R,Tax,TaxPercent,Percent,4,true,2025-01-01,',
    ],
  }
  // Taxable: 36.72 + 8.50 - 5.00 = 40.22, of which 4 % are 1.6088. 297.6 x 0.001 = 0.2976.
  t.same(steadyBill({ ...month, files }, 0.1), {
    lines: [
      ['Flat', 297.6, 36.72],
      ['Fund', 297.6, 0.3],
      ['Service charge', undefined, 8.5],
      ['Meter', undefined, 0.96],
      ['Rebate', undefined, -5],
      ['Tax', undefined, 1.61],
    ],
    total: 43.09,
  })
})

t.test('energy that is not taxed is left out of percents', async (t) => {
  const files = { ...flatFiles, RateFixed: ['R,Tax,TaxPercent,Percent,4,true,2025-01-01,'] }
  const bill = steadyBill({ ...month, files, rules: { untaxed: ['Energy'] } }, 0.1)
  t.same(bill.lines.at(-1), ['Tax', undefined, 0])
})

t.test('a minimum is compared with the bill after tax, and only the rest is a line', async (t) => {
  const files = (least: string) => ({
    ...flatFiles,
    RateFixed: [
      'R,Tax,TaxPercent,Percent,10,true,2025-01-01,',
      `R,Least,Minimum,PerPeriod,${least},false,2025-01-01,`,
    ],
  })
  t.same(steadyBill({ ...month, files: files('50') }, 0.1), {
    lines: [
      ['Flat', 297.6, 36.72],
      ['Tax', undefined, 3.67],
      ['Minimum', undefined, 9.61],
    ],
    total: 50,
  })
  t.same(steadyBill({ ...month, files: files('40') }, 0.1).lines.length, 2)
})

t.test('months are whole from 26 to 35 days, else by days', async (t) => {
  const files = {
    ...flatFiles,
    RateFixed: ['R,Service charge,Service,PerMonth,9,true,2025-01-01,'],
  }
  const charge = (last: string, prorateMonths: 'odd' | 'always' = 'odd') =>
    steadyBill({ files, first: '2026-01-01', last, rules: { prorateMonths } }, 0).total
  t.same(
    ['2026-01-25', '2026-01-26', '2026-02-04', '2026-02-05'].map((last) => charge(last)),
    [7.5, 9, 9, 10.8],
  )
  t.equal(charge('2026-01-26', 'always'), 7.8)
})

t.test('a charge that changes: by days, or as on the last day of the period', async (t) => {
  const files = {
    ...flatFiles,
    RateFixed: [
      'R,Month,Service,PerMonth,31,true,2025-01-01,2026-01-10',
      'R,Month,Service,PerMonth,62,true,2026-01-11,',
      'R,Period,Service,PerPeriod,1,true,2025-01-01,2026-01-10',
      'R,Period,Service,PerPeriod,2,true,2026-01-11,',
    ],
  }
  t.same(steadyBill({ ...month, files }, 0).lines.slice(1), [
    ['Month', undefined, 10],
    ['Month', undefined, 42],
    ['Period', undefined, 2],
  ])
})

t.test('a rate code that changes inside the period prices its own days', async (t) => {
  const files = {
    RateCodes: ['A,First,Flat,,', 'B,Second,Flat,,'],
    RateFlat: ['A,0.1,2025-01-01,,', 'B,0.2,2025-01-01,,'],
  }
  const rates = [
    { rateCode: 'A', first: month.first },
    { rateCode: 'B', first: '2026-01-11' },
  ]
  t.same(steadyBill({ ...month, files, rates }, 0.25).lines, [
    ['Flat', 240, 24],
    ['Flat', 504, 100.8],
  ])
})

t.test('what has no price is said: the code, the day, the hour', async (t) => {
  const reason = (files: Readonly<Record<string, readonly string[]>>, last = month.last) =>
    planOf({ ...month, last, files }).plan
  t.match(reason({}), { status: 'noRate', reason: 'rate code "R" is not known' })
  t.match(reason({ RateCodes: ['R,x,TOU,,'] }), {
    status: 'noRate',
    reason: 'rate code R: there is no row of RateTou',
  })
  const ended = { ...flatFiles, RateFlat: ['R,0.1,2025-01-01,2026-01-10,'] }
  t.match(reason(ended), { status: 'noPrice', reason: 'rate code R: no price on 2026-01-11' })
  const flat = (...rows: readonly string[]) => reason({ ...flatFiles, RateFlat: rows })
  const noEnergy = (day: string) => ({
    status: 'noPrice',
    reason: `rate code R: no price of Energy on ${day}`,
  })
  const delivery = 'R,0.05,2025-01-01,,Delivery'
  t.match(flat('R,0.1,2025-01-01,2025-12-31,Energy', delivery), noEnergy('2026-01-01'))
  t.match(flat('R,0.1,2026-01-11,,', delivery), noEnergy('2026-01-01'))
  for (const others of [
    ['R,0.1,2025-01-01,2026-01-10,Energy', 'R,0.1,2026-01-11,,Supply', delivery],
    ['R,0.1,2025-01-01,2026-01-10,Supply', 'R,0.1,2026-01-11,,Energy', delivery],
    ['R,0.1,2025-01-01,,Energy', 'R,0.05,2025-01-01,2025-12-31,Rider'],
  ])
    t.match(flat(...others), { resolution: 86_400 }, others.join())
  const gap = {
    RateCodes: ['R,x,TOU,,'],
    RateTou: ['R,Day,1,8,24,--01-01,--12-31,All,', 'R,Night,1,0,7:30,--01-01,--12-31,All,'],
  }
  t.match(reason(gap), { status: 'noPrice', reason: /2026-01-01 at 7:30/ })
})

t.test('usage that falls into a tier in part is split, to the millionth', async (t) => {
  const { plan, slots, rules } = planOf({ ...month, files: tierFiles })
  if ('reason' in plan) throw new Error(plan.reason)
  const once = price(plan, slots, {
    rules: { ...rules, rounding: 'none' },
    microsAt: (slot) => (slot === 200 ? 310_000_001n : 0n),
  })
  t.same(once.lines, [
    ['Tier 1', 310, 31],
    ['Tier 2', 0.000001, 0],
  ])
})
