import { qualityColumn, type ReadQuality, readQualities } from '../quantity.js'
import { recordFeed } from '../record-feed.js'
import { day, decimal, identifier, inOrder, maybe, oneOf } from '../record-value.js'

const estimated: ReadQuality = 'estimated'

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
    [qualityColumn]: maybe(oneOf(readQualities), 'asSent'),
  },
  bracketed: ['DocumentNumber', qualityColumn],
  yields: { column: qualityColumn, text: estimated },
  rules: [inOrder('BillingStartDate', 'BillingEndDate')],
})
