import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { Fault } from '../../schemas/fault.js'
import { feeds } from '../../schemas/feed.js'
import type { FileName } from '../../schemas/file-name.js'
import type { Manifest } from '../../schemas/manifest.js'
import type { MatchedHeader } from '../../schemas/record-feed.js'
import type { PipelineContext } from '../context.js'
import { refuseFullDisk } from '../files/disk.js'
import { afterHeader } from '../files/header.js'
import { inflate } from '../files/inflate.js'
import { createLanding, type Landing, landedFolder } from '../files/landing.js'
import { isCutShort } from '../files/last-row.js'
import type { Receiver } from '../kind.js'
import { kindOf } from '../kinds.js'
import type { Notes } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import type { Source } from '../sources/source.js'
import { sampleBytes } from '../usage/sample.js'
import { toLoadTask } from './forward.js'
import { isLastRowWhole } from './judge-last-row.js'

interface Origin {
  readonly arrival: Arrival
  readonly source: Source
  readonly name: FileName
  /** Whether loads wait until the whole file is known. */
  readonly hold: boolean
}

interface Taken extends Manifest {
  readonly truncated: boolean
  readonly notes: Notes
}

/** Reads a file in one pass: hashes, unpacks, counts and lands it. */
export async function landFrom(
  context: PipelineContext,
  origin: Origin,
): Promise<Taken & { fileId: string }> {
  const { arrival, source, name } = origin
  const { limits } = context.profile
  const hash = createHash('sha256')
  const hashed = tap(source.read(arrival), (bytes) => hash.update(bytes))
  const inflated = inflate(hashed, {
    compression: name.compression,
    bytesMax: limits.fileBytesMax,
    ratioMax: limits.ratioMax,
    folder: landedFolder(context.folders.landing, arrival.arrival),
  })
  const landed = await landRows(context, origin, inflated)
  return { ...landed, fileId: hash.digest('hex') }
}

async function landRows(
  context: PipelineContext,
  { arrival: from, name, hold }: Origin,
  input: AsyncGenerator<Buffer>,
): Promise<Taken> {
  const { arrival, arrivedAt, name: fileName } = from
  const feed = feeds[name.feed]
  const { extraColumns } = context.profile.files
  const { chunkBytes, rowBytesMax, freeDiskBytesMin } = context.profile.limits
  const folder = landedFolder(context.folders.landing, arrival)
  let head = Buffer.alloc(0)
  let matched: MatchedHeader = { columns: feed.columns, extra: [] }
  let opened: Receiver | undefined
  const receiver = () => {
    const { columns: header, extra } = matched
    const file = { ...state, arrivedAt, header, extraColumns: extra.length, head: () => head }
    opened ??= kindOf(state).open(context, file)
    return opened
  }
  const state = { arrival, feed: name.feed }
  const landing = await createLanding({
    folder,
    chunkBytes,
    firstLine: 2,
    measure: (bytes) => receiver().measure(bytes),
    isWhole: (row, decimals) =>
      isLastRowWhole(context, row, { arrival: from, name, ...matched, decimals }),
    onChunk: async (chunk) => {
      const { bytes } = chunk
      await refuseFullDisk(context.folders.landing, { name: fileName, bytes }, freeDiskBytesMin)
      await receiver().prepare()
      if (hold) return
      await context.queues.add('load', {
        v: 1,
        ...toLoadTask(state, receiver().rowFormat(), chunk),
      })
    },
  })
  const onHeader = (found: MatchedHeader) => {
    matched = found
  }
  try {
    for await (const bytes of afterHeader(input, { feed, rowBytesMax, extraColumns, onHeader })) {
      if (head.length < sampleBytes) head = Buffer.concat([head, bytes.subarray(0, sampleBytes)])
      await landing.add(bytes)
    }
    const { chunks, roundedRows, unendedRow } = await landing.end()
    const ended = unendedRow === undefined
    const truncated = isCutShort(unendedRow, matched)
    const notes = { roundedRows, ...extraNotes(matched) }
    return { chunks, ...receiver().rowFormat(), ended, truncated, notes }
  } catch (error) {
    if (error instanceof Fault && error.code === 'DISK_FULL') await dropLanded(landing, folder)
    throw error
  } finally {
    await landing.close()
  }
}

/** On a full disk the chunks of an incomplete landing are deleted until the next attempt. */
async function dropLanded(landing: Landing, folder: string): Promise<void> {
  await landing.close()
  await rm(folder, { recursive: true, force: true })
}

function extraNotes({ extra }: MatchedHeader): Notes {
  if (extra.length === 0) return {}
  const names = extra.map((name) => JSON.stringify(name)).join(', ')
  return { warnings: [`columns ignored (files.extraColumns): ${names}`] }
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
