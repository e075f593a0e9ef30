import { Fault } from '../../schemas/fault.js'
import type { PipelineContext } from '../context.js'
import { logFault } from '../failure.js'
import { reportMs } from '../machine.js'
import type { Queues } from './bullmq.js'
import type { JobName } from './jobs.js'

/**
 * Queues of which one job runs at a time, over all workers: verdicts, stored days, listings, reprocessed files,
 * recovery, cleaning, alerts, and runs that use the whole engine.
 */
export const alone = [
  'gather',
  'reconcile',
  'days',
  'poll',
  'reprocess',
  'sweep',
  'retain',
  'alert',
  'verify',
  'due',
  'bill',
  'compare',
] as const satisfies JobName[]

const sweepMs = 15_000
const dueMs = 15_000
const retainMs = 3_600_000
/** By the clock of the utility: before the working day, and an hour that no clock change skips. */
const nightPattern = '0 4 * * *'
/** After the erasures of the night. */
const verifyPattern = '0 5 * * *'
const lookMs = 5_000
/** Looks of which one is at everything. */
const looksTogether = 12

/**
 * Repeats the sweep, what retention asks for, the verification at night, the looks for bills and comparisons that are due and
 * for alerts, and the poll of each source, and reports to the queues which of them have one job run at a
 * time. All that is done again within seconds in a Redis that was emptied, where nothing would be found
 * any more, and each minute. The queues of the machine repeat what each machine does for its own disk.
 */
export async function keepRepeating(
  context: PipelineContext,
  own: Queues,
): Promise<{ close(): Promise<void> }> {
  const sweeping = () => context.queues.repeat('sweep', { v: 1 }, { every: sweepMs })
  const sweepingOwn = () => own.repeat('sweep', { v: 1 }, { every: reportMs })
  const repeat = async () => {
    for (const name of alone) await context.queues.runAlone(name)
    await own.runAlone('sweep')
    await sweepingOwn()
    await own.runAlone('retain')
    await own.repeat('retain', { v: 1 }, { every: retainMs })
    await sweeping()
    await context.queues.repeat('retain', { v: 1 }, { every: retainMs })
    const nightly = { pattern: nightPattern, tz: context.profile.timeZone }
    await context.queues.repeat('retain', { v: 1, night: true }, nightly)
    const verifying = { pattern: verifyPattern, tz: context.profile.timeZone }
    await context.queues.repeat('verify', { v: 1, night: true }, verifying)
    await own.runAlone('verify')
    await own.repeat('verify', { v: 1, night: true }, verifying)
    await context.queues.repeat('due', { v: 1 }, { every: dueMs })
    const { alerts } = context.profile
    if (alerts !== undefined) {
      await context.queues.repeat('alert', { v: 1 }, { every: alerts.lookSeconds * 1_000 })
    }
    for (const { name, pollSeconds } of context.profile.sources) {
      await context.queues.repeat('poll', { v: 1, source: name }, { every: pollSeconds * 1_000 })
    }
  }
  /** A clock that is set back would hold up delayed jobs for as long. */
  let clockMs = clockAhead()
  /** Since the last look that had to do all; where that fails, the next one does. */
  let looks = 0
  const look = async () => {
    const before = clockMs
    clockMs = clockAhead()
    if (clockMs < before - lookMs) looks = 0
    // Without it nobody would log why no job runs.
    await context.queues.tryWriting()
    // A worker that ran before this one may have had a clock that was ahead.
    if (looks === 0) await Promise.all([context.queues.promote(), own.promote()])
    if ((await sweeping()) || (await sweepingOwn())) looks = 0
    if (looks % looksTogether === 0) await repeat()
    looks++
  }
  await repeat()
  let looking: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      logFault(context.log, error)
    })
  }, lookMs)
  return {
    close: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

/** How far the clock is ahead of one that nobody sets, in milliseconds. */
function clockAhead(): number {
  return Date.now() - performance.now()
}
