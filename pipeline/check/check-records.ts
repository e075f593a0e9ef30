import { createHash, hash } from 'node:crypto'
import { setImmediate as others } from 'node:timers/promises'
import { recordFeedOf } from '../../schemas/feed.js'
import { formatQuantity } from '../../schemas/quantity.js'
import type { RecordFeed, RecordRow } from '../../schemas/record-feed.js'
import { splitRows } from '../files/rows.js'
import { type FileState, noQuantity, noRows } from '../ledger/file-state.js'
import { toReceipt } from '../ledger/receipt.js'
import { subtractQuantities } from '../ledger/sums.js'
import { hold, refuseShare, scheduleRowsMax, withRejected } from '../ledger/verdict.js'
import { judgeRawRecord, rawQuantity } from '../records/judge.js'
import { refuseLarge } from '../steps/receive.js'
import { shownRow } from '../usage/row-path.js'
import {
  badRowsMaxUsual,
  type Checked,
  type CheckedRow,
  type Checking,
  piecesOf,
  recordsMaxUsual,
  refusalOf,
} from './checking.js'
import { lineSlot, microsSlot, ownerSlot, recordSlots, startSlot } from './read-record.js'
import { createRecordSorter, type RecordSorter } from './record-sorter.js'
import type { BadRow } from './row-reading.js'

/** Judges a file of records as the receiver would, row by row, without a store. */
export async function checkRecords(checking: Checking, blank: FileState): Promise<Checked> {
  const { options, origin, name } = checking
  const feed = recordFeedOf(name.feed) as RecordFeed
  refuseLarge(options.profile.limits, origin.bytes)
  const { folder, recordsMax = recordsMaxUsual } = options
  const records = createRecordSorter({ folder, recordsMax })
  try {
    const read = await readRecords(checking, feed, records)
    const { header, rejected, badRows, unendedRow } = read
    const state: FileState = {
      ...blank,
      fileId: read.fileId,
      manifest: { ...blank.manifest, columns: header, ended: unendedRow === undefined },
      rows: { ...noRows, read: read.rows },
      quantity: { ...noQuantity, read: formatQuantity(read.micros) },
      notes: { ...blank.notes, roundedRows: read.rounded },
    }
    const end = (ended: FileState) => toReceipt({ ...ended, settledAt: options.now() })
    const wrong = refusalOf(read, { name: feed.name, columns: header })
    if (wrong !== undefined) return { receipt: end(hold(state, wrong)), badRows: [] }
    const counted = withRejected(state, {
      rows: rejected.rows,
      quantity: formatQuantity(rejected.micros),
    })
    const shareMax = options.profile.usage.rejectedShareMax
    const tooMany = feed.schedule ? undefined : refuseShare(counted.rows, shareMax)
    if (tooMany !== undefined) return { receipt: end(hold(counted, tooMany)), badRows }
    const receipt = end(await published(counted, records, read.meters.size))
    return { receipt, badRows, ...(feed.schedule && { rows: read.placed }) }
  } finally {
    await records.close()
  }
}

const pauseRows = 16_384

async function readRecords(checking: Checking, feed: RecordFeed, records: RecordSorter) {
  const { options, origin } = checking
  const { badRowsMax = badRowsMaxUsual, profile, onProgress, signal } = options
  const digest = createHash('sha256')
  let header: readonly string[] = feed.columns
  let unendedRow: string | undefined
  const counted = { bytes: 0, rows: 0, micros: 0n, rounded: 0 }
  const rejected = { rows: 0, micros: 0n }
  const badRows: BadRow[] = []
  const meters = new Set<string>()
  const placed: CheckedRow[] = []
  const pieces = piecesOf(checking, {
    packed: (bytes) => {
      digest.update(bytes)
      counted.bytes += bytes.length
    },
    header: (columns) => {
      header = columns
    },
  })
  for await (const piece of pieces) {
    unendedRow = piece.unendedRow
    const rules = { feed, header, rowBytesMax: profile.limits.rowBytesMax }
    for (const { line, raw } of splitRows(piece.bytes, piece.line)) {
      const verdict = judgeRawRecord(raw, rules)
      const { micros, rounded } = rawQuantity(raw, rules)
      counted.rows++
      counted.micros += micros
      if (rounded) counted.rounded++
      if (verdict.outcome === 'accepted') {
        const { row } = verdict
        meters.add(row['MeterID'] ?? '')
        if (feed.schedule && counted.rows <= scheduleRowsMax) {
          placed.push({ fileName: origin.name, line, row, raw: shownRow(raw) })
        }
        records.add({ ...hashesOf(feed, row), start: 0, line, micros })
        if (records.isFull()) await records.spill()
      } else {
        rejected.rows++
        rejected.micros += micros
        const { column, code, detail } = verdict
        if (badRows.length < badRowsMax) {
          badRows.push({ line, column, code, detail, row: shownRow(raw) })
        }
      }
      if (counted.rows % pauseRows !== 0) continue
      onProgress?.({ bytes: counted.bytes, rows: counted.rows })
      await others()
      signal?.throwIfAborted()
    }
  }
  meters.delete('')
  const fileId = digest.digest('hex')
  return { ...counted, rejected, badRows, header, unendedRow, meters, placed, fileId }
}

/** Fixed-size stand-ins for the key of a row and for all its values. */
function hashesOf(feed: RecordFeed, row: RecordRow) {
  return {
    meter: hashOf(
      feed.key.map((column) => row[column] ?? ''),
      startSlot,
    ),
    owner: hashOf(
      feed.columns.map((column) => row[column] ?? '\n'),
      2,
    ),
  }
}

function hashOf(values: readonly string[], numbers: number): Uint32Array {
  // A file holds no NUL: it is refused before.
  const digest = hash('sha256', values.join('\0'), 'buffer')
  return Uint32Array.from({ length: numbers }, (_, index) => digest.readUInt32LE(index * 4))
}

/** Within a file the last row of a key survives (decision 22); it comes first among the sorted. */
async function published(
  state: FileState,
  records: RecordSorter,
  meters: number,
): Promise<FileState> {
  const duplicate = { rows: 0, micros: 0n }
  const superseded = { rows: 0, micros: 0n }
  let last = new Uint32Array(recordSlots)
  for await (const block of records.sorted()) {
    const quantities = new BigInt64Array(block.buffer, block.byteOffset, block.length / 2)
    for (let at = 0; at < block.length; at += recordSlots) {
      if (!isAlike(block, at, { last, from: 0, to: startSlot }) || last[lineSlot] === 0) {
        last = block.slice(at, at + recordSlots)
        continue
      }
      const isEqual = isAlike(block, at, { last, from: ownerSlot, to: ownerSlot + 2 })
      const into = isEqual ? duplicate : superseded
      into.rows++
      into.micros += quantities[at / 2 + microsSlot] as bigint
    }
  }
  const { rows, quantity } = state
  const [twice, before] = [formatQuantity(duplicate.micros), formatQuantity(superseded.micros)]
  return {
    ...state,
    status: 'published',
    meters,
    rows: {
      ...rows,
      duplicate: duplicate.rows,
      superseded: superseded.rows,
      accepted: rows.read - rows.rejected - duplicate.rows - superseded.rows,
    },
    quantity: {
      ...quantity,
      duplicate: twice,
      superseded: before,
      accepted: subtractQuantities(quantity.read, quantity.rejected, twice, before),
    },
  }
}

function isAlike(
  block: Uint32Array,
  at: number,
  other: { readonly last: Uint32Array; readonly from: number; readonly to: number },
): boolean {
  for (let slot = other.from; slot < other.to; slot++) {
    if (block[at + slot] !== other.last[slot]) return false
  }
  return true
}
