import { isDeepStrictEqual } from 'node:util'
import { DelayedError, FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } from 'bullmq'
import { Fault } from '../../schemas/fault.js'
import { retryMs } from './back-off.js'
import { createHeldPolls, type HeldPolls } from './held-polls.js'
import {
  idsOf,
  type JobData,
  type JobIds,
  type JobName,
  jobId,
  jobNames,
  longestMs,
  nightly,
  optionsOf,
  parseJob,
  patient,
  type Repeated,
  type Repetition,
  shownQueues,
  worldAttemptsMax,
} from './jobs.js'
import { reach } from './reach.js'
import { createProducerConnection, createWorkerConnection } from './redis.js'
import { createRegisterTurns, type RegisterTurns } from './register-turns.js'
import { type Tracing, telemetryOf } from './tracing.js'
import {
  isTriedAgain,
  promoteNext,
  promoteTries,
  statesOfOldest,
  toWait,
  type Wait,
  waitsSince,
} from './wait.js'

export interface QueueOptions {
  readonly redisUrl: string
  /** Keeps what belongs to one utility's database apart from all others in the same Redis. */
  readonly prefix: string
  /** Notified of each job that is added or done; undefined if traces are off. */
  readonly telemetry?: Tracing['telemetry'] | undefined
}

export type QueueCounts = Readonly<Record<JobName, Readonly<Record<string, number>>>>

/** The producing side of the queues. Adding a job twice adds it once, except a registration. */
export interface Queues {
  add<N extends JobName>(name: N, data: JobData<N>): Promise<void>
  /** Whether a job waits, is due later or runs. */
  has<N extends JobName>(name: N, data: JobData<N>): Promise<boolean>
  /** A reconcile job that runs when all loads of its file have succeeded or failed. */
  addFlow(reconcile: JobData<'reconcile'>, loads: readonly JobData<'load'>[]): Promise<void>
  /** Repeats a job, or changes the one with the same id; whether it did not repeat like that before. */
  repeat<N extends Repeated>(name: N, data: JobData<N>, repetition: Repetition): Promise<boolean>
  /** Runs jobs now that wait for their next attempt, however long that is by the clock. */
  promote(): Promise<void>
  /** Runs now what waits for a file ahead of its own (`FILE_AHEAD`): the job with the earliest file. */
  promoteNext(name: JobName): Promise<void>
  /** Lets one job of the queue run at a time, however many workers there are. */
  runAlone(name: JobName): Promise<void>
  counts(): Promise<QueueCounts>
  /** Since when the oldest waiting job of each queue could run, milliseconds since 1970. */
  oldest(): Promise<Readonly<Partial<Record<JobName, number>>>>
  readonly turns: RegisterTurns
  readonly polls: HeldPolls
  /** The queues of BullMQ, for its board. */
  readonly each: readonly Queue[]
  /** Fails while Redis is a replica, or has no memory or disk left: it answers what is read then. */
  tryWriting(): Promise<void>
  /** Jobs that wait for a passing fault, at most 200 of each queue and state, and polls that fail. */
  waits(): Promise<readonly Wait[]>
  close(): Promise<void>
}

/** How long the key of `tryWriting` lives. */
const writtenMs = 60_000
/** A job waits until an attempt succeeds, also while the next attempt runs or is due. */
const heldStates = ['delayed', 'active', 'wait', 'prioritized'] as const
/** Jobs of one queue and state that `waits` reads. */
const waitsMax = 200
/**
 * How long a dead worker keeps its job: at most `stalledMs` later another worker gets it. A live worker
 * renews its lock at half of that time. If Redis or the machine stalls for longer, the job runs a
 * second time beside the first. Every step tolerates that: inserts carry tokens, receipts overwrite
 * themselves, and the first of two verdicts holds. The longest step without a pause measures a chunk
 * of 64 MB, a second at most; no lock expired with ten times more work than the machine has cores.
 */
const lockMs = 10_000
/** A job for another machine is taken by any worker again after this time. */
const handOnMs = 100
const stalledMs = 3_000
/** The same of jobs that nobody waits for. */
const stalledLongMs = 15_000
/** A job during which more workers than this died is itself the cause, and keeps all others from running. */
const deathsMax = 100
/** How long a worker waits in Redis for a job; one that comes wakes it. */
const drainSeconds = 30

export function createQueues(options: QueueOptions): Queues {
  const connection = createProducerConnection(options.redisUrl)
  const shared = { connection, prefix: options.prefix, ...telemetryOf(options) }
  const queues = new Map<JobName, Queue>(
    jobNames.map((name) => [name, new Queue(name, shared).on('error', () => undefined)]),
  )
  const flows = new FlowProducer(shared)
  flows.on('error', () => undefined)
  const queue = (name: JobName) => queues.get(name) as Queue
  const tryWriting = async () => {
    await reach(() => connection.set(`${options.prefix}:written`, '', 'PX', writtenMs))
  }
  const turns = createRegisterTurns(connection, { prefix: options.prefix, reach })
  const polls = createHeldPolls(connection, { prefix: options.prefix, reach })
  return {
    each: [...queues.values()],
    turns,
    polls,
    add: (name, data) =>
      reach(async () => {
        const queued = 'customers' in data ? await turns.take(data) : data
        await queue(name).add(name, queued, optionsOf(name, data))
      }),
    has: (name, data) =>
      reach(async () => {
        const state = await queue(name).getJobState(jobId(name, data))
        return state !== 'unknown' && state !== 'completed' && state !== 'failed'
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
    repeat: (name, data, repetition) =>
      reach(async () => {
        const id = jobId(name, data)
        const known = await queue(name).getJobScheduler(id)
        const { every, pattern, tz, template, next = 0 } = known ?? {}
        const isAhead = next > Date.now() + longestMs(repetition)
        if (isAhead) await queue(name).removeJobScheduler(id)
        const asked = { every: undefined, pattern: undefined, tz: undefined, ...repetition }
        const found = [{ every, pattern, tz }, template?.data]
        if (!isAhead && isDeepStrictEqual(found, [asked, data])) return false
        const opts = 'pattern' in repetition ? nightly : { ...nightly, attempts: 1 }
        await queue(name).upsertJobScheduler(id, repetition, { name, data, opts })
        return true
      }),
    promote: async () => {
      await Promise.all([...queues.values()].map((one) => promoteTries(one, reach)))
    },
    promoteNext: (name) => reach(() => promoteNext(queue(name))),
    runAlone: (name) =>
      reach(async () => {
        await queue(name).setGlobalConcurrency(1)
      }),
    counts: () =>
      reach(async () => {
        const entries = [...queues].map(async ([name, queue]) => {
          const { prioritized = 0, waiting = 0, ...others } = await queue.getJobCounts()
          return [name, { ...others, waiting: waiting + prioritized }]
        })
        return Object.fromEntries(await Promise.all(entries)) as QueueCounts
      }),
    oldest: () =>
      reach(async () => {
        const looks = [...queues].map(async ([name, queue]) => {
          const [job] = await queue.getJobs([...statesOfOldest(name)], 0, 0, true)
          return job === undefined ? [] : [[name, waitsSince(job)] as const]
        })
        return Object.fromEntries((await Promise.all(looks)).flat())
      }),
    tryWriting,
    waits: async () => {
      await tryWriting()
      return reach(async () => {
        const held = shownQueues.map((name) =>
          queue(name).getJobs([...heldStates], 0, waitsMax - 1),
        )
        return [...(await Promise.all(held)).flat().flatMap(toWait), ...(await polls.list())]
      })
    },
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
  /** Failures other than passing faults that a job may have before `fail` is called. */
  readonly attemptsMax: number
  readonly run: (data: JobData<N>) => Promise<void>
  /** Whether a worker of another machine must run a job, which is handed on then. */
  readonly isForOthers?: (data: JobData<N>) => Promise<boolean>
  /** Called once for a job that will not be retried. */
  readonly fail: (data: JobData<N>, error: unknown) => Promise<void>
  readonly onFailure: (ids: JobIds, error: unknown, attempts: number) => void
  readonly onDone: (data: JobData<N>, ms: number) => void
}

/**
 * Runs the jobs of one queue. A passing fault is retried with back-off until it is over; anything else
 * is tried `attemptsMax` times, then passed to `fail`. A job of an unknown format ends immediately and
 * frees its id, so that the sweep may queue the step again.
 */
export function createConsumer<N extends JobName>(
  options: ConsumerOptions<N>,
): {
  close(): Promise<void>
} {
  const connection = createWorkerConnection(options.redisUrl)
  const worker = new Worker(
    options.name,
    async (job, token) => {
      const startedAt = performance.now()
      let data: JobData<N> | undefined
      try {
        data = parseJob(options.name, job.data)
        if (await options.isForOthers?.(data)) {
          await job.moveToDelayed(Date.now() + handOnMs, token)
          throw new DelayedError()
        }
        const deaths = job.stalledCounter ?? 0
        if (deaths > deathsMax) throw new UnrecoverableError(`${deaths} workers died at it`)
        await options.run(data)
        options.onDone(data, performance.now() - startedAt)
      } catch (error) {
        if (error instanceof DelayedError) throw error
        options.onFailure(idsOf(job.data), error, job.attemptsMade + 1)
        if (data !== undefined) {
          const isLast = error instanceof UnrecoverableError
          if (!isLast && (await isTriedAgain(job, error, options.attemptsMax)))
            throw new Error(codeOf(error))
          await options.fail(data, error)
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
      stalledInterval: patient.includes(options.name) ? stalledLongMs : stalledMs,
      drainDelay: drainSeconds,
      maxStalledCount: worldAttemptsMax,
      settings: { backoffStrategy: (attempts, _, error) => retryMs(attempts, error?.message) },
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

/** What BullMQ stores of a failure in Redis: no data of the job. */
function codeOf(error: unknown): string {
  return error instanceof Fault ? error.code : 'unexpected failure'
}

/** Calls back when a job of the queue has completed; the caller also polls, in case events are lost. */
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
