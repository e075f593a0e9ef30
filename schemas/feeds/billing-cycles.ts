import { recordFeed } from '../record-feed.js'
import { day, identifier, inOrder } from '../record-value.js'

/** The complete schedule of meter reading: the periods of every cycle (specification 2.10). */
export const billingCycles = recordFeed({
  name: 'BillingCycles',
  view: 'billing_cycle',
  key: ['BillingCycleID', 'StartDate'],
  columns: { BillingCycleID: identifier, StartDate: day, EndDate: day },
  rules: [inOrder('StartDate', 'EndDate')],
  schedule: { set: 'cycles', starts: 'StartDate', ends: 'EndDate' },
})
