import { recordFeed } from '../record-feed.js'
import { count, day, decimal, identifier, maybe, oneOf, price, words } from '../record-value.js'

export const lineTypes = [
  'Energy',
  'Delivery',
  'Fixed',
  'Tax',
  'Rider',
  'Program',
  'Adjustment',
  'Credit',
] as const

/** The lines of a bill, its taxes among them. */
export const billingLines = recordFeed({
  name: 'BillingLines',
  view: 'bill_line',
  key: ['ContractAccount', 'MeterID', 'BillingStartDate', 'LineNumber'],
  total: 'Amount',
  columns: {
    ContractAccount: identifier,
    MeterID: identifier,
    BillingStartDate: day,
    LineNumber: count,
    LineType: oneOf(lineTypes),
    Description: words,
    Quantity: maybe(decimal),
    UnitPrice: maybe(price),
    Amount: decimal,
  },
})
