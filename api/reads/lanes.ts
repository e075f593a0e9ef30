import { Fault } from '../../schemas/fault.js'
import type { ReadsSettings } from '../../schemas/gateway/reads-settings.js'
import { createSemaphore } from '../semaphore.js'

/** Requests that wait, for each lane. */
const waitingPerLane = 25

/** Runs a read in the store when a lane is free. */
export type InLane = <T>(run: () => Promise<T>) => Promise<T>

/**
 * Limits the reads of this process that are in the store, whatever their clients do. A lane is kept
 * until its statement has ended, also where its request was answered with 503 before. Throws `OVERLOAD`
 * for a request that waits too long, or at once if too many wait.
 */
export function createReadLanes({ lanes, waitMsMax }: Pick<ReadsSettings, 'lanes' | 'waitMsMax'>) {
  const semaphore = createSemaphore(lanes)
  const inLane: InLane = async (run) => {
    const inside = semaphore.inUse()
    if (inside >= lanes * (1 + waitingPerLane)) {
      throw new Fault(
        'OVERLOAD',
        `${inside - lanes} reads are waiting for a lane; raise reads.lanes`,
      )
    }
    const leave = await semaphore.acquire(waitMsMax)
    if (leave === undefined) {
      throw new Fault('OVERLOAD', `no lane was free for ${waitMsMax} ms; raise reads.lanes`)
    }
    return run().finally(leave)
  }
  return inLane
}

/**
 * Limits the requests of one customer at the same time. Returns what ends a turn, to be called once;
 * undefined if there are too many.
 */
export function createTurns(perCustomerMax: number) {
  const counts = new Map<string, number>()
  return (clientId: string): (() => void) | undefined => {
    const count = counts.get(clientId) ?? 0
    if (count >= perCustomerMax) return undefined
    counts.set(clientId, count + 1)
    return () => {
      const left = (counts.get(clientId) ?? 1) - 1
      if (left === 0) counts.delete(clientId)
      else counts.set(clientId, left)
    }
  }
}
