import t from 'tap'
import { divideRounded, microsOf } from '../../../schemas/rating/amount.js'
import { planOf } from './bills.js'

t.test('monthly tier limits follow the days: 100 of 30 days are 150 of 45', async (t) => {
  const { plan } = planOf({
    first: '2026-01-01',
    last: '2026-02-14',
    rules: { tierLimitRounding: 'unit' },
    files: {
      RateCodes: ['R,x,Tiered,,'],
      RateTiers: [
        'R,1,3.333333,0.1,2025-01-01,,,',
        'R,2,10,0.2,2025-01-01,,,',
        'R,3,,0.3,2025-01-01,,,',
      ],
    },
  })
  t.match(plan, {
    components: [
      { lines: [{ upper: 150_000_000n }, { upper: 450_000_000n }, { lower: 450_000_000n }] },
    ],
  })
})

t.test('37 ccf of 1.085 therms are 40 whole therms; halves go away from zero', async (t) => {
  t.equal(divideRounded(37n * microsOf('1.085'), microsOf('1')), 40n)
  t.same(
    [5n, -5n, 4n, -4n].map((tenths) => divideRounded(tenths, 10n)),
    [1n, -1n, 0n, 0n],
  )
})

t.test('where the clock jumps by half an hour, half-hourly reads have one price', async (t) => {
  const october = { first: '2026-10-01', last: '2026-10-31', timeZone: 'Australia/Lord_Howe' }
  const resolutionOf = (hour: number) =>
    planOf({
      ...october,
      files: {
        RateCodes: ['R,x,TOU,,'],
        RateTou: [
          `R,Night,0.5,0,${hour},--01-01,--12-31,All,`,
          `R,Day,0.1,${hour},24,--01-01,--12-31,All,`,
        ],
      },
    }).plan
  t.match(resolutionOf(2), { resolution: 1_800 }, '4 October has no time from 2:00 to 2:30')
  t.match(resolutionOf(5), { resolution: 3_600 })
})
