import { recordFeed } from '../record-feed.js'
import { day, identifier, inOrder } from '../record-value.js'

/** Specification 2.10: the complete schedule of meter reading, with the periods of every cycle. */
export const billingCycles = recordFeed({
  name: 'BillingCycles',
  view: 'billing_cycle',
  key: ['BillingCycleID', 'StartDate'],
  columns: { BillingCycleID: identifier, StartDate: day, EndDate: day },
  rules: [inOrder('StartDate', 'EndDate')],
  schedule: { set: 'cycles', starts: 'StartDate', ends: 'EndDate', code: 'BillingCycleID' },
})
