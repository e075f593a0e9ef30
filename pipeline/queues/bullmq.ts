import { isDeepStrictEqual } from 'node:util'
import { FlowProducer, type Job, Queue, QueueEvents, UnrecoverableError, Worker } from 'bullmq'
import { Fault } from '../../schemas/fault.js'
import { withDeadline } from '../deadline.js'
import {
  idsOf,
  type JobData,
  type JobIds,
  type JobName,
  jobId,
  jobNames,
  parseJob,
  type Repeated,
} from './jobs.js'
import { createProducerConnection, createWorkerConnection } from './redis.js'
import { type Tracing, telemetryOf } from './tracing.js'
import { fromProgress, holdUp, passingFault, type Wait } from './wait.js'

export interface QueueOptions {
  readonly redisUrl: string
  /** Keeps what belongs to one utility's database apart from all others in the same Redis. */
  readonly prefix: string
  /** Hears of each job that is added or done; undefined where traces are off. */
  readonly telemetry?: Tracing['telemetry'] | undefined
}

export type QueueCounts = Readonly<Record<JobName, Readonly<Record<string, number>>>>

/** The producing side of the queues. Adding a job twice adds it once: its id says what it does. */
export interface Queues {
  add<N extends JobName>(name: N, data: JobData<N>): Promise<void>
  /** A reconcile job that runs when all loads of its file have ended, well or badly. */
  addFlow(reconcile: JobData<'reconcile'>, loads: readonly JobData<'load'>[]): Promise<void>
  /** Repeats a job; calling it again with the same name changes the pace and the format alone. */
  repeat<N extends Repeated>(name: N, data: JobData<N>, everyMs: number): Promise<void>
  /** Lets one job of the queue run at a time, however many workers there are. */
  runAlone(name: JobName): Promise<void>
  counts(): Promise<QueueCounts>
  /** When the job was queued that has waited longest, by queue; milliseconds since 1970. */
  oldest(): Promise<Readonly<Partial<Record<JobName, number>>>>
  /** The queues as BullMQ has them, for a board that shows them. */
  readonly each: readonly Queue[]
  /** Jobs that a fault of the world holds up, at most 200 of each queue and state. */
  waits(): Promise<readonly Wait[]>
  close(): Promise<void>
}

const keepSeconds = 60
/** World faults are tried again for as long as they last; other failures end after `attemptsMax`. */
const worldAttemptsMax = 1_000_000
const backoffMsMax = 10_000
/** A connection that was never made would be waited for without end. */
const reachMsMax = 10_000
/** Queues whose jobs are tried again until what holds them up has passed. */
const triedAgain: readonly JobName[] = [
  ...(['fetch', 'receive', 'load', 'reconcile', 'settle'] as const),
  ...(['register', 'backfill'] as const),
]
/** What held a job up does so until an attempt succeeds: also while one is made, or is about to be. */
const heldStates = ['delayed', 'active', 'wait'] as const
/** Jobs of one queue and state that are looked at for what they wait for. */
const waitsMax = 200
/**
 * How long the job of a worker that died stays its own: the next look for such jobs, `stalledMs`
 * later at most, gives it to another. A worker that lives renews its lock every half of that time.
 * What could keep it from that for so long, a Redis that is away or a machine at a standstill, has
 * the job run a second time beside the first, in any worker with room. Every step bears that:
 * inserts carry tokens, receipts overwrite themselves, and of two verdicts the first holds. Steps
 * leave the thread free in between: what keeps it longest is to measure a chunk of 64 MB, a second at
 * most; with ten times more to do than the machine has cores no lock ran out.
 */
const lockMs = 10_000
const stalledMs = 3_000

const jobOptions = {
  attempts: worldAttemptsMax,
  backoff: { type: 'custom' },
  removeOnComplete: { age: keepSeconds, count: 10_000 },
  removeOnFail: true,
} as const

/** Steps that have to run again when they are queued again, however soon: done, they leave no id. */
const forgotten: readonly JobName[] = [
  'fetch',
  'reconcile',
  'retain',
  'register',
  'backfill',
  'bill',
  'compare',
  'reprocess',
]

function optionsOf<N extends JobName>(name: N, data: JobData<N>) {
  const { removeOnComplete } = jobOptions
  return {
    ...jobOptions,
    removeOnComplete: forgotten.includes(name) || removeOnComplete,
    jobId: jobId(name, data),
  }
}

export function createQueues(options: QueueOptions): Queues {
  const connection = createProducerConnection(options.redisUrl)
  const shared = { connection, prefix: options.prefix, ...telemetryOf(options) }
  const queues = new Map<JobName, Queue>(
    jobNames.map((name) => [name, new Queue(name, shared).on('error', () => undefined)]),
  )
  const flows = new FlowProducer(shared)
  flows.on('error', () => undefined)
  const queue = (name: JobName) => queues.get(name) as Queue

  const reach = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await withDeadline(run(), reachMsMax, () => {
        throw new Error(`no answer in ${reachMsMax / 1_000} s`)
      })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new Fault('QUEUE_UNREACHABLE', `Redis does not do what is asked of it (${reason})`, {
        cause: error,
      })
    }
  }
  return {
    each: [...queues.values()],
    add: (name, data) =>
      reach(async () => {
        await queue(name).add(name, data, optionsOf(name, data))
      }),
    addFlow: (reconcile, loads) =>
      reach(async () => {
        await flows.add({
          name: 'reconcile',
          queueName: 'reconcile',
          data: reconcile,
          opts: optionsOf('reconcile', reconcile),
          children: loads.map((data) => ({
            name: 'load',
            queueName: 'load',
            data,
            opts: { ...optionsOf('load', data), ignoreDependencyOnFailure: true },
          })),
        })
      }),
    repeat: (name, data, everyMs) =>
      reach(async () => {
        const id = jobId(name, data)
        const known = await queue(name).getJobScheduler(id)
        if (known?.every === everyMs && isDeepStrictEqual(known.template?.data, data)) return
        const options = { attempts: 1, removeOnComplete: true, removeOnFail: true }
        await queue(name).upsertJobScheduler(id, { every: everyMs }, { name, data, opts: options })
      }),
    runAlone: (name) =>
      reach(async () => {
        await queue(name).setGlobalConcurrency(1)
      }),
    counts: () =>
      reach(async () => {
        const entries = [...queues].map(async ([name, queue]) => [name, await queue.getJobCounts()])
        return Object.fromEntries(await Promise.all(entries)) as QueueCounts
      }),
    oldest: () =>
      reach(async () => {
        const looks = [...queues].map(async ([name, queue]) => {
          const [job] = await queue.getJobs(['wait'], 0, 0, true)
          return job === undefined ? [] : [[name, job.timestamp] as const]
        })
        return Object.fromEntries((await Promise.all(looks)).flat())
      }),
    waits: () =>
      reach(async () => {
        const held = triedAgain.map((name) => queue(name).getJobs([...heldStates], 0, waitsMax - 1))
        return (await Promise.all(held)).flat().flatMap(toWait)
      }),
    close: async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()))
      await flows.close()
      connection.disconnect()
    },
  }
}

export interface ConsumerOptions<N extends JobName> extends QueueOptions {
  readonly name: N
  readonly concurrency: number
  /** Failures other than world faults that a job may have before `giveUp` is called. */
  readonly attemptsMax: number
  readonly run: (data: JobData<N>) => Promise<void>
  /** Called once for a job that will not be tried again. */
  readonly giveUp: (data: JobData<N>, error: unknown) => Promise<void>
  readonly onFailure: (ids: JobIds, error: unknown, attempts: number) => void
  readonly onDone: (data: JobData<N>, ms: number) => void
}

/**
 * Takes the jobs of one queue. A fault of the world is tried again with back-off until it has
 * passed; anything else is tried `attemptsMax` times, then handed to `giveUp`. A job of a format not
 * known here ends at once and frees its id, so that the sweep may queue the step anew.
 */
export function createConsumer<N extends JobName>(
  options: ConsumerOptions<N>,
): {
  close(): Promise<void>
} {
  const connection = createWorkerConnection(options.redisUrl)
  const worker = new Worker(
    options.name,
    async (job) => {
      const startedAt = performance.now()
      let data: JobData<N> | undefined
      try {
        data = parseJob(options.name, job.data)
        await options.run(data)
        options.onDone(data, performance.now() - startedAt)
      } catch (error) {
        options.onFailure(idsOf(job.data), error, job.attemptsMade + 1)
        if (data !== undefined) {
          if (await isTriedAgain(job, error, options.attemptsMax)) throw new Error(codeOf(error))
          await options.giveUp(data, error)
        }
        throw new UnrecoverableError(codeOf(error))
      }
    },
    {
      connection,
      prefix: options.prefix,
      concurrency: options.concurrency,
      ...telemetryOf(options),
      lockDuration: lockMs,
      stalledInterval: stalledMs,
      maxStalledCount: worldAttemptsMax,
      settings: { backoffStrategy: (attempts) => Math.min(100 * 2 ** attempts, backoffMsMax) },
    },
  )
  worker.on('error', () => undefined)
  return {
    close: async () => {
      await worker.close()
      connection.disconnect()
    },
  }
}

/** What BullMQ keeps of a failure in Redis: nothing of what failed may turn up there. */
function codeOf(error: unknown): string {
  return error instanceof Fault ? error.code : 'unexpected failure'
}

/**
 * Counts the failures of a job in its progress, for BullMQ counts the passing faults among its
 * attempts: an outage must not use up what a job may fail on its own.
 */
async function isTriedAgain(job: Job, error: unknown, attemptsMax: number): Promise<boolean> {
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

function toWait(job: Job): readonly Wait[] {
  const { wait } = fromProgress(job.progress)
  if (wait === undefined) return []
  return [{ ...wait, job: job.name as JobName, arrival: idsOf(job.data).arrival }]
}

/** Calls back when a job of the queue has completed; the caller polls besides, for lost events. */
export function createCompletions(
  options: QueueOptions & { readonly name: JobName },
  onCompleted: (id: string) => void,
): { close(): Promise<void> } {
  const connection = createWorkerConnection(options.redisUrl)
  const events = new QueueEvents(options.name, { connection, prefix: options.prefix })
  events.on('completed', ({ jobId }) => onCompleted(jobId))
  events.on('error', () => undefined)
  return {
    close: async () => {
      await events.close()
      connection.disconnect()
    },
  }
}
