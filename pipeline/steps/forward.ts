import { type FeedName, feeds, recordFeedOf } from '../../schemas/feed.js'
import { skimFileName } from '../../schemas/file-name.js'
import type { LandedChunk, Manifest } from '../../schemas/manifest.js'
import type { PipelineContext } from '../context.js'
import { findAsked } from '../customers/held.js'
import type { LoadTask } from '../kind.js'
import { type FileState, numberOf } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import { groupFilesMax, onMachine } from '../queues/jobs.js'
import { submitted } from '../sources/folder.js'
import { batchesOf } from '../store/batches.js'

/** What the first step of an arrival is queued with. */
export type Beginning = Pick<PipelineContext, 'profile' | 'queues' | 'sources'>

/** Queues the first step of an arrival: a remote file is fetched before it is received. */
export function begin(
  context: Beginning,
  { arrival, source, machine }: Pick<Arrival, 'arrival' | 'source' | 'machine'>,
) {
  const isHere = context.sources.get(source)?.fetch === undefined
  if (!isHere) return context.queues.add('fetch', { v: 1, arrival })
  return context.queues.add('receive', { v: 1, arrival, ...onMachine(machine) })
}

/** A larger file is loaded by itself. */
export const smallBytesMax = 1_048_576

/** Queues the first step of arrivals that wait together: small files of reads are gathered. */
export async function beginAll(context: Beginning, arrivals: readonly Arrival[]): Promise<void> {
  const small = arrivals.filter((one) => isSmall(context, one))
  const gathered = small.length > 1 ? small : []
  for (const one of arrivals) if (!gathered.includes(one)) await begin(context, one)
  for (const batch of batchesOf(gathered, groupFilesMax)) {
    await context.queues.add('gather', { v: 1, arrivals: batch.map(({ arrival }) => arrival) })
  }
}

/** Whether a file may be gathered with others. */
export function isSmall({ profile }: Beginning, one: Arrival): boolean {
  if (one.bytes > smallBytesMax || one.source === submitted) return false
  if (one.force || one.acceptRejects || one.repairs) return false
  const feed = skimFileName(one.name, profile)?.feed
  return feed !== undefined && Object.hasOwn(feeds, feed) && recordFeedOf(feed) === undefined
}

type LandedRows = Omit<Manifest, 'chunks' | 'ended'>

/** The load of a chunk; a job does not need its control total. */
export function toLoadTask(
  file: { readonly arrival: number; readonly feed: string },
  {
    seconds,
    format,
    startsMax,
    columns,
    extraColumns,
    stated,
    qualities,
    times,
    machine,
  }: LandedRows,
  { micros: _, ...chunk }: LandedChunk,
): LoadTask {
  const feed = file.feed as FeedName
  const optional = {
    ...(startsMax && { startsMax }),
    ...(columns && { columns }),
    ...(extraColumns && { extraColumns }),
    ...(stated && { stated }),
    ...(qualities && { qualities }),
    ...(times && { times }),
    ...onMachine(machine),
  }
  return { arrival: file.arrival, feed, seconds, format, ...optional, chunk }
}

/** The loads of a file as its manifest has them. */
export function loadTasks(state: FileState): readonly LoadTask[] {
  return state.manifest.chunks.map((chunk) => toLoadTask(state, state.manifest, chunk))
}

/**
 * Queues the next step of a file by its state in the ledger. Steps call it when they end, and the
 * sweep calls it to restore lost jobs. A file is put away by the machine that read it, which has its copy;
 * one that a person named is also decided there, because only that machine may be able to land it again.
 */
export async function forward(context: PipelineContext, state: FileState): Promise<void> {
  const arrival = numberOf(state)
  const { machine } = state.manifest
  const put = { v: 1, arrival, ...onMachine(machine) } as const
  const decided = state.source === submitted ? put : ({ v: 1, arrival } as const)
  if (state.settledAt !== undefined || state.status === 'waiting') return
  if (state.status === 'publishing') return context.queues.add('reconcile', decided)
  if (state.status !== 'received') return context.queues.add('settle', put)
  const isDecidedNext = state.fault !== '' || state.groupId !== 0
  if (isDecidedNext || state.duplicateOf !== 0 || state.manifest.chunks.length === 0) {
    return context.queues.add('reconcile', decided)
  }
  const loads = loadTasks(state).map((task) => ({ v: 1 as const, ...task }))
  return context.queues.addFlow(decided, loads)
}

/** Queues the claim of held reads that were asked for: a reconcile of their file stores them first. */
export async function queueClaim({
  store,
  queues,
}: Pick<PipelineContext, 'store' | 'queues'>): Promise<void> {
  const arrival = await findAsked(store)
  if (arrival !== undefined) await queues.add('reconcile', { v: 1, arrival })
}
