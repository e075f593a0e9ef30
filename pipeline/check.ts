import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { setImmediate as others } from 'node:timers/promises'
import { Fault } from '../schemas/fault.js'
import { feeds } from '../schemas/feed.js'
import { type FileName, parseFileName } from '../schemas/file-name.js'
import { lengthsOf, type Profile } from '../schemas/profile.js'
import { formatQuantity } from '../schemas/quantity.js'
import type { Receipt } from '../schemas/receipt.js'
import { createZone } from '../schemas/zone.js'
import { decide, withRows } from './check-verdict.js'
import { afterHeader } from './header.js'
import { inflate } from './inflate.js'
import { rulesOf } from './load-task.js'
import { cutPieces, type Piece } from './pieces.js'
import { toReceipt } from './receipt.js'
import { blankState, companyNotes, refuseLarge, tap } from './receive.js'
import { createRecordSorter } from './record-sorter.js'
import { type BadRow, type Reading, type ReadingOptions, readRows } from './row-reading.js'
import { type Sample, sampleBytes, sampleFile } from './sample.js'
import { attempt } from './sources/disk.js'
import { createHandOverSource } from './sources/folder.js'
import { type FileState, noQuantity, noRows } from './stores/file-state.js'
import type { Arrival } from './stores/ledger.js'
import { isCutShort, noRowsRefusal, type Refusal, truncatedRefusal, withhold } from './verdict.js'

export interface CheckOptions {
  readonly profile: Profile
  /** Where keys go that memory does not hold. */
  readonly folder: string
  readonly now: () => Date
  /** The first so many bad rows are shown. */
  readonly badRowsMax?: number
  /** Usable rows in memory, at most 2^20. */
  readonly recordsMax?: number
  readonly onProgress?: (progress: CheckProgress) => void
  readonly signal?: AbortSignal
}

export interface CheckProgress {
  /** Of the file as it lies there. */
  readonly bytes: number
  readonly rows: number
}

export interface Checked {
  /** What the receiver would answer, had it an empty store and kept all meters. */
  readonly receipt: Receipt
  readonly badRows: readonly BadRow[]
}

const badRowsMaxUsual = 20
const recordsMaxUsual = 2 ** 18
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
    return await judge({ options, origin, name }, state)
  } catch (error) {
    if (!(error instanceof Fault) || error.retry) throw error
    const refused = withhold(state, { fault: error.code, reason: error.detail })
    return { receipt: toReceipt({ ...refused, settledAt: options.now() }), badRows: [] }
  }
}

async function originOf(path: string): Promise<Arrival> {
  const found = await attempt(path, () => stat(path))
  if (!found.isFile()) throw new Fault('CONFIG', `${path} is not a file`)
  return {
    arrival: 0,
    source: 'check',
    name: basename(path),
    path,
    bytes: found.size,
    modifiedMs: Math.trunc(found.mtimeMs),
    force: false,
    arrivedAt: new Date(),
  }
}

interface Checking {
  readonly options: CheckOptions
  readonly origin: Arrival
  readonly name: FileName
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
    const wrong = refusalOf(reading, feeds[name.feed].columns)
    if (wrong !== undefined) {
      const refused = { ...withhold(state, wrong), settledAt: now() }
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

function refusalOf(reading: Reading, columns: readonly string[]): Refusal | undefined {
  if (reading.rows === 0) return noRowsRefusal
  return isCutShort(reading.unendedRow, columns) ? truncatedRefusal : undefined
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
    sample ??= sampleFile(head.bytes(), { ...profile.usage, zone }, lengthsOf(profile, name.feed))
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

interface Seen {
  /** The bytes as they lie there. */
  readonly packed?: (bytes: Buffer) => void
  /** The bytes behind the header. */
  readonly rows?: (bytes: Buffer) => void
}

/** The rows of the file from its start, as often as they are asked for. */
function piecesOf({ options, origin, name }: Checking, seen: Seen = {}): AsyncGenerator<Piece> {
  const { limits } = options.profile
  const packed = tap(createHandOverSource().read(origin), seen.packed ?? ignore)
  const unpacked = inflate(packed, {
    compression: name.compression,
    bytesMax: limits.fileBytesMax,
    ratioMax: limits.ratioMax,
    folder: options.folder,
  })
  const rows = afterHeader(unpacked, feeds[name.feed].columns, limits.rowBytesMax)
  return cutPieces(tap(rows, seen.rows ?? ignore), limits.chunkBytes)
}

const ignore = () => undefined

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
