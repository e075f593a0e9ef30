import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { hashOf, type JobData } from './jobs.js'
import type { Reach } from './reach.js'
import { letPass } from './wait.js'

type RegisterJob = JobData<'register'>

/**
 * The order of registrations. One that is tried again comes behind those that were queued meanwhile, and would
 * override what a later one says of the same client.
 */
export interface RegisterTurns {
  /** Runs what is done for jobs when no other process does anything for their clients. */
  alone(jobs: readonly RegisterJob[], run: () => Promise<void>): Promise<void>
  /** The job with the number of its turn. */
  take(job: RegisterJob): Promise<RegisterJob>
  /** The jobs without the clients of whom a later one has been carried out. */
  current(jobs: readonly RegisterJob[]): Promise<readonly RegisterJob[]>
  /** Records that jobs have been carried out. */
  record(jobs: readonly RegisterJob[]): Promise<void>
}

/** Clients whose latest turn is known. A job waits ten seconds at most before it is tried again. */
const clientsMax = 100_000

/**
 * The next number: the time of Redis in microseconds, or the one behind the last where its clock was set back. In a
 * Redis that was emptied it is behind those of jobs that were taken before, and run on.
 */
const nextTurn = `local time = redis.call('TIME')
local last = redis.call('GET', KEYS[1]) or 0
local turn = math.max(time[1] * 1000000 + time[2], last + 1)
redis.call('SET', KEYS[1], string.format('%.0f', turn))
return turn`

/** As long as BullMQ leaves a job to a process that has died. */
const claimMs = 30_000
const pollMs = 100

/** Claims all keys, or none if one is claimed; returns whether it did. */
const claim = `for _, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then return 0 end
end
for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[1], 'PX', ARGV[2]) end
return 1`

const release = `for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end`

/** Commands go through `reach`, so that a Redis that is away is a passing fault. */
export function createRegisterTurns(
  redis: Redis,
  { prefix, reach }: { readonly prefix: string; readonly reach: Reach },
): RegisterTurns {
  const [last, latest] = [`${prefix}:turn`, `${prefix}:turns`]
  return {
    alone: async (jobs, run) => {
      const ids = new Set(jobs.flatMap(clientsOf))
      const keys = [...ids].map((clientId) => `${prefix}:turn:${hashOf(clientId)}`)
      const owner = randomUUID()
      const isClaimed = () =>
        reach(() => redis.eval(claim, keys.length, ...keys, owner, `${claimMs}`))
      while ((await isClaimed()) !== 1) await sleep(pollMs)
      try {
        await run()
      } finally {
        await reach(() => redis.eval(release, keys.length, ...keys, owner)).catch(letPass)
      }
    },
    take: async (job) => {
      const turn = Number(await reach(() => redis.eval(nextTurn, 1, last)))
      return { ...job, turn }
    },
    current: async (jobs) => {
      const ids = jobs.flatMap(clientsOf)
      if (ids.length === 0) return jobs
      const scores = await reach(() => redis.zmscore(latest, ...ids.map(hashOf)))
      const turns = new Map(ids.map((id, at) => [id, Number(scores[at] ?? 0)]))
      return jobs.map((job) => {
        const { customers, closed, turn = Infinity } = job
        const isCurrent = (clientId: string) => (turns.get(clientId) ?? 0) <= turn
        return {
          ...job,
          customers: customers.filter(({ clientId }) => isCurrent(clientId)),
          ...(closed && { closed: closed.filter(isCurrent) }),
        }
      })
    },
    record: async (jobs) => {
      const scored = jobs.flatMap((job) =>
        job.turn === undefined ? [] : clientsOf(job).flatMap((id) => [`${job.turn}`, hashOf(id)]),
      )
      if (scored.length === 0) return
      await reach(() => redis.zadd(latest, 'GT', ...scored))
      await reach(() => redis.zremrangebyrank(latest, 0, -clientsMax - 1))
    },
  }
}

/**
 * Whether a job may run together with those before it, as if they ran one by one: of a client each record needs to
 * know those before it, and what closes accounts is the last, so that it is not repeated with a later one that
 * fails.
 */
export function joinsRegistrations(before: readonly RegisterJob[], job: RegisterJob): boolean {
  if (before.some(({ closed = [] }) => closed.length > 0)) return false
  const known = new Map(before.flatMap((one) => clientsOf(one).map((id) => [id, one.turn ?? 0])))
  const isLater = (clientId: string) => (known.get(clientId) ?? 0) <= (job.turn ?? 0)
  const { customers, closed = [] } = job
  return !customers.some(({ clientId }) => known.has(clientId)) && closed.every(isLater)
}

/** Whether a job may run beside others: what they say of the same client comes first. */
export function passesRegistrations(underWay: readonly RegisterJob[], job: RegisterJob): boolean {
  const clients = new Set(underWay.flatMap(clientsOf))
  return !clientsOf(job).some((clientId) => clients.has(clientId))
}

/** The clients of whom a job says something. */
export function clientsOf({ customers, closed = [] }: RegisterJob): readonly string[] {
  return [...customers.map(({ clientId }) => clientId), ...closed]
}
