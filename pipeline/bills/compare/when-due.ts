import type { PipelineContext } from '../../context.js'
import { isPausing, nextFailure } from '../failure.js'
import { localDay } from '../run.js'
import { compare } from './compare.js'
import { type CycleDue, readCyclesDue, recordComparison } from './comparisons.js'

type DueLine = Pick<PipelineContext, 'store' | 'profile' | 'zone' | 'now' | 'queues' | 'log'>

/** Queues a comparison of rates for each cycle of which one is due. */
export async function queueComparisons(line: DueLine): Promise<void> {
  for (const { cycleId } of await findDue(line)) {
    await line.queues.add('compare', { v: 1, cycleId })
  }
}

/**
 * Compares the rates of a cycle's meters if that is due: a job that was queued twice, or that another
 * worker has ended, changes nothing. A failure is written down and tried again later, twice as late
 * each time.
 */
export async function compareWhenDue(line: DueLine, cycleId: string): Promise<void> {
  const due = (await findDue(line)).find((one) => one.cycleId === cycleId)
  if (due === undefined) return
  try {
    const { meters, comparisons } = await compare(line, { cycleId })
    line.log.info({ job: 'compare', cycle: cycleId, meters, comparisons }, 'rates are compared')
  } catch (error) {
    const failure = nextFailure(due, error, { job: 'compare', now: line.now() })
    await recordComparison(line.store, cycleId, failure)
    throw error
  }
  if (due.failures > 0) await recordComparison(line.store, cycleId)
}

const hourMs = 3_600_000

/**
 * The cycles to be compared now: once for each of their periods, so that a read is scanned a dozen
 * times in all, when its bills are there and its last reads are no longer late.
 */
async function findDue({ store, profile, zone, now }: DueLine): Promise<readonly CycleDue[]> {
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
