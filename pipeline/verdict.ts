import { proveDateOrder } from '../schemas/date-order.js'
import type { DateOrder } from '../schemas/time-stamp.js'
import { type TimeStampFormat, timeStampNames } from '../schemas/time-stamp.js'
import { parseRow } from './csv.js'
import { type FileState, type Notes, noQuantity, noRows } from './stores/file-state.js'
import type { Counted } from './stores/overlap.js'
import { subtractQuantities } from './sums.js'

/** Why a file is not published: a fault's code and what the receipt says. */
export interface Refusal {
  readonly fault: string
  readonly reason: string
}

const rejectedRowsAlways = 10

export const noRowsRefusal: Refusal = {
  fault: 'NO_ROWS',
  reason: 'a header stands alone, no row follows it; send it again with its rows',
}

export const truncatedRefusal: Refusal = {
  fault: 'TRUNCATED',
  reason: 'the last row is cut short and has no line end; send the whole file again',
}

/** Whether a last row without line end lacks columns (decision 20). */
export function isCutShort(unendedRow: string | undefined, columns: readonly string[]): boolean {
  if (unendedRow === undefined) return false
  return (parseRow(unendedRow)?.length ?? 0) < columns.length
}

/** A file that is refused as a whole: none of its rows was told apart, so none is counted. */
export function unjudged(state: FileState, { fault, reason: why }: Refusal): FileState {
  const rows = state.rows.read === 0 ? '' : `; it has ${state.rows.read} rows`
  const none = { rows: noRows, quantity: noQuantity }
  return { ...state, ...none, status: 'quarantined', fault, reason: `${why}${rows}` }
}

/** A state whose rows add up before it is known what becomes of the usable ones. */
export function withRejected(state: FileState, rejected: Counted): FileState {
  const { rows, quantity } = state
  return {
    ...state,
    rows: { ...rows, rejected: rejected.rows, accepted: rows.read - rejected.rows },
    quantity: {
      ...quantity,
      rejected: rejected.quantity,
      accepted: subtractQuantities(quantity.read, rejected.quantity),
    },
  }
}

/** Says how many meters none of whose rows are usable; the receipt itself names no meter. */
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

/** What a receipt says of the dates of a file, from all its different timestamps. */
export function dateNotes(texts: Iterable<string>, dated: Dated): Notes {
  const { proved, proof } = proveDateOrder(texts, dated.fileDate ?? '')
  const { format } = dated
  return {
    ...(format && { timestampFormat: timeStampNames[format] }),
    dateOrder: proved ?? dated.dateOrder,
    dateOrderProof: proved === undefined ? `${proof}; usage.dateOrder holds` : proof,
  }
}

/** Refuses a file whose dates prove another order than the profile's (decision 13). */
export function refuseDates(notes: Notes, dateOrder: DateOrder): Refusal | undefined {
  if (notes.dateOrder === dateOrder) return undefined
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
  const reason = `${rejected} of ${read} rows are not usable; usage.rejectedShareMax allows ${percent} %; mend them and send the file again`
  return { fault: 'TOO_MANY_REJECTED', reason }
}
