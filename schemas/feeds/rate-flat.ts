import { recordFeed } from '../record-feed.js'
import { day, identifier, inOrder, maybe, price } from '../record-value.js'

/** One price for all usage. */
export const rateFlat = recordFeed({
  name: 'RateFlat',
  view: 'rate_flat',
  key: ['RateCode', 'Component', 'RateStartDate'],
  columns: {
    RateCode: identifier,
    Amount: price,
    RateStartDate: day,
    RateEndDate: maybe(day),
    Component: maybe(identifier, 'Energy'),
  },
  bracketed: ['Component'],
  rules: [inOrder('RateStartDate', 'RateEndDate')],
  schedule: { set: 'rates', starts: 'RateStartDate', ends: 'RateEndDate', code: 'RateCode' },
})
