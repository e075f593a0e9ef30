import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../../../schemas/fault.js'
import { importRates } from '../../../../schemas/rating/database/import.js'
import { runs } from '../../../rig/sample.js'
import { allHours, entry, evenings, usual } from './entries.js'

const only = (value: unknown, options: object = {}) => {
  const { tariffs } = importRates(value, { ...usual, ...options })
  return tariffs[0]
}
const tiers = (...list: readonly object[]) => ({
  energyratestructure: [list.map((tier) => ({ rate: 0.1, unit: 'kWh', ...tier }))],
})

t.test('a value that cannot be meant is refused with its place and the remedy', async (t) => {
  const hours = allHours()
  const wrong: readonly [unknown, RegExp][] = [
    [[], /^CONFIG: items is a list of 0: the list is empty. Name another file/],
    ['text', /the file is "text": expected an entry with energyratestructure. Download/],
    [{ items: 7 }, /items is 7: expected a list of entries/],
    [{ items: [{ name: 'no energy' }] }, /items\[0\] is an object: expected an entry with/],
    [entry({ energyratestructure: [] }), /energyratestructure is a list of 0: .*at least one/],
    [entry({ energyratestructure: [[]] }), /energyratestructure\[0\] is a list of 0: .*one tier/],
    [entry(tiers({ rate: -1 })), /energyratestructure\[0\]\[0\].rate is -1: .*not negative/],
    [entry(tiers({ rate: 'NaN' })), /\[0\].rate is "NaN": expected a number. Correct it/],
    [entry(tiers({ rate: Number.POSITIVE_INFINITY })), /rate is null: expected a number/],
    [entry(tiers({ rate: 1e13 })), /rate is 10000000000000: expected at most 12 digits/],
    [entry(tiers({ adj: -0.2 })), /adj is -0.2: it makes the price negative/],
    [entry(tiers({ max: 0 }, {})), /max is 0: expected a number above 0/],
    [entry(tiers({}, {})), /\[0\]\[0\].max is missing: expected a limit above 0, as tiers follow/],
    [
      entry(tiers({ max: 9 }, { max: 5 }, {})),
      /\[1\].max is 5: .*above 9, .*Put the tiers in order/,
    ],
    [
      entry({ energyweekdayschedule: hours.slice(1) }),
      /schedule is a list of 11: expected 12 lists/,
    ],
    [
      entry({ energyweekendschedule: hours.with(3, [0]) }),
      /energyweekendschedule\[3\] is a list of 1: expected 24 periods/,
    ],
    [
      entry({ energyweekdayschedule: allHours(1) }),
      /energyweekdayschedule\[0\]\[0\] is 1: energyratestructure has 1 periods, counted from 0/,
    ],
    [
      entry({
        ...tiers({}),
        energyweekdayschedule: undefined,
        energyratestructure: [[{ rate: 1 }], [{ rate: 2 }]],
      }),
      /energyweekdayschedule is missing: expected a schedule of the 2 periods/,
    ],
    [entry({ startdate: null }), /startdate is missing: name the first day with --from/],
    [entry({ startdate: 'soon' }), /startdate is "soon": expected seconds since 1970/],
    [entry({ startdate: 9e15 }), /startdate is 9000000000000000: expected seconds/],
    [
      entry({ enddate: '2025-02-28' }),
      /enddate is "2025-02-28": expected a day from 2025-03-01 on/,
    ],
    [entry({ label: undefined }), /label is "": it cannot be a rate code \(EMPTY\). Name one with/],
    [entry({ Name: 'twice' }), /Name is "twice": it is there twice/],
    [entry({ fixedmonthlycharge: -1 }), /fixedmonthlycharge is -1: .*not negative/],
    [
      entry({ fixedmonthlycharge: 1, fixedchargefirstmeter: 2, fixedchargeunits: '$/month' }),
      /fixedmonthlycharge is 1: fixedchargefirstmeter of the same entry is 2. Remove one/,
    ],
    [entry({ fueladjustmentsmonthly: [1] }), /fueladjustmentsmonthly is a list of 1: expected 12/],
  ]
  for (const [value, message] of wrong) t.throws(() => only(value), { message })
  t.throws(() => only(entry(), { until: '2025-02-28' }), {
    message: /startdate is "2025-03-01": rows would end before, on 2025-02-28. Name a later day/,
  })
})

t.test('what rate files cannot express is named, and nothing of 0', async (t) => {
  const charges = {
    FlatDemandStructure: [[{ rate: 5.5, adj: 0.25 }]],
    flatdemandmonths: Array(12).fill(0),
    demandratestructure: [[{ rate: 0 }]],
    coincidentratestructure: [[{ rate: 2 }]],
    lookbackpercent: 80,
    fixedchargeeaaddl: 3,
    fixedchargefirstmeter: 100,
    fixedchargeunits: '$/year',
    mincharge: 5,
    annualmincharge: 60,
    servicetype: 'Delivery',
    wildfirefee: 0.01,
    emptyfee: 0,
    deep: JSON.parse(`${'['.repeat(2_000)}1${']'.repeat(2_000)}`),
    energyratestructure: [[{ rate: 0.1, unit: 'kWh', sell: 0.05, bonus: 1 }]],
  }
  const found = only(entry(charges))
  const missing = Object.fromEntries(found?.missing.map((one) => [one.field, one.detail]) ?? [])
  t.same(Object.keys(missing).sort(), [
    'annualmincharge',
    'coincidentratestructure',
    'deep',
    'energyratestructure.bonus',
    'energyratestructure.sell',
    'fixedchargeeaaddl',
    'fixedchargefirstmeter',
    'flatdemandstructure',
    'lookbackpercent',
    'mincharge',
    'servicetype',
    'wildfirefee',
  ])
  t.match(missing, {
    flatdemandstructure: 'charges for the highest demand of a month: 5.5, 0.25 (rates',
    fixedchargefirstmeter: 'a fixed charge of 100 with the unit "$/year"',
    mincharge: 'a minimum of the bill of 5 with no unit',
    servicetype: '"Delivery" instead of Bundled',
    'energyratestructure.sell': 'credits for energy that is delivered to the grid, such as 0.05',
    wildfirefee: 'an unknown field, which may be a charge: 0.01',
  })
})

t.test(
  'energy that rate files cannot price is refused, and nothing of it is written',
  async (t) => {
    const two = (first: readonly object[], second: readonly object[]) =>
      only(entry({ energyratestructure: [first, second], energyweekdayschedule: evenings() }))
    t.match(only(entry(tiers({ unit: 'kWh/kW', max: 9 }, { unit: 'kWh/kW' }))), {
      refused: /tiers that depend on demand/,
    })
    t.match(only(entry(tiers({ max: 9 }, { unit: 'kWh daily' }))), {
      refused: /in different units/,
    })
    const low = [
      { rate: 0.1, max: 9, unit: 'kWh' },
      { rate: 0.2, unit: 'kWh' },
    ]
    t.match(two(low, [{ rate: 0.3, unit: 'kWh' }]), {
      refused: /Period 0 and Period 1 have different/,
    })
    const high = [
      { rate: 0.3, max: 9, unit: 'kWh' },
      { rate: 0.4, unit: 'kWh' },
    ]
    t.equal(two(low, high)?.refused, undefined)
  },
)

t.test(
  'whatever an entry says, it is imported without findings or refused by a fault',
  async () => {
    const number = fc.oneof(fc.double(), fc.integer({ min: -2, max: 600 }), fc.constant(null))
    const tier = fc.record(
      {
        rate: fc.oneof(
          { weight: 9, arbitrary: fc.integer({ min: 0, max: 9_999 }).map((n) => n / 10_000) },
          { weight: 1, arbitrary: number },
        ),
        adj: fc.oneof(fc.constantFrom(0, 0.01, -0.001), number),
        max: number,
        unit: fc.constantFrom('kWh', 'kWh', 'kWh', 'kWh daily', 'kWh/kW'),
      },
      { requiredKeys: ['rate'] },
    )
    const months = (width: number) =>
      fc.array(fc.array(fc.integer({ min: 0, max: width }), { minLength: 24, maxLength: 24 }), {
        minLength: 12,
        maxLength: 12,
      })
    const any = fc.record(
      {
        energyratestructure: fc.array(fc.array(tier, { minLength: 1, maxLength: 2 }), {
          minLength: 1,
          maxLength: 3,
        }),
        energyweekdayschedule: fc.oneof(months(0), months(2), fc.anything()),
        energyweekendschedule: fc.oneof(months(0), months(2), fc.anything()),
        energytoulabels: fc.oneof(fc.array(fc.string()), fc.constant(['Off-Peak', 'Off-Peak'])),
        startdate: fc.oneof(fc.integer({ min: 0, max: 4_000_000_000 }), fc.string()),
        enddate: fc.oneof(fc.integer({ min: 0, max: 4_000_000_000 }), fc.constant('2026-12-31')),
        fixedmonthlycharge: number,
        mincharge: number,
        minchargeunits: fc.constantFrom('$/month', '$/day', '$/year', ''),
        fueladjustmentsmonthly: fc.array(fc.constantFrom(0, 0.01), {
          minLength: 12,
          maxLength: 12,
        }),
        name: fc.string({ unit: 'binary' }),
        more: fc.anything(),
      },
      { requiredKeys: ['energyratestructure'] },
    )
    fc.assert(
      fc.property(any, (some) => {
        try {
          const { linted, files } = importRates(entry(some), usual)
          if (linted.errors.length > 0) return false
          return files.every(({ lines }) => lines.every((line) => !/[\r\n]/.test(line)))
        } catch (error) {
          return error instanceof Fault && error.message.length < 400
        }
      }),
      { numRuns: runs(300) },
    )
  },
)
