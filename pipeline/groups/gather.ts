import { mkdir, rm, writeFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { Fault } from '../../schemas/fault.js'
import type { FeedName } from '../../schemas/feed.js'
import { parseFileName } from '../../schemas/file-name.js'
import type { RowFormat } from '../../schemas/manifest.js'
import type { MatchedHeader } from '../../schemas/record-feed.js'
import { timesOf } from '../../schemas/settings/profile.js'
import type { PipelineContext } from '../context.js'
import { chunkPath, describeChunk, landedFolder } from '../files/landing.js'
import type { Conversion } from '../formats/format.js'
import { kindOf } from '../kinds.js'
import { type FileState, type Notes, newGroup } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import { dateNotes, refuseDates } from '../ledger/verdict.js'
import { attempt } from '../sources/disk.js'
import { begin, forward, smallBytesMax } from '../steps/forward.js'
import { readRows } from '../steps/land-rows.js'
import { admit, blankState, toReceived } from '../steps/receive.js'
import { batchesOf } from '../store/batches.js'
import { createStaging } from '../store/staging.js'
import { loadInBulk, storeTimestamps } from '../usage/bulk-path.js'
import { rulesOf } from '../usage/sample.js'
import { type Groupable, type MemberRows, readMember, toGroups } from './members.js'

/** Files that are read, and before that copied to this machine, at the same time. */
const readsAtOnce = 4

/** A small file that was read, with its rows. */
interface Member extends Groupable, MemberRows {
  readonly arrival: Arrival
  readonly state: FileState
  readonly rowFormat: RowFormat
}

/**
 * Takes in small files of reads that wait together, as groups. What may need more than the
 * shortest path is received by itself, so that no such file holds up the others.
 */
export async function gather(context: PipelineContext, numbers: readonly number[]): Promise<void> {
  const { arrivals, states } = await context.ledger.lookUp(numbers)
  for (const state of states) await forward(context, state)
  const unread = await unqueued(context, arrivals)
  if (unread.length === 0) return
  const known = await context.ledger.publishedNames(unread.map(({ name }) => name))
  const folder = landedFolder(context.folders.landing, newGroup())
  const members: Member[] = []
  const away = new Set<string>()
  try {
    for (const some of batchesOf(unread, readsAtOnce)) {
      const read = await Promise.all(
        some.map(async (arrival) => {
          const isFirst = !known.has(arrival.name) && unread.find(hasNameOf(arrival)) === arrival
          const isThere = isFirst && !away.has(arrival.source)
          const member = isThere ? await readFile(context, arrival, { folder, away }) : undefined
          if (member === undefined) await begin(context, arrival)
          return member
        }),
      )
      members.push(...read.filter((one) => one !== undefined))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  for (const group of toGroups(members)) {
    const [first, second] = group
    if (first !== undefined && second === undefined) await begin(context, first.arrival)
    else await loadTogether(context, group)
  }
}

/** Receives files by themselves that could not be gathered after all attempts. */
export async function beginEach(
  context: PipelineContext,
  numbers: readonly number[],
): Promise<void> {
  const { arrivals } = await context.ledger.lookUp(numbers)
  for (const one of arrivals) await begin(context, one)
}

/** Without those that are being fetched or received by themselves. */
async function unqueued(
  { queues }: PipelineContext,
  arrivals: readonly Arrival[],
): Promise<readonly Arrival[]> {
  const free: Arrival[] = []
  for (const one of arrivals) {
    const job = { v: 1, arrival: one.arrival } as const
    const isQueued = (await queues.has('receive', job)) || (await queues.has('fetch', job))
    if (!isQueued) free.push(one)
  }
  return free
}

/** Files of one name are received one after the other. */
function hasNameOf({ name }: Arrival): (other: Arrival) => boolean {
  return (other) => other.name === name
}

interface Reading {
  readonly folder: string
  /** Sources that did not answer: their other files are not asked for. */
  readonly away: Set<string>
}

/** A small file; undefined where it must be received by itself, which also says why. */
async function readFile(
  context: PipelineContext,
  arrival: Arrival,
  { folder, away }: Reading,
): Promise<Member | undefined> {
  try {
    await context.sources.get(arrival.source)?.fetch?.(arrival)
    return await readWhole(context, arrival, folder)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (error.retry && error.code !== 'SOURCE_CHANGED') away.add(arrival.source)
    return undefined
  }
}

async function readWhole(
  context: PipelineContext,
  arrival: Arrival,
  folder: string,
): Promise<Member | undefined> {
  const name = parseFileName(arrival.name, context.profile)
  await admit(context, arrival)
  const { companyCode, fileDate, feed } = name
  const state = { ...blankState(context, arrival), companyCode, fileDate, feed }
  const source = context.sources.get(arrival.source)
  if (source === undefined) return undefined
  const read = await readRows(context, { arrival, source, name }, folder)
  const rows = await collect(read.rows)
  const { columns, extra } = read.header()
  if (rows === undefined || rows.at(-1) !== newline || extra.length > 0) return undefined
  const { conversion, firstLine, warnings } = read
  if (warnings.length > 0 || conversion?.ending().cut !== undefined) return undefined
  const hashed = { ...state, fileId: read.fileId() }
  return judge(context, hashed, { rows, arrival, columns, conversion, firstLine })
}

const newline = 10

/** The bytes, if they are few. */
async function collect(input: AsyncIterable<Buffer>): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let length = 0
  for await (const bytes of input) {
    length += bytes.length
    if (length > smallBytesMax) return undefined
    parts.push(Buffer.from(bytes))
  }
  return Buffer.concat(parts)
}

interface Read {
  readonly rows: Buffer
  readonly arrival: Arrival
  readonly columns: MatchedHeader['columns']
  readonly conversion: Conversion | undefined
  readonly firstLine: number
}

function judge(
  context: PipelineContext,
  state: FileState,
  { rows, arrival, columns, conversion, firstLine: line }: Read,
): Member | undefined {
  const { feed } = state as FileState & { readonly feed: FeedName }
  const receiver = kindOf(state).open(context, {
    arrival: arrival.arrival,
    arrivedAt: arrival.arrivedAt,
    feed,
    header: columns,
    extraColumns: 0,
    ...conversion?.rowFormat,
    head: () => rows,
  })
  const place = { chunk: 0, line }
  const { chunk, rounded } = describeChunk(rows, place, (bytes) => receiver.measure(bytes))
  if (chunk.format !== 'plain' || chunk.rows === 0 || rounded > 0) return undefined
  const rowFormat = receiver.rowFormat()
  const rules = rulesOf(context, { feed, ...rowFormat })
  const found = readMember(rows, { arrival: arrival.arrival, line }, rules)
  if (found === undefined) return undefined
  const { dateOrder } = timesOf(context.profile, rowFormat)
  const ending = conversion?.ending()
  const { warnings = [], dates = found.timestamps.keys() } = ending ?? {}
  const notes: Notes = {
    ...(warnings.length > 0 && { warnings }),
    roundedRows: 0,
    ...dateNotes(dates, {
      fileDate: state.fileDate,
      format: ending === undefined ? rowFormat.format : ending.timestampFormat,
      dateOrder,
    }),
    repeatedHourRows: 0,
    ambiguousHourRows: 0,
  }
  if (refuseDates(notes, dateOrder) !== undefined) return undefined
  const manifest = { chunks: [chunk], ...rowFormat, ended: true }
  return {
    ...found,
    arrival,
    state: toReceived(state, { fileId: state.fileId, manifest, notes }),
    rowFormat,
    // Each file was read with the last start of its own.
    shape: JSON.stringify([feed, { ...rowFormat, startsMax: 0 }]),
    bytes: rows.length,
  }
}

/**
 * Loads the rows of several files into one staging table, each under the version that it has in its own
 * file. The states are written last: without them the files are gathered again, under another number.
 */
async function loadTogether(context: PipelineContext, members: readonly Member[]): Promise<void> {
  const { store, folders, ledger, queues } = context
  const group = newGroup()
  const [{ state, rowFormat }] = members as readonly [Member, ...Member[]]
  await createStaging(store, group)
  const timestamps = new Map(members.flatMap((one) => [...one.timestamps]))
  await storeTimestamps(store, group, [...timestamps.values()])
  const bytes = Buffer.from(members.map(({ lines }) => lines).join(''))
  const rows = members.reduce((sum, one) => sum + one.state.rows.read, 0)
  const chunk = {
    ...{ chunk: 0, line: 1, lines: rows, rows, bytes: bytes.length, crc32: crc32(bytes) },
    ...({ format: 'plain', crlf: false, repeats: false } as const),
  }
  const folder = landedFolder(folders.landing, group)
  try {
    await attempt(folder, async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(chunkPath(folders.landing, { arrival: group, chunk }), bytes, { mode: 0o600 })
    })
    await loadInBulk(context, { arrival: group, feed: state.feed as FeedName, ...rowFormat, chunk })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  await ledger.record(...members.map((one) => ({ ...one.state, groupId: group })))
  await queues.add('reconcile', { v: 1, arrival: group })
}
