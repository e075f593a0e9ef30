import t from 'tap'
import { importRates } from '../../../../schemas/rating/database/import.js'
import { allHours, entry, evenings, usual } from './entries.js'

/** The rows of each file that an entry becomes. */
function filesOf(more: object, options: object = {}) {
  const { files, linted, tariffs } = importRates(entry(more), { ...usual, ...options })
  const rows = files.map(({ name, lines }) => [name.split('_')[2], lines.slice(1)])
  return { ...Object.fromEntries(rows), linted, tariff: tariffs[0] }
}

t.test('one price and a monthly charge become exact rows that hold on', async (t) => {
  const found = filesOf({ fixedchargefirstmeter: 12.5, fixedchargeunits: '$/month' })
  t.match(found, {
    'RateCodes.csv': ['L1,"Residential, single phase",Flat,Electric,kWh'],
    'RateFlat.csv': ['L1,0.1408,2025-03-01,,'],
    'RateFixed.csv': ['L1,Fixed charge,Service,PerMonth,12.5,true,2025-03-01,'],
    linted: { errors: [], warnings: [] },
    tariff: { rateCode: 'L1', missing: [] },
  })
  t.equal(found['RateTou.csv'], undefined)
})

t.test('periods of the day become windows, one for each run of hours', async (t) => {
  const found = filesOf({
    energyratestructure: [[{ rate: 0.1, unit: 'kWh' }], [{ rate: 0.3, unit: 'kWh' }]],
    energyweekdayschedule: evenings(),
    energytoulabels: ['Night, day', ''],
  })
  t.same(found['RateTou.csv'], [
    'L1,Period 1,0.3,16,21,2025-03-01,,Weekday,',
    'L1,"Night, day",0.1,21,16,2025-03-01,,Weekday,',
    'L1,"Night, day",0.1,0,24,2025-03-01,,WeekendHoliday,',
  ])
  t.match(found.tariff.notes, [/no holidays: days of a Holidays file are priced as weekends/])
})

t.test('tiers by month have a limit for the period, tiers by day one for each day', async (t) => {
  const tiers = (unit: string) =>
    filesOf({
      energyratestructure: [
        [
          { rate: 0.1, max: 250, unit },
          { rate: 0.2, unit },
        ],
      ],
    })['RateTiers.csv']
  t.same(tiers('kWh'), ['L1,1,,0.1,2025-03-01,,250,', 'L1,2,,0.2,2025-03-01,,,'])
  t.same(tiers('kWh daily'), ['L1,1,250,0.1,2025-03-01,,,', 'L1,2,,0.2,2025-03-01,,,'])
})

t.test('seasons are written with their years and end on a day that a note names', async (t) => {
  const summer = allHours().map((hours, month) =>
    month >= 5 && month < 9 ? Array(24).fill(1) : hours,
  )
  const seasonal = {
    energyratestructure: [[{ rate: 0.1, unit: 'kWh' }], [{ rate: 0.2, unit: 'kWh' }]],
    energyweekdayschedule: summer,
    energyweekendschedule: summer,
  }
  const found = filesOf(seasonal, { until: '2026-07-15' })
  t.same(found['RateFlat.csv'], [
    'L1,0.1,2025-03-01,2025-05-31,',
    'L1,0.2,2025-06-01,2025-09-30,',
    'L1,0.1,2025-10-01,2026-05-31,',
    'L1,0.2,2026-06-01,2026-07-15,',
  ])
  t.match(found.tariff.notes, [/rows end on 2026-07-15. Import again before then/])
  t.match(filesOf(seasonal)['RateFlat.csv'].at(-1), 'L1,0.1,2027-10-01,2027-12-31,')
  const ended = filesOf({ ...seasonal, enddate: '2025-06-30' })
  t.equal(ended['RateFlat.csv'].at(-1), 'L1,0.2,2025-06-01,2025-06-30,')
  t.match(ended.tariff.notes, [/enddate is taken as the last day/])
})

t.test(
  'minimums, daily charges and fuel adjustments have rows; amounts of 0 have none',
  async (t) => {
    const found = filesOf({
      fixedchargefirstmeter: 0.5,
      fixedchargeunits: '$/day',
      minmonthlycharge: 7,
      annualmincharge: 0,
      fueladjustmentsmonthly: [0.01, 0.01, ...Array(10).fill(-0.002)],
      enddate: '2026-02-28',
    })
    t.same(found['RateFixed.csv'], [
      'L1,Fixed charge,Service,PerDay,0.5,true,2025-03-01,2026-02-28',
      'L1,Minimum,Minimum,PerMonth,7,true,2025-03-01,2026-02-28',
    ])
    t.same(found['RateFlat.csv'], [
      'L1,0.1408,2025-03-01,2026-02-28,',
      'L1,-0.002,2025-03-01,2025-12-31,FuelAdjustment',
      'L1,0.01,2026-01-01,2026-02-28,FuelAdjustment',
    ])
    t.match(found.tariff.notes.join(), /written as dollars for one kWh/)
    t.same([found.linted.errors, found.tariff.missing], [[], []])
    t.equal(filesOf({ fixedmonthlycharge: 0 })['RateFixed.csv'], undefined)
  },
)

t.test('what is taken for granted is noted', async (t) => {
  const notesOf = (more: object) => filesOf(more).tariff.notes.join('\n')
  const tier = (more: object) => ({ energyratestructure: [[{ rate: 0.1, unit: 'kWh', ...more }]] })
  t.match(notesOf(tier({ rate: 0.12345678949 })), /\[0\]\[0\] is rounded to 9 decimals/)
  t.equal(filesOf(tier({ rate: 1.5e-7 }))['RateFlat.csv'][0], 'L1,0.00000015,2025-03-01,,')
  t.match(notesOf(tier({ max: 500 })), /ends at 500 kWh; usage above has the price of this tier/)
  t.match(notesOf(tier({ unit: undefined })), /does not name a unit; kWh is taken/)
  t.match(notesOf({ startdate: 1_727_820_000 }), /startdate is in the afternoon in UTC/)
  t.match(notesOf({ energycomments: 'a fee\nof 1 %' }), /describe charges: a fee of 1 %/)
  t.match(notesOf({ energyratestructure: [[{ rate: 1 }], [{ rate: 2 }]] }), /period 1 .*no hour/)
  t.same(filesOf(tier({ max: 1e38 })).tariff.notes, [
    'the database has no taxes: add them to the RateFixed file',
  ])
})
