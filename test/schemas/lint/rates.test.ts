import t from 'tap'
import type { LintInput, PlacedRow, RegisteredMeters } from '../../../schemas/lint/finding.js'
import { lintSet } from '../../../schemas/lint/lint.js'
import { placed } from './placed.js'

const nobody: RegisteredMeters = { rates: [], cycles: [] }

function lint(rows: Readonly<Record<string, readonly PlacedRow[]>>, more: Partial<LintInput> = {}) {
  const input = { rows, unknown: [], registered: nobody, fileDate: '2026-02-05', ...more }
  const { errors, warnings } = lintSet('rates', input)
  return { errors: errors.map(({ at, code, detail }) => [at.line, code, detail]), warnings }
}

const codes = placed('RateCodes', 'RES,Residential,TOU,Electric,kWh')
const holidays = placed('Holidays', '2026-01-01,New Year')
const tou = (...lines: readonly string[]) =>
  lint({ RateCodes: codes, Holidays: holidays, RateTou: placed('RateTou', ...lines) })

t.test('a hole on working days is named with its hours and its season', async (t) => {
  const { errors } = tou(
    'RES,Day,0.2,7,19,2026-06-01,2026-09-30,Weekday',
    'RES,Night,0.1,23,7,2026-06-01,2026-09-30,Weekday',
    'RES,Weekend,0.1,0,24,2026-06-01,2026-09-30,WeekendHoliday',
  )
  t.same(errors, [
    [
      2,
      'HOUR_UNCOVERED',
      'RES Energy has no price on working days from 19:00 to 23:00, 2026-06-01 to 2026-09-30',
    ],
  ])
})

t.test('an off-peak row fills what its season and component leave, and nothing else', async (t) => {
  t.same(
    tou('RES,Peak,0.2,14,19,2026-01-01,,Weekday', 'RES,OFF-peak ,0.1,19,24,2026-01-01,,Weekday')
      .errors,
    [],
  )
  const apart = tou(
    'RES,Peak,0.2,14,19,2026-01-01,2026-05-31,Weekday',
    'RES,Off Peak,0.1,19,14,2026-01-01,2026-05-31,Weekday',
    'RES,Peak,0.3,14,19,2026-06-01,,Weekday',
  )
  t.same(apart.errors.map(([line, code]) => [line, code]).slice(0, 1), [[4, 'HOUR_UNCOVERED']])
  t.match(apart.errors[0]?.[2], /from 0:00 to 14:00, 2026-06-01 on/)
})

t.test(
  'hours without a row are warned of where off-peak rows have different amounts',
  async (t) => {
    const rows = (amount: string) => [
      'RES,Off-Peak,0.11,19,14,2026-01-01,,Weekday',
      'RES,Peak,0.21,14,19,2026-01-01,,Weekday',
      `RES,Off-Peak,${amount},0,24,2026-01-01,,Weekend`,
    ]
    const which = 'no row on holidays from 0:00 to 24:00: line 4 applies, 2026-01-01 on'
    t.same(tou(...rows('0.09')), {
      errors: [],
      warnings: [`RES Energy has off-peak rows of different amounts and ${which}`],
    })
    t.same(tou(...rows('0.110')).warnings, [])
  },
)

t.test('an hour with two prices is named with both lines', async (t) => {
  const { errors } = tou(
    'RES,Peak,0.2,14:15,19,--06-01,--09-30,Weekday',
    'RES,Shoulder,0.2,18:45,20,--06-01,--09-30,Weekday',
    'RES,Off-Peak,0.1,20,14:15,--06-01,--09-30,Weekday',
    'RES,All year,0.1,0,24,--10-01,--05-31,All',
  )
  t.equal(errors[0]?.[1], 'HOUR_TWICE')
  t.match(errors[0]?.[2], /working days from 18:45 to 19:00, in line 2 and line 3/)
})

t.test('seasons of every year join over its end, gaps between them are warned of', async (t) => {
  const whole = tou(
    'RES,Summer,0.2,0,24,--06-01,--09-30,All',
    'RES,Winter,0.1,0,24,--10-01,--05-31,All',
  )
  t.same(whole, { errors: [], warnings: [] })
  const { warnings } = tou(
    'RES,Summer,0.2,0,24,--06-01,--09-30,All',
    'RES,Winter,0.1,0,24,--10-01,--04-30,All',
  )
  t.match(warnings, [/no season of RES Energy covers 2024-05-01 to 2024-05-31/])
})

t.test('components are judged apart', async (t) => {
  const { errors } = tou(
    'RES,Any,0.2,0,24,2026-01-01,,All,Energy',
    'RES,Any,0.02,0,24,2026-01-01,,All,Delivery',
  )
  t.same(errors, [])
})

t.test('components that end before others are warned of', async (t) => {
  const flat = (...lines: readonly string[]) =>
    lint({
      RateCodes: placed('RateCodes', 'R,x,Flat,Electric,kWh'),
      RateFlat: placed('RateFlat', ...lines),
    }).warnings
  const delivery = 'R,0.05,2025-01-01,,Delivery'
  t.same(flat('R,0.12,2025-01-01,2026-12-31,', delivery), [
    'no row of R Energy covers 2027-01-01 on: bills then have no price',
  ])
  t.same(flat('R,0.12,2025-01-01,,', 'R,0.1,2025-01-01,2026-06-30,Rider', delivery), [
    'no row of R Rider covers 2026-07-01 on: bills then lack it',
  ])
  const renamed = ['R,0.12,2025-01-01,2026-12-31,', 'R,0.13,2027-01-01,,Supply']
  t.same(flat(...renamed, delivery), [])
})

t.test('a row without its rate code names both files', async (t) => {
  const { errors } = lint({ RateCodes: codes, RateFlat: placed('RateFlat', 'GAS,0.4,2026-01-01,') })
  t.same(errors, [
    [
      2,
      'NO_RATE_CODE',
      'DEMO_05022026_RateFlat.csv has rate code GAS, which DEMO_05022026_RateCodes.csv does not have',
    ],
  ])
})

t.test('tiers: each but the last has a limit above the one before', async (t) => {
  const tiers = (...lines: readonly string[]) =>
    lint({ RateCodes: codes, RateTiers: placed('RateTiers', ...lines) }).errors.map(
      ([line, code]) => [line, code],
    )
  t.same(
    tiers('RES,1,17,0.1,2026-01-01,', 'RES,2,34,0.1,2026-01-01,', 'RES,3,,0.2,2026-01-01,'),
    [],
  )
  t.same(tiers('RES,1,,0.1,2026-01-01,', 'RES,2,,0.2,2026-01-01,'), [[2, 'TIER_UNLIMITED']])
  t.same(tiers('RES,1,17,0.1,2026-01-01,', 'RES,2,16,0.1,2026-01-01,', 'RES,3,,0.2,2026-01-01,'), [
    [3, 'TIER_LIMITS'],
  ])
  t.same(tiers('RES,1,17,0.1,2026-01-01,,500', 'RES,2,,0.2,2026-01-01,'), [[2, 'TIER_LIMITS']])
})

t.test('one key twice: equal rows are fine, others are not', async (t) => {
  const flat = (...lines: readonly string[]) =>
    lint({ RateCodes: codes, RateFlat: placed('RateFlat', ...lines) }).errors
  t.same(flat('RES,0.4,2026-01-01,', 'RES,0.4,2026-01-01,'), [])
  t.match(flat('RES,0.4,2026-01-01,', 'RES,0.5,2026-01-01,'), [
    [3, 'KEY_TWICE', /^line 2 has the same/],
  ])
  t.match(flat('RES,0.4,2026-01-01,', 'RES,0.5,2026-02-01,'), [[3, 'DATES_TWICE']])
})

t.test('what registrations say is held against the codes', async (t) => {
  const registered: RegisteredMeters = {
    cycles: [],
    rates: [
      { rateCode: 'RES', unit: 'Wh', meters: 3 },
      { rateCode: 'RES', unit: 'ccf', meters: 2 },
      { rateCode: '07', unit: 'kWh', meters: 5 },
      { rateCode: 'HEAT', unit: 'therm', meters: 4 },
      { rateCode: 'HEAT', unit: 'ccf', meters: 1 },
    ],
  }
  const more = placed('RateCodes', '7,Seven,Flat,,', 'HEAT,Heat,Flat,Gas,therm')
  const rows = { RateCodes: [...codes, ...more], Holidays: holidays }
  const { errors, warnings } = lint(rows, { registered })
  t.match(errors, [
    [2, 'UNIT', 'RES is priced in kWh, but 2 registered meters with it are read in ccf'],
    [3, 'UNIT', 'HEAT is priced in therm, but 1 registered meters with it are read in ccf'],
  ])
  t.ok(warnings.includes('5 registered meters have the unknown rate code 07'))
  t.ok(warnings.includes('the rate codes 7 and 07 look alike; write them in one way'))
  t.ok(warnings.includes('RES is TOU and has no row of RateTou'))
})

t.test('a year with time-of-use rates and without holidays is warned of', async (t) => {
  const RateTou = placed('RateTou', 'RES,Any,0.2,0,24,2025-01-01,2027-12-31,All')
  const { warnings } = lint({ RateCodes: codes, RateTou, Holidays: holidays })
  t.same(warnings, ['2027 has time-of-use rates and no holidays'])
})

t.test('a sheet whose rows never end is refused as soon as that is plain', async (t) => {
  const dayOf = (at: number) => new Date(at * 86_400_000).toISOString().slice(0, 10)
  const days = Array.from({ length: 5_000 }, (_, at) => dayOf(at))
  const { errors } = tou(...days.map((day, at) => `RES,Price ${at},0.2,0,24,${day},,All`))
  t.match(errors[0], [3, 'HOUR_TWICE', /two prices on working days from 0:00 to 24:00, in line 2/])
  const flat = placed('RateFlat', ...days.map((day) => `RES,0.2,${day},`))
  const refused = lint({ RateCodes: codes, RateFlat: flat }).errors
  t.match(refused[0], [3, 'DATES_TWICE', /RES Energy is in line 2 and line 3/])
})
