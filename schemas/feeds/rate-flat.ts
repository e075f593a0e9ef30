import { recordFeed } from '../record-feed.js'
import { day, decimal, identifier, inOrder, maybe } from '../record-value.js'

/** One price for all usage. */
export const rateFlat = recordFeed({
  name: 'RateFlat',
  view: 'rate_flat',
  key: ['RateCode', 'Component', 'RateStartDate'],
  columns: {
    RateCode: identifier,
    Amount: decimal,
    RateStartDate: day,
    RateEndDate: maybe(day),
    Component: maybe(identifier, 'Energy'),
  },
  bracketed: ['Component'],
  rules: [inOrder('RateStartDate', 'RateEndDate')],
  schedule: { set: 'rates', starts: 'RateStartDate', ends: 'RateEndDate' },
})
