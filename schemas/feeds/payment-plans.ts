import { recordFeed } from '../record-feed.js'
import { day, decimal, identifier, inOrder, maybe, oneOf } from '../record-value.js'

/** Customers on payment arrangements or budget billing. */
export const paymentPlans = recordFeed({
  name: 'PaymentPlans',
  view: 'payment_plan',
  key: ['ContractAccount', 'PlanType', 'StartDate'],
  total: 'InstallmentAmount',
  columns: {
    ContractAccount: identifier,
    PlanType: oneOf(['BudgetBilling', 'PaymentArrangement']),
    StartDate: day,
    EndDate: maybe(day),
    InstallmentAmount: maybe(decimal),
    Status: oneOf(['Active', 'Completed', 'Defaulted', 'Cancelled']),
  },
  rules: [inOrder('StartDate', 'EndDate')],
})
