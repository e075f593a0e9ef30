import type { Commodity, FeedName } from '../schemas/feed.js'
import type { TimeStampFormat } from '../schemas/time/timestamp.js'
import type { PipelineContext } from './context.js'
import type { Chunk, LandedChunk } from './ledger/file-state.js'

/** What the first bytes of a file show of all its rows. */
export interface Reading {
  /** Interval length of the file, seconds; 0 where its feed has no intervals. */
  readonly seconds: number
  /** The format that the timestamps of the file have; null where its first rows show none. */
  readonly format: TimeStampFormat | null
  /** The columns of the header, of a feed of which some may be left out. */
  readonly columns?: readonly string[] | undefined
}

/** What a load needs to know of its file; the rest is in the landing. */
export interface LoadTask extends Reading {
  readonly arrival: number
  readonly feed: FeedName
  readonly chunk: Chunk
}

/** The load of a chunk; its energy is nothing that a job needs to know. */
export function toLoadTask(
  file: { readonly arrival: number; readonly feed: string },
  { seconds, format, columns }: Reading,
  { micros: _, ...chunk }: LandedChunk,
): LoadTask {
  const feed = file.feed as FeedName
  return { arrival: file.arrival, feed, seconds, format, ...(columns && { columns }), chunk }
}

/** How the rows of a usage file are to be judged: the profile's rules and what is known of the file. */
export function rulesOf(
  context: Pick<PipelineContext, 'profile' | 'zone'>,
  task: Pick<LoadTask, 'feed' | 'seconds' | 'format'>,
) {
  const { usage, limits } = context.profile
  return {
    ...usage,
    commodity: task.feed as Commodity,
    zone: context.zone,
    seconds: task.seconds,
    format: task.format ?? undefined,
    rowBytesMax: limits.rowBytesMax,
  }
}
