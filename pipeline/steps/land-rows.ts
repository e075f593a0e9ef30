import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { Fault } from '../../schemas/fault.js'
import { feeds } from '../../schemas/feed.js'
import type { FileName } from '../../schemas/file-name.js'
import type { Manifest } from '../../schemas/manifest.js'
import type { MatchedHeader } from '../../schemas/record-feed.js'
import { timesOf } from '../../schemas/settings/profile.js'
import type { PipelineContext } from '../context.js'
import { refuseFullDisk } from '../files/disk.js'
import { afterHeader, extraWarnings } from '../files/header.js'
import { inflate } from '../files/inflate.js'
import { createLanding, type Landing, landedFolder } from '../files/landing.js'
import { isCutShort } from '../files/last-row.js'
import type { Conversion } from '../formats/format.js'
import { openFile } from '../formats/formats.js'
import { firstPlainLine, plainRows } from '../formats/plain-rows.js'
import type { Receiver } from '../kind.js'
import { kindOf } from '../kinds.js'
import type { Notes } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import { dateNotes, truncatedRefusal } from '../ledger/verdict.js'
import type { Source } from '../sources/source.js'
import { sampleBytes } from '../usage/sample.js'
import { toLoadTask } from './forward.js'
import { isLastRowWhole } from './judge-last-row.js'

/** What is landed. */
export interface Origin {
  readonly arrival: Arrival
  readonly source: Source
  readonly name: FileName
  /** Whether loads wait until the whole file is known. */
  readonly hold: boolean
}

interface Taken extends Manifest {
  /** Why the file is not complete. */
  readonly cut: string | undefined
  readonly notes: Notes
}

/** A file while it is read. */
interface RowsRead {
  /** Its rows in the plain layout, without a header. */
  readonly rows: AsyncIterable<Buffer>
  /** The physical line of the first of them. */
  readonly firstLine: number
  /** How it is converted; undefined where it has the plain layout. */
  readonly conversion: Conversion | undefined
  /** For the receipt. */
  readonly warnings: readonly string[]
  /** Its columns; those of the feed before the first rows are there. */
  readonly header: () => MatchedHeader
  /** The sha256 of its bytes, in hex, once all are read. */
  readonly fileId: () => string
}

/** Reads the rows of a file: hashes and unpacks its bytes, and converts them or verifies their header. */
export async function readRows(
  context: PipelineContext,
  { arrival, source, name }: Omit<Origin, 'hold'>,
  folder: string,
): Promise<RowsRead> {
  const { limits, files } = context.profile
  const feed = feeds[name.feed]
  const hash = createHash('sha256')
  let matched: MatchedHeader = { columns: feed.columns, extra: [] }
  const unpacked = inflate(
    tap(source.read(arrival), (bytes) => hash.update(bytes)),
    { ...limits, compression: name.compression, folder },
  )
  const { conversion, input, warnings } = await openFile(context, name.feed, unpacked)
  const known = { conversion, warnings, header: () => matched, fileId: () => hash.digest('hex') }
  if (conversion !== undefined) {
    return { ...known, rows: plainRows(conversion, input), firstLine: firstPlainLine }
  }
  const rows = afterHeader(input, {
    feed,
    rowBytesMax: limits.rowBytesMax,
    extraColumns: files.extraColumns,
    onHeader: (found) => {
      matched = found
    },
  })
  return { ...known, rows, firstLine: 2 }
}

/** Reads a file in one pass: hashes, unpacks, counts and lands it. */
export async function landFrom(
  context: PipelineContext,
  origin: Origin,
): Promise<Taken & { fileId: string }> {
  const { arrival: from, name, hold } = origin
  const { arrival, name: fileName } = from
  const { chunkBytes, freeDiskBytesMin } = context.profile.limits
  const folder = landedFolder(context.folders.landing, arrival)
  const { arrivedAt } = await judgedAs(context, from)
  const read = await readRows(context, origin, folder)
  const { conversion } = read
  let head = Buffer.alloc(0)
  let opened: Receiver | undefined
  const receiver = () => {
    const { columns: header, extra } = read.header()
    const known = { extraColumns: extra.length, ...conversion?.rowFormat }
    const file = { ...state, arrivedAt, header, ...known, head: () => head }
    opened ??= kindOf(state).open(context, file)
    return opened
  }
  const state = { arrival, feed: name.feed }
  const landing = await createLanding({
    folder,
    chunkBytes,
    firstLine: read.firstLine,
    measure: (bytes) => receiver().measure(bytes),
    rowsCut: async (row, decimals) => {
      const more = { ...read.header(), decimals, converted: conversion !== undefined }
      const isWhole = await isLastRowWhole(context, row, { arrival: from, name, ...more })
      return isWhole ? 0 : (conversion?.ending().lastRows ?? 1)
    },
    onChunk: async (chunk) => {
      const { bytes } = chunk
      await refuseFullDisk(context.folders.landing, { name: fileName, bytes }, freeDiskBytesMin)
      await receiver().prepare()
      if (hold) return
      await context.queues.add('load', {
        v: 1,
        ...toLoadTask(state, { ...receiver().rowFormat(), machine: context.machine }, chunk),
      })
    },
  })
  try {
    for await (const bytes of read.rows) {
      if (head.length < sampleBytes) head = Buffer.concat([head, bytes.subarray(0, sampleBytes)])
      await landing.add(bytes)
    }
    const { chunks, roundedRows, unendedRow } = await landing.end()
    const ended = unendedRow === undefined
    const ending = conversion?.ending()
    const { cut = undefined, warnings: counted = [], dates } = ending ?? {}
    const short = conversion === undefined && isCutShort(unendedRow, read.header())
    const warnings = [...read.warnings, ...extraWarnings(read.header().extra), ...counted]
    const rowFormat = receiver().rowFormat()
    const { dateOrder } = timesOf(context.profile, rowFormat)
    const dated = { fileDate: name.fileDate, format: ending?.timestampFormat, dateOrder }
    const notes = {
      roundedRows,
      ...(dates && dateNotes(dates, dated)),
      ...(warnings.length > 0 && { warnings }),
    }
    const found = { ...rowFormat, machine: context.machine, ended, notes, fileId: read.fileId() }
    return { chunks, ...found, cut: short ? truncatedRefusal.reason : cut }
  } catch (error) {
    if (error instanceof Fault && error.code === 'DISK_FULL') await dropLanded(landing, folder)
    throw error
  } finally {
    await landing.close()
  }
}

/** A repair is judged as the arrival that it repairs. */
async function judgedAs({ ledger }: PipelineContext, arrival: Arrival): Promise<Arrival> {
  const repaired = arrival.repairs ? await ledger.arrival(arrival.repairs) : undefined
  return repaired ?? arrival
}

/** On a full disk the chunks of an incomplete landing are deleted until the next attempt. */
async function dropLanded(landing: Landing, folder: string): Promise<void> {
  await landing.close()
  await rm(folder, { recursive: true, force: true })
}

/** Passes the bytes on and shows each to `see`. */
export async function* tap(
  input: AsyncIterable<Buffer>,
  see: (bytes: Buffer) => void,
): AsyncGenerator<Buffer> {
  for await (const bytes of input) {
    see(bytes)
    yield bytes
  }
}
