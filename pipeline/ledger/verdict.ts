import { isSchedule } from '../../schemas/feed.js'
import { proveDateOrder } from '../../schemas/time/date-order.js'
import type { DateOrder } from '../../schemas/time/timestamp.js'
import { type TimeStampFormat, timeStampNames } from '../../schemas/time/timestamp.js'
import { parseRow } from '../files/csv.js'
import type { Counted } from '../usage/overlap.js'
import { type FileState, type Notes, noQuantity, noRows } from './file-state.js'
import type { ChunkReceipt } from './ledger.js'
import { addQuantities, subtractQuantities } from './sums.js'

/** Why a file is not published: a fault's code and the reason in the receipt. */
export interface Refusal {
  readonly fault: string
  readonly reason: string
}

const rejectedRowsAlways = 10

const noRowsRefusal: Refusal = {
  fault: 'NO_ROWS',
  reason: 'the file has a header and no rows; send it again with its rows',
}

/** A complete schedule is checked in memory: 5,000 reading units have this many periods in 8 years. */
export const scheduleRowsMax = 500_000

/** Refuses a file for its number of rows. */
export function refuseRows(feed: string, rows: number): Refusal | undefined {
  if (rows === 0) return noRowsRefusal
  if (!isSchedule(feed) || rows <= scheduleRowsMax) return undefined
  const reason = `it has ${rows} rows, the limit of a schedule is ${scheduleRowsMax}; leave out periods that ended long ago`
  return { fault: 'SCHEDULE', reason }
}

export const truncatedRefusal: Refusal = {
  fault: 'TRUNCATED',
  reason: 'the last row is truncated and has no line end; send the complete file again',
}

/** Whether a last row without line end lacks columns (decision 20). */
export function isCutShort(unendedRow: string | undefined, columns: readonly string[]): boolean {
  if (unendedRow === undefined) return false
  return (parseRow(unendedRow)?.length ?? 0) < columns.length
}

/**
 * Refuses a file as a whole: its rejected rows are reported and all others are held, so that no row
 * counts as accepted that is not readable in the store.
 */
export function hold(state: FileState, { fault, reason }: Refusal): FileState {
  const { rows, quantity } = state
  return {
    ...state,
    status: 'quarantined',
    fault,
    reason,
    rows: { ...noRows, read: rows.rejected, rejected: rows.rejected },
    quantity: { ...noQuantity, read: quantity.rejected, rejected: quantity.rejected },
    held: {
      rows: rows.read - rows.rejected,
      quantity: subtractQuantities(quantity.read, quantity.rejected),
    },
    restated: { rows: 0, netQuantity: '0' },
    meters: 0,
    firstIntervalStart: undefined,
    lastIntervalEnd: undefined,
  }
}

/** A file that is already published: the accepted rows of the first are duplicates now. */
export function toDuplicate(state: FileState, first: FileState): FileState {
  const { rows, quantity, meters, firstIntervalStart, lastIntervalEnd } = first
  const duplicate = {
    rows: rows.accepted + rows.duplicate,
    quantity: addQuantities(quantity.accepted, quantity.duplicate),
  }
  return {
    ...state,
    status: 'duplicate',
    duplicateOf: first.arrival,
    rows: { ...rows, accepted: 0, duplicate: duplicate.rows },
    quantity: { ...quantity, accepted: '0', duplicate: duplicate.quantity },
    ...{ meters, firstIntervalStart, lastIntervalEnd },
    notes: { ...first.notes, ...state.notes },
  }
}

export function sumReceipts(
  receipts: readonly ChunkReceipt[],
  what: 'rowsRead' | 'rowsAccepted' | 'rowsRejected',
): number {
  return receipts.reduce((total, receipt) => total + receipt[what], 0)
}

/** A state whose rejected rows are known, the others not yet. */
export function withRejected(state: FileState, rejected: Counted): FileState {
  const { rows, quantity } = state
  return {
    ...state,
    rows: { ...rows, rejected: rejected.rows },
    quantity: { ...quantity, rejected: rejected.quantity },
  }
}

/** Notes how many meters have no usable row; the receipt itself does not name meters. */
export function noteLengths(notes: Notes, meters: number): Notes {
  if (meters === 0) return notes
  const warning = `meters of which all rows are rejected (INTERVAL_LENGTH): ${meters}; the rejects file names each, and the two lines that show why`
  return { ...notes, warnings: [...(notes.warnings ?? []), warning] }
}

export interface Dated {
  readonly fileDate: string | undefined
  readonly format: TimeStampFormat | null
  /** The profile's, which holds where nothing proves another. */
  readonly dateOrder: DateOrder
}

/** The receipt's notes on the dates of a file, from all its different timestamps. */
export function dateNotes(texts: Iterable<string>, dated: Dated): Notes {
  const { proved, proof } = proveDateOrder(texts, dated.fileDate ?? '')
  const { format } = dated
  return {
    ...(format && { timestampFormat: timeStampNames[format] }),
    dateOrder: proved ?? dated.dateOrder,
    dateOrderProof: proved === undefined ? `${proof}; usage.dateOrder holds` : proof,
  }
}

/** Refuses a file whose dates prove another order than the profile's, or both (decision 13). */
export function refuseDates(notes: Notes, dateOrder: DateOrder): Refusal | undefined {
  if (notes.dateOrder === dateOrder) return undefined
  if (notes.dateOrder === 'mixed') {
    const reason = `the file has dates of both orders: ${notes.dateOrderProof}; export it in one order`
    return { fault: 'DATE_ORDER', reason }
  }
  const reason = `the file is written ${notes.dateOrder}, usage.dateOrder says ${dateOrder}: ${notes.dateOrderProof}`
  return { fault: 'DATE_ORDER', reason }
}

/** Refuses a file of which too much is not usable (decision 20). */
export function refuseShare(
  rows: { readonly read: number; readonly rejected: number },
  rejectedShareMax: number,
): Refusal | undefined {
  const { read, rejected } = rows
  if (rejected <= rejectedRowsAlways || rejected / read <= rejectedShareMax) return undefined
  const percent = Number((rejectedShareMax * 100).toPrecision(12))
  const reason = `${rejected} of ${read} rows are not usable; usage.rejectedShareMax allows ${percent} %; fix them and send the file again`
  return { fault: 'TOO_MANY_REJECTED', reason }
}
