import { Fault } from '../schemas/fault.js'
import type { Line } from './line.js'

const sweepMs = 15_000
const retainMs = 3_600_000
const lookMs = 5_000

/**
 * Repeats the sweep, what retention asks for, and the poll of each source, and tells the queues every
 * few seconds anew, also which run alone: a Redis that was emptied forgets that too,
 * and nothing would be found any more.
 */
export async function keepRepeating(line: Line): Promise<{ close(): Promise<void> }> {
  const repeat = async () => {
    await runOneByOne(line)
    await line.queues.repeat('sweep', { v: 1 }, sweepMs)
    await line.queues.repeat('retain', { v: 1 }, retainMs)
    const { alerts } = line.profile
    if (alerts !== undefined) {
      await line.queues.repeat('alert', { v: 1 }, alerts.lookSeconds * 1_000)
    }
    for (const { name, pollSeconds } of line.profile.sources) {
      await line.queues.repeat('poll', { v: 1, source: name }, pollSeconds * 1_000)
    }
  }
  await repeat()
  let looking: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(repeat).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      line.log.warn({ code: error.code }, error.detail)
    })
  }, lookMs)
  return {
    close: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

/** Of these queues one job runs at a time, however many workers there are. */
export async function runOneByOne({ queues }: Pick<Line, 'queues'>): Promise<void> {
  for (const name of ['reconcile', 'poll', 'alert'] as const) await queues.runAlone(name)
}
