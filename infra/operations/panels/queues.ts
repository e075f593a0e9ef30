import { freeBytes } from '../../../pipeline/files/disk.js'
import type { JobName } from '../../../pipeline/queues/jobs.js'
import { type PanelSource, queryQueues } from './query.js'

/** Jobs of a queue, and how long the oldest has waited. */
export interface QueueLoad {
  readonly queue: string
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
  /** Milliseconds. */
  readonly oldestMs: number
}

export interface QueuesAndDisk {
  readonly queues: readonly QueueLoad[]
  readonly freeBytes: number
  readonly freeBytesMin: number
}

/** Jobs by queue, and the space on the disk of the landing folder. */
export async function readQueuesAndDisk(source: PanelSource): Promise<QueuesAndDisk> {
  const { queues, profile, landing, now } = source
  const [counts, oldest, free] = await Promise.all([
    queryQueues(queues.counts()),
    queryQueues(queues.oldest()),
    freeBytes(landing),
  ])
  const at = now().getTime()
  return {
    queues: Object.entries(counts).map(([queue, states]) => ({
      queue,
      waiting: (states['waiting'] ?? 0) + (states['paused'] ?? 0),
      active: states['active'] ?? 0,
      delayed: states['delayed'] ?? 0,
      failed: states['failed'] ?? 0,
      oldestMs: Math.max(0, at - (oldest[queue as JobName] ?? at)),
    })),
    freeBytes: free,
    freeBytesMin: profile.limits.freeDiskBytesMin,
  }
}
