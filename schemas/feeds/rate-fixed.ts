import { recordFeed } from '../record-feed.js'
import { day, identifier, inOrder, maybe, oneOf, price, words } from '../record-value.js'

/** What a bill has in addition to energy: fees, taxes, program charges, credits, a minimum. */
export const rateFixed = recordFeed({
  name: 'RateFixed',
  view: 'rate_fixed',
  key: ['RateCode', 'Name', 'RateStartDate'],
  columns: {
    RateCode: identifier,
    Name: words,
    Kind: oneOf(['Service', 'Facility', 'TaxPercent', 'TaxAmount', 'Program', 'Credit', 'Minimum']),
    Basis: oneOf(['PerPeriod', 'PerDay', 'PerMonth', 'PerUnit', 'Percent']),
    Amount: price,
    Taxable: oneOf(['true', 'false']),
    RateStartDate: day,
    RateEndDate: maybe(day),
  },
  rules: [inOrder('RateStartDate', 'RateEndDate')],
  schedule: { set: 'rates', starts: 'RateStartDate', ends: 'RateEndDate' },
})
