import { stat } from 'node:fs/promises'
import { isSchedule } from '../../schemas/feed.js'
import type { Ledger } from '../ledger/ledger.js'
import type { Queues } from '../queues/bullmq.js'
import { passingFault } from '../queues/wait.js'
import { attempt } from '../sources/disk.js'

/** The sources that uploaded files and those made of pushed rows come in by. */
export const uploadSource = 'upload'
export const pushSource = 'push'

/** How a file that lies here whole becomes an arrival. */
export interface Arrive {
  /**
   * The latest arrival of a file at a path, unless it has ended and was not taken. A schedule that has
   * ended may have been replaced since and comes back into force.
   */
  find(path: string): Promise<number | undefined>
  claim(source: string, file: { readonly name: string; readonly path: string }): Promise<number>
}

/** Claims and queues; while Redis is away the claim is enough, for the sweep queues what it finds. */
export function createArrive(ledger: Ledger, queues: Pick<Queues, 'add'>): Arrive {
  return {
    find: async (path) => {
      const found = await ledger.latest({ path })
      if (found === undefined) return undefined
      const state = await ledger.state(found.arrival)
      if (state?.settledAt === undefined) return found.arrival
      const isRefused = state.status === 'quarantined' || state.status === 'replaced'
      return isRefused || isSchedule(state.feed) ? undefined : found.arrival
    },
    claim: async (source, { name, path }) => {
      const { size, mtimeMs } = await attempt(path, () => stat(path))
      const { arrival } = await ledger.claim({
        source,
        name,
        path,
        bytes: size,
        modifiedMs: Math.trunc(mtimeMs),
        force: false,
      })
      await queues.add('receive', { v: 1, arrival }).catch((error: unknown) => {
        if (passingFault(error) === undefined) throw error
      })
      return arrival
    },
  }
}
