import { recordFeed } from '../record-feed.js'
import { day, decimal, identifier, inOrder, maybe } from '../record-value.js'

/** What was billed for a meter and a period; both days belong to the period. */
export const billing = recordFeed({
  name: 'Billing',
  view: 'billing_period',
  key: ['ContractAccount', 'MeterID', 'BillingStartDate', 'DocumentNumber'],
  total: 'TotalConsumption',
  shows: 'starts',
  columns: {
    ContractAccount: identifier,
    ExternalSiteID: identifier,
    MeterID: identifier,
    BillingStartDate: day,
    BillingEndDate: day,
    TotalConsumption: decimal,
    UsageValue: maybe(decimal),
    Cost: maybe(decimal),
    TaxAmount: maybe(decimal),
    MeterEffectiveDate: maybe(day),
    DocumentNumber: maybe(identifier, ''),
  },
  bracketed: ['DocumentNumber'],
  rules: [inOrder('BillingStartDate', 'BillingEndDate')],
})
