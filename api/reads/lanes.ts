import { Fault } from '../../schemas/fault.js'
import type { ReadsSettings } from '../../schemas/gateway/reads-settings.js'

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
  const waiting = new Set<() => void>()
  let free = lanes
  const leave = () => {
    const [next] = waiting
    if (next === undefined) free++
    else next()
  }
  const enter = (): Promise<void> | undefined => {
    if (free > 0) {
      free--
      return undefined
    }
    if (waiting.size >= lanes * waitingPerLane) {
      throw new Fault('OVERLOAD', `${waiting.size} reads are waiting for a lane; raise reads.lanes`)
    }
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.delete(go)
        const detail = `no lane was free for ${waitMsMax} ms; raise reads.lanes`
        reject(new Fault('OVERLOAD', detail))
      }, waitMsMax)
      const go = () => {
        clearTimeout(late)
        waiting.delete(go)
        resolve()
      }
      waiting.add(go)
    })
  }
  const inLane: InLane = async (run) => {
    await enter()
    return run().finally(leave)
  }
  return inLane
}

/** Limits the requests of one customer at the same time; undefined if there are too many. */
export function createTurns(perCustomerMax: number) {
  const counts = new Map<string, number>()
  return <T>(clientId: string, run: () => Promise<T>): Promise<T> | undefined => {
    const count = counts.get(clientId) ?? 0
    if (count >= perCustomerMax) return undefined
    counts.set(clientId, count + 1)
    return run().finally(() => {
      const left = (counts.get(clientId) ?? 1) - 1
      if (left === 0) counts.delete(clientId)
      else counts.set(clientId, left)
    })
  }
}
