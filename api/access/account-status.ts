import { Fault } from '../../schemas/fault.js'
import { type Customer, type CustomerRules, judgeCustomer } from '../../schemas/gateway/customer.js'
import type { Cis, CisRecord } from '../cis/cis.js'
import { createFairQueue } from '../fair-queue.js'

/** How a customer stands with the utility, without anything of the person. */
export interface AccountStatus {
  readonly isKnown: boolean
  /** Undefined where the CIS does not say: then the service's own count decides. */
  readonly locked: boolean | undefined
  readonly attemptsRemaining: number | undefined
  readonly isClosed: boolean
}

export interface CustomersOptions {
  readonly cis: Cis
  readonly rules: CustomerRules
  readonly closedStatuses: readonly string[]
  readonly statusSeconds: number
  readonly statusesMax: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Customers as the CIS has them. Faults: the CIS's. */
export interface Customers {
  /** Kept for `statusSeconds`; at once where it is. */
  status(clientId: string): AccountStatus | Promise<AccountStatus>
  /** Always asked of the CIS. `customer` faults with `CIS_ANSWER` where the record is not whole. */
  read(clientId: string): Promise<{ readonly status: AccountStatus; customer(): Customer }>
}

const unknown: AccountStatus = {
  isKnown: false,
  locked: undefined,
  attemptsRemaining: undefined,
  isClosed: false,
}

interface Kept {
  readonly status: AccountStatus
  readonly until: number
}

export function createCustomers(options: CustomersOptions): Customers {
  const { cis, now, statusSeconds, statusesMax } = options
  const queue = createFairQueue()
  let kept = new Map<string, Kept>()
  const keep = (clientId: string, record: CisRecord | undefined): AccountStatus => {
    if (record !== undefined) expectOwn(clientId, record)
    const status = toAccountStatus(record, options.closedStatuses)
    if (kept.size >= statusesMax) kept = new Map()
    if (statusSeconds > 0) {
      kept.set(clientId, { status, until: now() + statusSeconds * 1_000 })
    }
    return status
  }
  return {
    status: (clientId) => {
      const known = kept.get(clientId)
      if (known !== undefined && known.until > now()) return known.status
      return cis.fetch(clientId).then((record) => keep(clientId, record))
    },
    read: async (clientId) => {
      await queue()
      const record = await cis.fetch(clientId)
      await queue()
      return {
        status: keep(clientId, record),
        customer: () => toCustomer(clientId, record?.record, options.rules),
      }
    },
  }
}

/** What an empty document or another's record says of a customer is no reason to let one in. */
function expectOwn(clientId: string, { record }: CisRecord): void {
  const { clientId: named, customerSites } = record
  if (named === undefined && customerSites === undefined) {
    throw new Fault('CIS_ANSWER', 'a record of the CIS has neither clientId nor customerSites')
  }
  if (named !== undefined && named !== clientId) {
    throw new Fault('CIS_ANSWER', 'the CIS answered with another clientId than it was asked for')
  }
}

function toAccountStatus(
  found: CisRecord | undefined,
  closedStatuses: readonly string[],
): AccountStatus {
  if (found === undefined) return unknown
  const { record, locked, attemptsRemaining } = found
  const isClosed = closedStatuses.includes(String(record['AcctStatus'] ?? ''))
  return { isKnown: true, locked, attemptsRemaining, isClosed }
}

/** A whole customer or a fault that names the fields, never half of one. */
function toCustomer(clientId: string, record: unknown, rules: CustomerRules): Customer {
  const { customer, problems } = judgeCustomer({ clientId, ...(record as object) }, rules)
  if (problems !== undefined) {
    const shown = problems.slice(0, 10).map(({ field, reason }) => `${field || 'record'} ${reason}`)
    throw new Fault('CIS_ANSWER', `a record of the CIS is not whole: ${shown.join('; ')}`)
  }
  return customer
}
