import { setTimeout as sleep } from 'node:timers/promises'
import type { PipelineContext } from '../context.js'
import type { Arrival } from '../ledger/ledger.js'
import { groupFilesMax } from '../queues/jobs.js'
import { runTogether } from '../queues/together.js'
import { passingFault } from '../queues/wait.js'
import { type Beginning, beginAll, isSmall } from '../steps/forward.js'

/** How long small files that wait for their verdict hold up those that came after them, unless it is named. */
const waitMsMax = 10_000
const lookMs = 500

/**
 * Begins arrivals as they come, one by one as long as nothing is under way. Small files that come while others
 * wait for their verdict are begun together after it, so that they are gathered: the more come, the more are
 * loaded at once. Whoever calls does not wait; what a crash leaves, the sweep begins.
 */
export function createBegin(
  context: Beginning & Pick<PipelineContext, 'ledger'>,
  onFailure: (error: unknown) => void,
  waitMs = waitMsMax,
): (arrival: Arrival) => void {
  const areUndecided = async (numbers: readonly number[]) => {
    const { arrivals, states } = await context.ledger.lookUp(numbers)
    return arrivals.length > 0 || states.some(({ status }) => status === 'received')
  }
  const begin = runTogether<Arrival>(async (arrivals) => {
    await beginAll(context, arrivals)
    const small = arrivals.filter((one) => isSmall(context, one)).map(({ arrival }) => arrival)
    if (small.length === 0) return
    const until = performance.now() + waitMs
    do await sleep(lookMs, undefined, { ref: false })
    while (performance.now() < until && (await areUndecided(small)))
  }, groupFilesMax)
  return (arrival) => {
    begin(arrival).catch((error: unknown) => passingFault(error) ?? onFailure(error))
  }
}
