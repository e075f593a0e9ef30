import { Fault } from '../../schemas/fault.js'
import { type Customer, type CustomerRules, judgeCustomer } from '../../schemas/gateway/customer.js'
import type { Cis, CisRecord } from '../cis/cis.js'
import { createFairQueue } from '../fair-queue.js'

/** The status of a customer's account, without personal data. */
export interface AccountStatus {
  readonly isKnown: boolean
  /** Undefined if the CIS does not provide it; the gateway then counts attempts itself. */
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

/** Customers from the CIS. Throws the faults of the CIS. */
export interface Customers {
  /** Cached for `statusSeconds`; synchronous on a cache hit. */
  status(clientId: string): AccountStatus | Promise<AccountStatus>
  /** Always read from the CIS. `customer` throws `CIS_ANSWER` for an invalid record. */
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

/** Never authorize a customer by an empty document or by another customer's record. */
function expectOwn(clientId: string, { record }: CisRecord): void {
  const { clientId: named, customerSites } = record
  if (named === undefined && customerSites === undefined) {
    throw new Fault(
      'CIS_ANSWER',
      'the CIS returned a record with neither clientId nor customerSites',
    )
  }
  if (named !== undefined && named !== clientId) {
    throw new Fault('CIS_ANSWER', 'the CIS returned a record with another clientId than requested')
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

/** A complete customer, or a fault that names the invalid fields. */
function toCustomer(clientId: string, record: unknown, rules: CustomerRules): Customer {
  const { customer, problems } = judgeCustomer({ clientId, ...(record as object) }, rules)
  if (problems !== undefined) {
    const shown = problems.slice(0, 10).map(({ field, reason }) => `${field || 'record'} ${reason}`)
    throw new Fault(
      'CIS_ANSWER',
      `the CIS returned an invalid customer record: ${shown.join('; ')}`,
    )
  }
  return customer
}
