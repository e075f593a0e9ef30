import { setTimeout as sleep } from 'node:timers/promises'
import type { PipelineContext } from '../context.js'
import type { Arrival } from '../ledger/ledger.js'
import { groupFilesMax } from '../queues/jobs.js'
import { runTogether } from '../queues/together.js'
import { passingFault } from '../queues/wait.js'
import { type Beginning, begin, beginAll, isSmall } from '../steps/forward.js'

export interface Begin {
  /** Begins a file, now or soon; whoever calls does not wait. */
  (arrival: Arrival): void
  /** Begins at once what is held back. */
  close(): Promise<void>
}

/** How long small files that wait for their verdict hold up those that came after them, unless it is named. */
const waitMsMax = 10_000
const lookMs = 500

/**
 * Begins files as they come. Small ones that come while others wait for their verdict are begun together after it,
 * so that they are gathered: the more come, the more are loaded at once. What a crash leaves, the sweep begins.
 */
export function createBegin(
  context: Beginning & Pick<PipelineContext, 'ledger'>,
  onFailure: (error: unknown) => void,
  waitMs = waitMsMax,
): Begin {
  const closing = new AbortController()
  const { signal } = closing
  const report = (error: unknown) => {
    if (passingFault(error) === undefined) onFailure(error)
  }
  const areUndecided = async (numbers: readonly number[]) => {
    const states = await context.ledger.states(numbers)
    return states.filter(({ status }) => status !== 'received').length < numbers.length
  }
  const untilDecided = async (numbers: readonly number[]) => {
    const until = performance.now() + waitMs
    do await sleep(lookMs, undefined, { ref: false, signal }).catch(() => undefined)
    while (!signal.aborted && performance.now() < until && (await areUndecided(numbers)))
  }
  const beginSmall = runTogether<Arrival>(
    async (arrivals) => {
      await beginAll(context, arrivals)
      await untilDecided(arrivals.map((one) => one.arrival)).catch(report)
    },
    { most: groupFilesMax, patienceMs: 2 * waitMs },
  )
  const open = new Set<Promise<void>>()
  const add = (arrival: Arrival) => {
    const begun = isSmall(context, arrival) ? beginSmall(arrival) : begin(context, arrival)
    const ended = begun.catch(report).finally(() => open.delete(ended))
    open.add(ended)
  }
  const close = async () => {
    closing.abort()
    await Promise.all(open)
  }
  return Object.assign(add, { close })
}
