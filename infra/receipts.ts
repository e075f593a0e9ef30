import type { Receipt } from '../schemas/receipt.js'
import { type Column, grouped, renderTable } from './table.js'

const columns: readonly Column<Receipt>[] = [
  { title: 'file', cell: (receipt) => receipt.fileName },
  { title: 'status', cell: (receipt) => receipt.status },
  { title: 'read', right: true, cell: (receipt) => grouped(receipt.rows.read) },
  { title: 'accepted', right: true, cell: (receipt) => grouped(receipt.rows.accepted) },
  { title: 'duplicate', right: true, cell: (receipt) => grouped(receipt.rows.duplicate) },
  { title: 'superseded', right: true, cell: (receipt) => grouped(receipt.rows.superseded) },
  { title: 'rejected', right: true, cell: (receipt) => grouped(receipt.rows.rejected) },
  { title: 'quantity', right: true, cell: (receipt) => grouped(receipt.quantity?.accepted ?? '') },
  { title: 'seconds', right: true, cell: (receipt) => receipt.seconds?.toFixed(2) ?? '' },
]

/** The receipts as a table, with the reasons of those that were not published below it. */
export function renderReceipts(receipts: readonly Receipt[]): string {
  const reasons = receipts
    .filter((receipt) => receipt.reason)
    .map((receipt) => `${receipt.fileName}: ${receipt.reason}`)
  return [renderTable(columns, receipts), ...reasons].join('\n')
}
