import type { Commodity, FeedName } from '../schemas/feed.js'
import type { Chunk, LandedChunk, Reading } from '../schemas/manifest.js'
import type { PipelineContext } from './context.js'

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
