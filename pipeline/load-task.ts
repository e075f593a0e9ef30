import type { TimeStampFormat } from '../schemas/time-stamp.js'
import type { Line } from './line.js'
import type { Chunk, LandedChunk, Manifest } from './stores/file-state.js'

/** What a load needs to know of its file; the rest is in the landing. */
export interface LoadTask {
  readonly arrival: number
  readonly feed: 'Electric' | 'Gas'
  /** Interval length of the file, seconds. */
  readonly seconds: number
  /** The format that the timestamps of the file have; null where its first rows show none. */
  readonly format: TimeStampFormat | null
  readonly chunk: Chunk
}

/** The load of a chunk; its energy is nothing that a job needs to know. */
export function toLoadTask(
  file: { readonly arrival: number; readonly feed: string },
  { seconds, format }: Pick<Manifest, 'seconds' | 'format'>,
  { micros: _, ...chunk }: LandedChunk,
): LoadTask {
  const feed = file.feed as LoadTask['feed']
  return { arrival: file.arrival, feed, seconds, format, chunk }
}

/** How the rows of a file are to be judged: the profile's rules and what is known of the file. */
export function rulesOf(
  line: Pick<Line, 'profile' | 'zone'>,
  task: Pick<LoadTask, 'feed' | 'seconds' | 'format'>,
) {
  const { usage, limits } = line.profile
  return {
    ...usage,
    commodity: task.feed,
    zone: line.zone,
    seconds: task.seconds,
    format: task.format ?? undefined,
    rowBytesMax: limits.rowBytesMax,
  }
}
