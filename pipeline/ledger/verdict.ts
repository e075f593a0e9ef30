import { isSchedule, recordFeedOf } from '../../schemas/feed.js'
import { proveDateOrder } from '../../schemas/time/date-order.js'
import type { DateOrder } from '../../schemas/time/timestamp.js'
import { type TimestampFormat, timestampNames } from '../../schemas/time/timestamp.js'
import { type FileState, type Notes, noQuantity, noRows, type Outcomes } from './file-state.js'
import type { ChunkReceipt } from './ledger.js'
import { addQuantities, type Counted, subtractQuantities } from './sums.js'

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
const scheduleRowsMax = 500_000

/**
 * Refuses a file for its number of rows. Of bills, invoices and the like there may be none on a day;
 * a schedule or reads without rows are a fault of the export.
 */
export function refuseRows(feed: string, rows: number): Refusal | undefined {
  if (rows === 0 && (isSchedule(feed) || recordFeedOf(feed) === undefined)) return noRowsRefusal
  if (!isSchedule(feed) || rows <= scheduleRowsMax) return undefined
  const reason = `it has ${rows} rows, the limit of a schedule is ${scheduleRowsMax}; leave out periods that ended long ago`
  return { fault: 'SCHEDULE', reason }
}

export const truncatedRefusal: Refusal = {
  fault: 'TRUNCATED',
  reason: 'the last row is truncated and has no line end; send the complete file again',
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
  const duplicate = addQuantities(quantity.accepted, quantity.duplicate)
  return {
    ...state,
    status: 'duplicate',
    duplicateOf: first.arrival,
    rows: { ...rows, accepted: 0, duplicate: rows.accepted + rows.duplicate },
    quantity: { ...quantity, accepted: '0', duplicate },
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

/** A state in which some outcomes are known, the others not yet. */
export function withOutcomes(
  state: FileState,
  found: Readonly<Partial<Record<keyof Outcomes<unknown>, Counted>>>,
): FileState {
  const names = Object.entries(found)
  const rows = Object.fromEntries(names.map(([name, { rows }]) => [name, rows]))
  const quantity = Object.fromEntries(names.map(([name, { quantity }]) => [name, quantity]))
  return {
    ...state,
    rows: { ...state.rows, ...rows },
    quantity: { ...state.quantity, ...quantity },
  }
}

export function withRejected(state: FileState, rejected: Counted): FileState {
  return withOutcomes(state, { rejected })
}

/** What the loads of a file have rejected. */
export function rejectedIn(receipts: readonly ChunkReceipt[]): Counted {
  return {
    rows: sumReceipts(receipts, 'rowsRejected'),
    quantity: addQuantities(...receipts.map(({ quantityRejected }) => quantityRejected)),
  }
}

/** How many meters of a file deserve a word on their interval lengths. */
export interface NotedLengths {
  /** With rows of a length that is not usable. */
  readonly rejected: number
  /** With another length than the one that is stored. */
  readonly changed: number
  /** With a length that nothing proves yet. */
  readonly provisional: number
}

/** Notes what a file shows of interval lengths; the receipt itself does not name meters. */
export function noteLengths(notes: Notes, { rejected, changed, provisional }: NotedLengths): Notes {
  const found = [
    rejected > 0 &&
      `meters with rejected rows (INTERVAL_LENGTH): ${rejected}; the rejects file names each, and the two lines that show why`,
    changed > 0 &&
      `meters with a new interval length: ${changed}; earlier reads of another length are kept beside the new ones`,
    provisional > 0 &&
      `meters with a provisional interval length: ${provisional}; no reads in succession prove it yet`,
  ].filter((note) => note !== false)
  const { provisionalMeters: _, ...noted } = withWarnings(notes, found)
  return provisional > 0 ? { ...noted, provisionalMeters: provisional } : noted
}

/**
 * Notes the stored reads whose length a file proves, and those of them that get another one. An earlier verdict
 * on the same file, which was not carried out, may have found others.
 */
export function noteRekeyed({ rekeyed: _, ...notes }: Notes, rekeyed: Notes['rekeyed']): Notes {
  if (rekeyed === undefined) return notes
  const { rows, meters } = rekeyed
  const found = `earlier reads of a provisional interval length that this file proved to be another: ${rows} of ${meters} meters; they are stored under the new length since`
  return { ...(rows === 0 ? notes : withWarnings(notes, [found])), rekeyed }
}

/** Notes the stored reads that the file moves to accounts whose reads are not stored. */
export function noteEnded({ ended: _, ...notes }: Notes, ended: number): Notes {
  if (ended === 0) return notes
  const found = `stored rows that this file moves to accounts that no client has: ${ended}; no client sees them since`
  return { ...withWarnings(notes, [found]), ended }
}

/** Notes the estimates that are left out because what is stored is none. */
export function noteOutranked(notes: Notes, rows: number): Notes {
  if (rows === 0) return notes
  const found = `estimates that replace no read: ${rows}; the store has the interval or period as the meter sent it (usage.estimates: replace would store them)`
  return withWarnings(notes, [found])
}

/** Notes the rows of the repeated hour whose hour nothing proves; the rejected ones are among them. */
export function noteAmbiguous(
  notes: Notes,
  hour: { readonly ambiguous: number; readonly rejected: Counted },
): Notes {
  const { ambiguous, rejected } = hour
  if (ambiguous === 0) return notes
  const found = `rows of the repeated hour without proof of their hour: ${ambiguous}, of which ${rejected.rows} are rejected (AMBIGUOUS_TIME); send the whole day, or times with an offset`
  return withWarnings(notes, [found])
}

/** Notes with more warnings behind those that they have; a file that is judged again says each once. */
export function withWarnings(notes: Notes, warnings: readonly string[]): Notes {
  if (warnings.length === 0) return notes
  return { ...notes, warnings: [...new Set([...(notes.warnings ?? []), ...warnings])] }
}

export interface Dated {
  readonly fileDate: string | undefined
  /** None where the file writes its timestamps in a way of its own. */
  readonly format: TimestampFormat | null | undefined
  /** The profile's, which holds where nothing proves another. */
  readonly dateOrder: DateOrder
}

/** The receipt's notes on the dates of a file, from all its different timestamps. */
export function dateNotes(texts: Iterable<string>, dated: Dated): Notes {
  const { proved, proof } = proveDateOrder(texts, dated.fileDate ?? '')
  const { format } = dated
  return {
    ...(format && { timestampFormat: timestampNames[format] }),
    dateOrder: proved ?? dated.dateOrder,
    dateOrderProof: proved === undefined ? `${proof}; dateOrder of the profile holds` : proof,
  }
}

/** Refuses a file whose dates prove another order than the profile's, or both (decision 13). */
export function refuseDates(notes: Notes, dateOrder: DateOrder): Refusal | undefined {
  if (notes.dateOrder === dateOrder) return undefined
  if (notes.dateOrder === 'mixed') {
    const reason = `the file has dates of both orders: ${notes.dateOrderProof}; export it in one order`
    return { fault: 'DATE_ORDER', reason }
  }
  const reason = `the file is written ${notes.dateOrder}, dateOrder of the profile is ${dateOrder}: ${notes.dateOrderProof}`
  return { fault: 'DATE_ORDER', reason }
}

/** Refuses a file of which too much is not usable (decision 20). */
export function refuseShare(
  rows: { readonly read: number; readonly rejected: number },
  rejectedShareMax: number,
): Refusal | undefined {
  const { read, rejected } = rows
  const refuse = (what: string): Refusal => ({
    fault: 'TOO_MANY_REJECTED',
    reason: `${what}; fix them and send the file again`,
  })
  if (rejected === 0) return undefined
  if (rejected === read) return refuse(`all ${read} rows are not usable`)
  const share = rejected / read
  if (share <= rejectedShareMax) return undefined
  const unusable = `${rejected} of ${read} rows are not usable`
  const percent = Number((rejectedShareMax * 100).toPrecision(12))
  if (rejected > rejectedRowsAlways) {
    return refuse(`${unusable}; usage.rejectedShareMax allows ${percent} %`)
  }
  return share > 0.5 ? refuse(`${unusable}, which is more than half`) : undefined
}
