import type { Queues } from '../../pipeline/queues/bullmq.js'
import { type JobData, registrationsMax } from '../../pipeline/queues/jobs.js'
import { Fault } from '../../schemas/fault.js'
import { type Registration, registeredMax } from '../../schemas/gateway/registration.js'

export interface RegistrarOptions {
  readonly queues: Pick<Queues, 'add'>
  readonly onFailure: (fault: Fault) => void
}

export interface Registrar {
  /** Never throws, and is not awaited. */
  add(customer: Registration): void
  /** Reports a client whose account is closed; never throws, and is not awaited. */
  end(clientId: string): void
  /** Resolves when all collected customers are in the queue. */
  close(): Promise<void>
}

/** How long customers are collected: a job for many costs the pipeline hardly more than for one. */
const gatherMs = 50
/** Meters of one job, not counting those of its last customer. */
const metersMax = 1_000
/** A closed account is reported again after that, however often it is asked for. */
const endedMs = 60_000
const endedMax = 10_000
/** Customers being added to the queue; above it a customer is skipped until the next request. */
const underWayMax = 10_000

/**
 * Collects the identifiers and codes of customers for `register` jobs. A request succeeds even if the
 * queue is down: a skipped customer is registered by the next request. An unchanged customer costs no
 * write.
 */
export function createRegistrar({ queues, onFailure }: RegistrarOptions): Registrar {
  let gathered = new Map<string, Registration>()
  let closed = new Set<string>()
  const ended = new Map<string, number>()
  let meters = 0
  let timer: NodeJS.Timeout | undefined
  let underWay = 0
  const submission = async (data: JobData<'register'>): Promise<void> => {
    const count = data.customers.length + (data.closed?.length ?? 0)
    underWay += count
    try {
      await queues.add('register', data)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      onFailure(error)
    } finally {
      underWay -= count
    }
  }
  const pending = new Set<Promise<void>>()
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (gathered.size + closed.size === 0) return
    const ends = closed.size > 0 ? { closed: [...closed] } : {}
    const handed = submission({ v: 1, customers: [...gathered.values()], ...ends })
    gathered = new Map()
    closed = new Set()
    meters = 0
    pending.add(handed)
    void handed.finally(() => pending.delete(handed))
  }
  return {
    add: (registration) => {
      if (underWay >= underWayMax) {
        onFailure(
          new Fault('QUEUE_UNREACHABLE', `${underWay} registrations are waiting for the queue`),
        )
        return
      }
      const { length } = registration.meters
      if (length > registeredMax) {
        // A job that carries it would be refused, with every other customer in it.
        const detail = `a customer has ${length} meters and is not registered: at most ${registeredMax} are`
        onFailure(new Fault('CIS_ANSWER', detail))
        return
      }
      gathered.set(registration.clientId, registration)
      closed.delete(registration.clientId)
      ended.delete(registration.clientId)
      meters += length
      if (gathered.size >= registrationsMax || meters >= metersMax) flush()
      else timer ??= setTimeout(flush, gatherMs)
    },
    end: (clientId) => {
      const nowMs = performance.now()
      if (underWay >= underWayMax || (ended.get(clientId) ?? 0) > nowMs) return
      if (ended.size >= endedMax) ended.clear()
      ended.set(clientId, nowMs + endedMs)
      gathered.delete(clientId)
      closed.add(clientId)
      if (closed.size >= registrationsMax) flush()
      else timer ??= setTimeout(flush, gatherMs)
    },
    close: async () => {
      flush()
      await Promise.all(pending)
    },
  }
}
