import { recordFeed } from '../record-feed.js'
import { count, day, decimal, identifier, inOrder, maybe, oneOf, words } from '../record-value.js'
import { lineTypes } from './billing-lines.js'

/** The lines of invoices: taxes, fees, riders. */
export const invoices = recordFeed({
  name: 'Invoices',
  view: 'invoice_line',
  key: ['InvoiceNumber', 'LineNumber'],
  moves: true,
  total: 'Amount',
  columns: {
    ContractAccount: identifier,
    InvoiceNumber: identifier,
    InvoiceDate: day,
    DueDate: maybe(day),
    LineNumber: count,
    LineType: oneOf(lineTypes),
    Description: words,
    Amount: decimal,
  },
  rules: [inOrder('InvoiceDate', 'DueDate')],
})
