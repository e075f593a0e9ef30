import type { BadRow, Checked } from '../../../pipeline/check.js'
import type { Receipt } from '../../../schemas/receipt.js'
import { grouped, printable, renderTable, type TableColumn } from './table.js'

const columns: readonly TableColumn<Receipt>[] = [
  { title: 'file', cell: (receipt) => receipt.fileName },
  { title: 'status', cell: (receipt) => receipt.status },
  { title: 'read', right: true, cell: (receipt) => grouped(receipt.rows.read) },
  { title: 'accepted', right: true, cell: (receipt) => grouped(receipt.rows.accepted) },
  { title: 'duplicate', right: true, cell: (receipt) => grouped(receipt.rows.duplicate) },
  { title: 'superseded', right: true, cell: (receipt) => grouped(receipt.rows.superseded) },
  { title: 'rejected', right: true, cell: (receipt) => grouped(receipt.rows.rejected) },
  { title: 'held', right: true, cell: ({ held }) => grouped(held?.rows ?? 0) },
  { title: 'quantity', right: true, cell: (receipt) => grouped(receipt.quantity?.accepted ?? '') },
  { title: 'seconds', right: true, cell: (receipt) => receipt.seconds?.toFixed(2) ?? '' },
]

/** The receipts as a table, followed by reasons and notes. */
export function renderReceipts(receipts: readonly Receipt[]): string {
  const lines = receipts.flatMap(({ fileName, reason, notes = [] }) =>
    [...(reason ? [reason] : []), ...notes].map((line) => printable(`${fileName}: ${line}`)),
  )
  return [renderTable(columns, receipts), ...lines].join('\n')
}

/** A receipt with the paths of its files. */
export interface EndedFile extends Receipt {
  readonly receiptPath: string
  /** Present if rows were rejected. */
  readonly rejectsPath?: string
}

/** The receipts of submitted files with the paths of receipts and rejects. */
export function renderEnded(ended: readonly EndedFile[]): string {
  const paths = ended.flatMap(({ receiptPath, rejectsPath }) => [
    `receipt  ${printable(receiptPath)}`,
    ...(rejectsPath === undefined ? [] : [`rejects  ${printable(rejectsPath)}`]),
  ])
  return [renderReceipts(ended), '', ...paths].join('\n')
}

const badRowColumns: readonly TableColumn<BadRow>[] = [
  { title: 'line', right: true, cell: ({ line }) => grouped(line) },
  { title: 'column', cell: ({ column }) => column },
  { title: 'code', cell: ({ code }) => code },
  { title: 'row', cell: ({ row }) => shorten(row) },
  { title: 'detail', cell: ({ detail }) => detail },
]

/** The receipts of checked files, the proof of their date order, and their first rejected rows. */
export function renderChecked(checked: readonly Checked[]): string {
  const receipts = renderReceipts(checked.map(({ receipt }) => receipt))
  const proofs = checked.flatMap(({ receipt: { fileName, dateOrderProof } }) =>
    dateOrderProof ? [printable(`${fileName}: ${dateOrderProof}`)] : [],
  )
  const bad = checked.flatMap(({ receipt: { fileName, rows }, badRows }) => {
    if (badRows.length === 0) return []
    const title = `${printable(fileName)}: ${badRows.length} of ${grouped(rows.rejected)} rejected rows`
    return [`\n${title}`, renderTable(badRowColumns, badRows)]
  })
  return [receipts, ...proofs, ...bad].join('\n')
}

const shownMax = 100

function shorten(text: string): string {
  return text.length > shownMax ? `${text.slice(0, shownMax)}...` : text
}
