import { recordFeed } from '../record-feed.js'
import { count, day, identifier, inOrder, maybe, notNegative, price } from '../record-value.js'

/** Prices by tier; the limit is that factor times the days of the period, or one for the period. */
export const rateTiers = recordFeed({
  name: 'RateTiers',
  view: 'rate_tier',
  key: ['RateCode', 'Component', 'Tier', 'RateStartDate'],
  columns: {
    RateCode: identifier,
    Tier: count,
    DailyProrateFactor: maybe(notNegative),
    Amount: price,
    RateStartDate: day,
    RateEndDate: maybe(day),
    PeriodLimit: maybe(notNegative),
    Component: maybe(identifier, 'Energy'),
  },
  bracketed: ['PeriodLimit', 'Component'],
  rules: [inOrder('RateStartDate', 'RateEndDate')],
  schedule: { set: 'rates', starts: 'RateStartDate', ends: 'RateEndDate', code: 'RateCode' },
})
