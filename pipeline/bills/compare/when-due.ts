import type { PipelineContext } from '../../context.js'
import { isPausing, nextFailure } from '../failure.js'
import { localDay } from '../run.js'
import { compare } from './compare.js'
import { type CycleDue, readCyclesDue, recordComparison } from './comparisons.js'

type DueContext = Pick<PipelineContext, 'store' | 'profile' | 'zone' | 'now' | 'queues' | 'log'>

/** Queues a comparison of rates for each cycle of which one is due. */
export async function queueComparisons(context: DueContext): Promise<void> {
  for (const { cycleId } of await findDue(context)) {
    await context.queues.add('compare', { v: 1, cycleId })
  }
}

/**
 * Compares the rates of a cycle's meters if that is due: a job that was queued twice, or that another
 * worker has done, changes nothing. A failure is recorded and retried with exponential back-off.
 */
export async function compareWhenDue(context: DueContext, cycleId: string): Promise<void> {
  const due = (await findDue(context)).find((one) => one.cycleId === cycleId)
  if (due === undefined) return
  try {
    const { meters, comparisons } = await compare(context, { cycleId })
    context.log.info({ job: 'compare', cycle: cycleId, meters, comparisons }, 'rates are compared')
  } catch (error) {
    const failure = nextFailure(due, error, { job: 'compare', now: context.now() })
    await recordComparison(context.store, cycleId, failure)
    throw error
  }
  if (due.failures > 0) await recordComparison(context.store, cycleId)
}

const hourMs = 3_600_000

/**
 * The cycles to compare now: once for each of their periods (a read is scanned a dozen times in all),
 * after the bills are published and late reads have had their time.
 */
async function findDue({ store, profile, zone, now }: DueContext): Promise<readonly CycleDue[]> {
  const { companyCodes, timeZone, usage, billing } = profile
  const { daysBackMax } = billing
  const late = new Date(now().getTime() - usage.lateAfterHours * hourMs)
  const before = localDay({ zone, now: () => late })
  const cycles = await readCyclesDue(store, {
    companyCodes,
    before,
    daysBackMax,
    zone: timeZone,
  })
  return cycles.filter((one) => !isPausing(one, now()))
}
