import { freeBytes } from '../../../pipeline/files/disk.js'
import type { JobName } from '../../../pipeline/queues/jobs.js'
import { askQueues, type PanelSource } from './ask.js'

/** Jobs of a queue, and since when the first of them waits. */
export interface Work {
  readonly queue: string
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  readonly failed: number
  /** Milliseconds. */
  readonly oldestMs: number
}

export interface Works {
  readonly queues: readonly Work[]
  readonly freeBytes: number
  readonly freeBytesMin: number
}

/** What waits for workers, and the disk that files land on. */
export async function readWork({ queues, profile, landing, now }: PanelSource): Promise<Works> {
  const [counts, oldest, free] = await Promise.all([
    askQueues(queues.counts()),
    askQueues(queues.oldest()),
    freeBytes(landing),
  ])
  const at = now().getTime()
  return {
    queues: Object.entries(counts).map(([queue, states]) => ({
      queue,
      waiting: (states['waiting'] ?? 0) + (states['prioritized'] ?? 0) + (states['paused'] ?? 0),
      active: states['active'] ?? 0,
      delayed: states['delayed'] ?? 0,
      failed: states['failed'] ?? 0,
      oldestMs: Math.max(0, at - (oldest[queue as JobName] ?? at)),
    })),
    freeBytes: free,
    freeBytesMin: profile.limits.freeDiskBytesMin,
  }
}
