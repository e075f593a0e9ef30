import type { Job, Queue } from 'bullmq'
import { z } from 'zod'
import { Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'
import { idsOf, type JobName } from './jobs.js'
import type { Reach } from './reach.js'

/** The failures of a job, as its progress records them. */
export interface Failures {
  /** Failures of its own, which count towards the limit. */
  readonly failures: number
  /** The passing fault that it waits for, and since when. */
  readonly wait?: WaitCause | undefined
}

/** Why something waits: code and detail of a fault. */
export interface WaitCause {
  readonly code: FaultCode
  readonly detail: string
  readonly since: Date
}

/** A job that waits for a passing fault; it is retried until the fault is over. */
export interface Wait extends WaitCause {
  readonly job: JobName
  /** Undefined for a job that does not belong to a file. */
  readonly arrival: number | undefined
  /** Whose new files wait, for a poll. */
  readonly source?: string
}

const codes = Object.keys(faultCodes) as [FaultCode, ...FaultCode[]]
const heldSchema = z.object({ code: z.enum(codes), detail: z.string(), since: z.coerce.date() })
const failuresSchema = z
  .object({ failures: z.int().catch(0), wait: heldSchema.optional().catch(undefined) })
  .catch({ failures: 0 })

/** The failures in the progress of a job; none if it has another format. */
export function fromProgress(progress: unknown): Failures {
  return failuresSchema.parse(progress)
}

/** While the cause is the same, it keeps the time at which it was first seen. */
export function holdUp(error: Fault, before: WaitCause | undefined): WaitCause {
  const { code, detail } = error
  const since = before?.code === code ? before.since : new Date()
  return { code, detail, since }
}

/** Ignores a passing fault, where whatever it kept from happening is made up for later. */
export function letPass(error: unknown): void {
  if (passingFault(error) === undefined) throw error
}

/** A fault that may pass; undefined for any other error. */
export function passingFault(error: unknown): Fault | undefined {
  return error instanceof Fault && error.retry ? error : undefined
}

/**
 * Counts the failures of a job in its progress, because BullMQ counts passing faults as attempts: an
 * outage must not use up the attempts of a job.
 */
export async function isTriedAgain(
  job: Job,
  error: unknown,
  attemptsMax: number,
): Promise<boolean> {
  const before = fromProgress(job.progress)
  const passing = passingFault(error)
  if (passing !== undefined) {
    await job.updateProgress({ ...before, wait: holdUp(passing, before.wait) })
    return true
  }
  const failures = before.failures + 1
  await job.updateProgress({ failures })
  return failures < attemptsMax
}

/** A job that was planned waits from its time on, and one that is tried again from its last attempt on. */
export function waitsSince({ timestamp, opts, processedOn = 0 }: Job): number {
  return Math.max(timestamp + (opts.delay ?? 0), processedOn)
}

/** The states of jobs that wait: registrations also wait for each other within a worker. */
export function statesOfOldest(name: JobName): readonly ('active' | 'wait' | 'prioritized')[] {
  return name === 'register' ? ['active', 'wait'] : ['wait', 'prioritized']
}

/** Delayed jobs that are read at once. */
const delayedMax = 1_000

/** Promotes what waits for its next attempt, not what repeats by a schedule. Each part goes through `reach`. */
export async function promoteTries(queue: Queue, reach: Reach): Promise<void> {
  let scheduled = 0
  const promoteSome = async () => {
    const jobs = await queue.getJobs(['delayed'], scheduled, scheduled + delayedMax - 1)
    const tries = jobs.filter((job) => job.repeatJobKey === undefined)
    scheduled += jobs.length - tries.length
    // It may be due or taken by now.
    await Promise.all(tries.map((job) => job.promote().catch(() => undefined)))
  }
  // What fails again meanwhile is not promoted a second time.
  const delayed = await reach(() => queue.getDelayedCount())
  for (let seen = 0; seen < delayed; seen += delayedMax) await reach(promoteSome)
}

/** Promotes the job with the earliest arrival of those that wait for a file ahead of theirs. */
export async function promoteNext(queue: Queue): Promise<void> {
  const delayed = await queue.getJobs(['delayed'], 0, delayedMax - 1)
  const [next] = delayed
    .filter((job) => fromProgress(job.progress).wait?.code === 'FILE_AHEAD')
    .sort((a, b) => a.data.arrival - b.data.arrival)
  // It may be due or taken by now.
  await next?.promote().catch(() => undefined)
}

/** What a job waits for, of each of its files; nothing where it does not. */
export function toWait(job: Job): readonly Wait[] {
  const { wait } = fromProgress(job.progress)
  if (wait === undefined) return []
  const { arrival, arrivals = [arrival] } = idsOf(job.data)
  return arrivals.map((one) => ({ ...wait, job: job.name as JobName, arrival: one }))
}
