import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { setImmediate as others } from 'node:timers/promises'
import { Fault } from '../../schemas/fault.js'
import { type Commodity, feeds } from '../../schemas/feed.js'
import { parseFileName } from '../../schemas/file-name.js'
import { formatQuantity } from '../../schemas/quantity.js'
import { lengthsOf } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'
import { type FileState, noQuantity, noRows } from '../ledger/file-state.js'
import { toReceipt } from '../ledger/receipt.js'
import { hold } from '../ledger/verdict.js'
import { blankState, companyNotes, refuseLarge } from '../steps/receive.js'
import { rulesOf, type Sample, sampleBytes, sampleFile } from '../usage/sample.js'
import { checkRecords } from './check-records.js'
import {
  badRowsMaxUsual,
  type Checked,
  type Checking,
  type CheckOptions,
  originOf,
  piecesOf,
  recordsMaxUsual,
  refusalOf,
} from './checking.js'
import { createRecordSorter } from './record-sorter.js'
import { type ReadingOptions, readRows } from './row-reading.js'
import { decide, withRows } from './verdict.js'

const repeatsMax = 2 ** 16

/**
 * Judges a file as the receiver would that finds it in a source, row by row, without a store: the
 * second opinion to the engine's. What the receiver quarantines is a receipt too; what may pass by
 * itself, such as a file that changes meanwhile, is thrown as the fault that it is.
 */
export async function check(path: string, options: CheckOptions): Promise<Checked> {
  const origin = await originOf(resolve(path))
  let state = blankState(options, origin)
  try {
    const name = parseFileName(origin.name, options.profile)
    state = { ...state, companyCode: name.companyCode, fileDate: name.fileDate, feed: name.feed }
    state = { ...state, notes: companyNotes(options, origin, name) }
    const checking = { options, origin, name }
    const isUsage = feeds[name.feed].kind === 'usage'
    return await (isUsage ? judge(checking, state) : checkRecords(checking, state))
  } catch (error) {
    if (!(error instanceof Fault) || error.retry) throw error
    const refused = hold(state, { fault: error.code, reason: error.detail })
    return { receipt: toReceipt({ ...refused, settledAt: options.now() }), badRows: [] }
  }
}

async function judge(checking: Checking, blank: FileState): Promise<Checked> {
  const { options, origin, name } = checking
  const { profile, folder, now } = options
  const recordsMax = options.recordsMax ?? recordsMaxUsual
  const badRowsMax = options.badRowsMax ?? badRowsMaxUsual
  refuseLarge(profile.limits, origin.bytes)
  const reads = createRecordSorter({ folder, recordsMax })
  const repeats = createRecordSorter({ folder, recordsMax: Math.min(recordsMax, repeatsMax) })
  try {
    const { reading, sample, fileId } = await read(checking, { reads, repeats, badRowsMax })
    const ended = reading.unendedRow === undefined
    const state: FileState = {
      ...blank,
      fileId,
      manifest: { chunks: [], ...sample, ended },
      rows: { ...noRows, read: reading.rows },
      quantity: { ...noQuantity, read: formatQuantity(reading.micros) },
      notes: { ...blank.notes, roundedRows: reading.rounded },
    }
    const wrong = refusalOf(reading, feeds[name.feed])
    if (wrong !== undefined) {
      const refused = { ...hold(state, wrong), settledAt: now() }
      return { receipt: toReceipt(refused), badRows: [] }
    }
    const decided = await decide(state, { profile, reading, reads, repeats, badRowsMax })
    const badRows = await withRows(decided, () => piecesOf(checking), lengthsOf(profile, name.feed))
    return { receipt: toReceipt({ ...decided.state, settledAt: now() }), badRows }
  } finally {
    await reads.close()
    await repeats.close()
  }
}

type Into = Pick<ReadingOptions, 'reads' | 'repeats' | 'badRowsMax'>

async function read(checking: Checking, into: Into) {
  const { options, name } = checking
  const { profile, onProgress, signal } = options
  const zone = createZone(profile.timeZone)
  const digest = createHash('sha256')
  const head = createHead()
  let bytesDone = 0
  let sample: Sample | undefined
  const sampled = () => {
    sample ??= sampleFile(
      head.bytes(),
      { ...profile.usage, zone },
      lengthsOf(profile, name.feed as Commodity),
    )
    return sample
  }
  const pieces = piecesOf(checking, {
    packed: (bytes) => {
      digest.update(bytes)
      bytesDone += bytes.length
    },
    rows: head.add,
  })
  const reading = await readRows(pieces, {
    ...into,
    rules: () => rulesOf({ profile, zone }, { feed: name.feed, ...sampled() }),
    pause: async (rows) => {
      onProgress?.({ bytes: bytesDone, rows })
      await others()
      signal?.throwIfAborted()
    },
  })
  return { reading, sample: sampled(), fileId: digest.digest('hex') }
}

/** Gathers the first bytes, as many as a sample takes. */
function createHead() {
  let head = Buffer.alloc(0)
  return {
    add: (bytes: Buffer): void => {
      if (head.length < sampleBytes) head = Buffer.concat([head, bytes.subarray(0, sampleBytes)])
    },
    bytes: (): Buffer => head,
  }
}
