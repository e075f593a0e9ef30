import { Fault } from '../../schemas/fault.js'
import {
  type Customer,
  type CustomerProblem,
  type CustomerRules,
  judgeCustomer,
  spellProblem,
} from '../../schemas/gateway/customer.js'
import {
  asSent,
  type NormalisedCustomer,
  normaliseCustomer,
} from '../../schemas/gateway/normalise.js'
import type { PartialSites, RegistrationExtras } from '../../schemas/gateway/registration.js'
import type { Cis, CisRecord } from '../cis/cis.js'
import { createFairQueue } from '../fair-queue.js'

/** The status of a customer's account, without personal data. */
export interface AccountStatus {
  readonly isKnown: boolean
  /** Undefined if the CIS does not provide it; the gateway then counts attempts itself. */
  readonly locked: boolean | undefined
  readonly attemptsRemaining: number | undefined
  readonly isClosed: boolean
  /** Whether the customer has an electric or gas meter. */
  readonly hasMeter: boolean
}

export interface CustomersOptions {
  readonly cis: Cis
  readonly rules: CustomerRules & { readonly normalise: boolean }
  readonly closedStatuses: readonly string[]
  readonly statusSeconds: number
  readonly statusesMax: number
  /** Milliseconds since any instant. */
  readonly now: () => number
}

/** Customers from the CIS. Throws the faults of the CIS. */
export interface Customers {
  /** Cached for `statusSeconds`; synchronous on a cache hit. */
  status(clientId: string): AccountStatus | Promise<AccountStatus>
  /** Always read from the CIS. `customer` throws `CIS_ANSWER` for an invalid record. */
  read(clientId: string): Promise<{
    readonly status: AccountStatus
    /** Of a record without an electric or gas meter: where such a meter may still be. */
    readonly withoutMeter: PartialSites | undefined
    customer(): ReadCustomer
  }>
  figures(): RecordFigures
}

export interface ReadCustomer extends Required<RegistrationExtras> {
  readonly customer: Customer
}

/** What was wrong with records of the CIS since the start. */
export interface RecordFigures {
  readonly omitted: { readonly meters: number; readonly sites: number }
  /** Invalid fields by path without indexes, with the kind of their value. */
  readonly invalid: readonly {
    readonly field: string
    readonly kind: string
    readonly count: number
  }[]
}

const unknown: AccountStatus = {
  isKnown: false,
  locked: undefined,
  attemptsRemaining: undefined,
  isClosed: false,
  hasMeter: false,
}

interface Kept {
  readonly status: AccountStatus
  readonly until: number
}

export function createCustomers(options: CustomersOptions): Customers {
  const { cis, now, rules, statusSeconds, statusesMax } = options
  const queue = createFairQueue()
  const tally = createTally()
  let kept = new Map<string, Kept>()
  const keep = (clientId: string, record: CisRecord | undefined) => {
    const normalise = rules.normalise ? normaliseCustomer : asSent
    const found = record && { ...record, normalised: normalise(record.record) }
    if (found !== undefined) expectOwn(clientId, found.normalised.record)
    if (found !== undefined && found.problems.length > 0) throw invalid(found.problems, tally.find)
    const status = toAccountStatus(found, options.closedStatuses)
    if (kept.size >= statusesMax) kept = new Map()
    if (statusSeconds > 0) {
      kept.set(clientId, { status, until: now() + statusSeconds * 1_000 })
    }
    return { status, normalised: found?.normalised }
  }
  return {
    status: (clientId) => {
      const known = kept.get(clientId)
      if (known !== undefined && known.until > now()) return known.status
      return cis.fetch(clientId).then((record) => keep(clientId, record).status)
    },
    read: async (clientId) => {
      await queue()
      const record = await cis.fetch(clientId)
      await queue()
      const { status, normalised = asSent(undefined) } = keep(clientId, record)
      const { hasMeter, omitted, partialSites } = normalised
      return {
        status,
        withoutMeter: hasMeter ? undefined : partialSites,
        customer: () => {
          tally.omit(omitted)
          return toCustomer(clientId, normalised, { rules, onProblem: tally.find })
        },
      }
    },
    figures: tally.figures,
  }
}

function createTally() {
  const omitted = { meters: 0, sites: 0 }
  const invalid = new Map<string, { field: string; kind: string; count: number }>()
  return {
    omit: ({ meters, sites }: NormalisedCustomer['omitted']) => {
      omitted.meters += meters
      omitted.sites += sites
    },
    find: ({ field, shape }: CustomerProblem) => {
      const path = field.replace(/\[\d+\]/g, '') || 'record'
      const kind = kindOf(shape)
      const known = invalid.get(`${path} ${kind}`) ?? { field: path, kind, count: 0 }
      known.count++
      invalid.set(`${path} ${kind}`, known)
    },
    figures: (): RecordFigures => ({ omitted, invalid: [...invalid.values()] }),
  }
}

/** The first word that says something: metrics must not have a series for each shape. */
function kindOf(shape: string | undefined): string {
  if (shape === undefined) return 'missing'
  return /text|list|null|[a-z]+$/.exec(shape)?.[0] ?? 'other'
}

/** Never authorize a customer by an empty document or by another customer's record. */
function expectOwn(clientId: string, record: unknown): void {
  const { clientId: named, customerSites } = record as Readonly<Record<string, unknown>>
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
  found: (CisRecord & { readonly normalised: NormalisedCustomer }) | undefined,
  closedStatuses: readonly string[],
): AccountStatus {
  if (found === undefined) return unknown
  const { locked, attemptsRemaining, normalised } = found
  const { AcctStatus } = normalised.record as Readonly<Record<string, unknown>>
  if (typeof AcctStatus === 'object' && AcctStatus !== null) {
    throw new Fault(
      'CIS_ANSWER',
      'the CIS returned an AcctStatus that is neither text nor a number',
    )
  }
  const isClosed = closedStatuses.includes(String(AcctStatus ?? ''))
  const { hasMeter } = normalised
  return { isKnown: true, locked, attemptsRemaining, isClosed, hasMeter }
}

type OnProblem = (problem: CustomerProblem) => void

interface Judging {
  readonly rules: CustomerRules
  readonly onProblem: OnProblem
}

/** A complete customer, or a fault that names the invalid fields. */
function toCustomer(
  clientId: string,
  { record, partialSites }: NormalisedCustomer,
  { rules, onProblem }: Judging,
): ReadCustomer {
  const { customer, readUnder, problems } = judgeCustomer(
    { clientId, ...(record as object) },
    rules,
  )
  if (problems !== undefined) {
    throw invalid(problems, onProblem)
  }
  return { customer, readUnder, partialSites }
}

function invalid(problems: readonly CustomerProblem[], onProblem: OnProblem): Fault {
  for (const problem of problems) onProblem(problem)
  const shown = problems.slice(0, 10).map(spellProblem)
  const detail = `the CIS returned an invalid customer record: ${shown.join('; ')}`
  return new Fault('CIS_ANSWER', detail)
}
