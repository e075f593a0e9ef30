import type { Commodity, FeedName } from '../schemas/feed.js'
import type { TimeStampFormat } from '../schemas/time-stamp.js'
import type { Line } from './line.js'
import type { LandedChunk } from './stores/file-state.js'

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
  readonly chunk: LandedChunk
}

export function toTask(
  { arrival, feed }: Pick<LoadTask, 'arrival' | 'feed'>,
  { seconds, format, columns }: Reading,
  chunk: LandedChunk,
): LoadTask {
  return { arrival, feed, seconds, format, ...(columns && { columns }), chunk }
}

/** How the rows of a usage file are to be judged: the profile's rules and what is known of the file. */
export function rulesOf(
  line: Pick<Line, 'profile' | 'zone'>,
  task: Pick<LoadTask, 'feed' | 'seconds' | 'format'>,
) {
  const { usage, limits } = line.profile
  return {
    ...usage,
    commodity: task.feed as Commodity,
    zone: line.zone,
    seconds: task.seconds,
    format: task.format ?? undefined,
    rowBytesMax: limits.rowBytesMax,
  }
}
