import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { feeds } from '../../schemas/feed.js'
import type { FileName } from '../../schemas/file-name.js'
import type { PlacedRow } from '../../schemas/lint/finding.js'
import type { Receipt } from '../../schemas/receipt.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { afterHeader } from '../files/header.js'
import { inflate } from '../files/inflate.js'
import { cutRowBlocks, type RowBlock } from '../files/row-blocks.js'
import type { Arrival } from '../ledger/ledger.js'
import { isCutShort, type Refusal, refuseRows, truncatedRefusal } from '../ledger/verdict.js'
import { attempt } from '../sources/disk.js'
import { createSubmitSource } from '../sources/folder.js'
import { tap } from '../steps/receive.js'
import type { BadRow, Reading } from './row-reading.js'

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
  /** The usable rows of a complete schedule, by which it is judged with others of its set. */
  readonly rows?: readonly CheckedRow[]
}

export interface CheckedRow extends PlacedRow {
  /** As it is shown. */
  readonly raw: string
}

export const badRowsMaxUsual = 20
export const recordsMaxUsual = 2 ** 18
/** A file that is checked where it lies. */
export interface Checking {
  readonly options: CheckOptions
  readonly origin: Arrival
  readonly name: FileName
}

/** The file as it would arrive. */
export async function originOf(path: string): Promise<Arrival> {
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

export interface Seen {
  /** The bytes as they lie there. */
  readonly packed?: (bytes: Buffer) => void
  /** The bytes behind the header. */
  readonly rows?: (bytes: Buffer) => void
  /** The columns that the file has. */
  readonly header?: (columns: readonly string[]) => void
}

/** The rows of the file from its start, as often as they are asked for. */
export function piecesOf(
  { options, origin, name }: Checking,
  seen: Seen = {},
): AsyncGenerator<RowBlock> {
  const { limits } = options.profile
  const packed = tap(createSubmitSource().read(origin), seen.packed ?? ignore)
  const unpacked = inflate(packed, {
    compression: name.compression,
    bytesMax: limits.fileBytesMax,
    ratioMax: limits.ratioMax,
    folder: options.folder,
  })
  const { rowBytesMax } = limits
  const feed = feeds[name.feed]
  const rows = afterHeader(unpacked, { feed, rowBytesMax, onHeader: seen.header ?? ignore })
  return cutRowBlocks(tap(rows, seen.rows ?? ignore), limits.chunkBytes)
}

const ignore = () => undefined

/** Why a file is refused that was read to its end. */
export function refusalOf(
  reading: Pick<Reading, 'rows' | 'unendedRow'>,
  { name, columns }: { readonly name: string; readonly columns: readonly string[] },
): Refusal | undefined {
  const refusal = refuseRows(name, reading.rows)
  if (refusal !== undefined) return refusal
  return isCutShort(reading.unendedRow, columns) ? truncatedRefusal : undefined
}
