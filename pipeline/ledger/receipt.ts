import { type FeedName, recordFeedOf } from '../../schemas/feed.js'
import type { Receipt } from '../../schemas/receipt.js'
import type { FileState } from './file-state.js'

/** The receipt for the sender; `first` is the published file that a duplicate repeats. */
export function toReceipt(state: FileState, first?: FileState): Receipt {
  const ended = state.publishedAt ?? state.settledAt ?? state.receivedAt
  return {
    fileName: state.fileName,
    fileId: state.fileId === '' ? null : state.fileId,
    feed: state.feed === '' ? null : (state.feed as FeedName),
    status: statusOf(state),
    reason: reasonOf(state, first),
    rows: state.rows,
    quantity: isProved(state.feed) ? state.quantity : null,
    held: state.held,
    restated: state.restated,
    meters: state.meters,
    firstIntervalStart: state.firstIntervalStart?.toISOString() ?? null,
    lastIntervalEnd: state.lastIntervalEnd?.toISOString() ?? null,
    timestampFormat: state.notes.timestampFormat ?? null,
    dateOrder: state.notes.dateOrder ?? null,
    dateOrderProof: state.notes.dateOrderProof ?? null,
    repeatedHourRows: state.notes.repeatedHourRows ?? null,
    ambiguousHourRows: state.notes.ambiguousHourRows ?? null,
    roundedRows: state.notes.roundedRows ?? null,
    notes: notesOf(state),
    receivedAt: state.receivedAt.toISOString(),
    publishedAt: (first ?? state).publishedAt?.toISOString() ?? null,
    seconds: Math.max(0, ended.getTime() - state.receivedAt.getTime()) / 1_000,
  }
}

/** Whether a feed has a control total; a file of an unknown feed has 0. */
function isProved(feed: string): boolean {
  const record = recordFeedOf(feed)
  return record === undefined || record.total !== undefined
}

function statusOf({ status }: FileState): Receipt['status'] {
  if (status === 'published' || status === 'duplicate' || status === 'waiting') return status
  return 'quarantined'
}

function reasonOf(state: FileState, first: FileState | undefined): string | null {
  if (first !== undefined) {
    return `the same file was published as arrival ${first.arrival} on ${first.publishedAt?.toISOString()}`
  }
  return state.fault === '' ? null : `${state.fault}: ${state.reason}`
}

function notesOf(state: FileState): string[] {
  const notes = [...(state.notes.warnings ?? [])]
  if (state.notes.repairs !== undefined)
    notes.push(`brings missing rows of arrival ${state.notes.repairs} back`)
  if (!state.manifest.ended) notes.push('the last row has no line end')
  const { roundedRows = 0 } = state.notes
  if (roundedRows > 0) {
    notes.push(`rows with rounded values: ${roundedRows}; 6 decimals are kept, of prices 9`)
  }
  const { read, rejected } = state.rows
  if (state.status === 'published' && rejected > 0) {
    notes.push(`published without ${rejected} of ${read} rows, which the rejects file lists`)
  }
  return notes
}
