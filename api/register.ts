import type { Queues } from '../pipeline/queues/bullmq.js'
import type { Customer } from '../schemas/customer.js'
import { Fault } from '../schemas/fault.js'
import { toRegistration } from '../schemas/registration.js'

export interface RegisterOptions {
  readonly queues: Pick<Queues, 'add'>
  readonly onFailure: (fault: Fault) => void
}

/** Hand-overs that may be under way; beyond it one is left out and comes again with the next call. */
const underWayMax = 1_000

/**
 * Hands what the pipeline may know of a customer, identifiers and codes, to its `register` job. The
 * customer is answered whether or not the queue takes it: whoever was left out is handed over with
 * the next call, and who is known and unchanged costs no write.
 */
export function createRegister({
  queues,
  onFailure,
}: RegisterOptions): (customer: Customer) => void {
  let underWay = 0
  return (customer) => {
    if (underWay >= underWayMax) {
      onFailure(new Fault('QUEUE_UNREACHABLE', `${underWay} registrations wait for the queue`))
      return
    }
    underWay++
    queues
      .add('register', { v: 1, customer: toRegistration(customer) })
      .catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error
        onFailure(error)
      })
      .finally(() => {
        underWay--
      })
  }
}
