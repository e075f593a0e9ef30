import type { Queues } from '../../pipeline/queues/bullmq.js'
import { registrationsMax } from '../../pipeline/queues/jobs.js'
import { Fault } from '../../schemas/fault.js'
import type { Customer } from '../../schemas/gateway/customer.js'
import { type Registration, toRegistration } from '../../schemas/gateway/registration.js'

export interface RegistrarOptions {
  readonly queues: Pick<Queues, 'add'>
  readonly onFailure: (fault: Fault) => void
}

export interface Registrar {
  /** Never throws, and is not awaited. */
  add(customer: Customer): void
  /** Resolves when all collected customers are in the queue. */
  close(): Promise<void>
}

/** How long customers are collected: a job for many costs the pipeline hardly more than for one. */
const gatherMs = 50
/** Meters of one job, not counting those of its last customer. */
const metersMax = 1_000
/** Customers being added to the queue; above it a customer is skipped until the next request. */
const underWayMax = 10_000

/**
 * Collects the identifiers and codes of customers for `register` jobs. A request succeeds even if the
 * queue is down: a skipped customer is registered by the next request. An unchanged customer costs no
 * write.
 */
export function createRegistrar({ queues, onFailure }: RegistrarOptions): Registrar {
  let gathered = new Map<string, Registration>()
  let meters = 0
  let timer: NodeJS.Timeout | undefined
  let underWay = 0
  const submission = async (customers: readonly Registration[]): Promise<void> => {
    underWay += customers.length
    try {
      await queues.add('register', { v: 1, customers: [...customers] })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      onFailure(error)
    } finally {
      underWay -= customers.length
    }
  }
  const pending = new Set<Promise<void>>()
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (gathered.size === 0) return
    const handed = submission([...gathered.values()])
    gathered = new Map()
    meters = 0
    pending.add(handed)
    void handed.finally(() => pending.delete(handed))
  }
  return {
    add: (customer) => {
      if (underWay >= underWayMax) {
        onFailure(
          new Fault('QUEUE_UNREACHABLE', `${underWay} registrations are waiting for the queue`),
        )
        return
      }
      const registration = toRegistration(customer)
      gathered.set(customer.clientId, registration)
      meters += registration.meters.length
      if (gathered.size >= registrationsMax || meters >= metersMax) flush()
      else timer ??= setTimeout(flush, gatherMs)
    },
    close: async () => {
      flush()
      await Promise.all(pending)
    },
  }
}
