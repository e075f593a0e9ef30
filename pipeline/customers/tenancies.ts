import { groupBy } from '../../schemas/lists/group-by.js'
import {
  type BillFact,
  type Codes,
  countFacts,
  type Fact,
  factsByMeter,
  type MeterFacts,
  type MeterPlace,
} from './facts.js'
import { ever, type Hold, holdsOf, type Tenure } from './holds.js'
import {
  type Client,
  type CodesFrom,
  combined,
  compareTexts,
  type End,
  historyOf,
  reopened,
  type TenancyRules,
  type Tenant,
  tenantsOf,
  type Withdrawn,
} from './tenants.js'

/** An account at a meter, from `validFrom` until before `validTo`, and whose reads are its clients'. */
export interface Tenancy extends MeterPlace {
  /** The client of a tenancy without account number; else empty. */
  readonly clientId: string
  /** The current clients of the account, or the last ones. */
  readonly clientIds: readonly string[]
  readonly codes: Codes
  readonly history: readonly CodesFrom[]
  /** Undefined where no move is known before it. */
  readonly validFrom: number | undefined
  readonly validTo: number | undefined
  readonly startedBy: 'first' | 'bill' | 'usage' | 'seen' | 'ended' | 'exchanged' | 'renumbered'
  readonly endedBy: End['by'] | 'renumbered' | ''
  readonly nextAccountNumber: string
  readonly withdrawn: readonly Withdrawn[]
  readonly previous:
    | { readonly accountNumber: string; readonly clientIds: readonly string[] }
    | undefined
  readonly sharedAt: number | undefined
  /** The latest record about the meter. */
  readonly knownAt: number
  /** Facts that bear on it; it only grows. */
  readonly factCount: number
  readonly holds: readonly Hold[]
}

/**
 * Derives from all facts about the meters of some sites whose reads are whose (decision 11). A pure
 * function of the set of facts: neither their order nor a repetition changes the result, so that
 * writers need no lock. An account that nobody has any more has a tenancy without clients and holds.
 */
export function toTenancies(facts: readonly Fact[], rules: TenancyRules): readonly Tenancy[] {
  return factsByMeter(facts).flatMap((ofOne) => ofMeter(ofOne, rules))
}

function ofMeter(facts: MeterFacts, rules: TenancyRules): readonly Tenancy[] {
  const tenants = tenantsOf(facts, rules)
  const named = facts.site.filter((fact): fact is BillFact => {
    return fact.kind === 'bill' && fact.meterId === facts.meterId
  })
  const bills = groupBy(named, ({ accountNumber }) => accountNumber).flatMap((own) => {
    return combined(own) ?? []
  })
  const tenures = toTenures(tenants, bills)
  const holds = holdsOf(tenures, bills)
  const records = facts.site.filter((fact) => 'clientId' in fact && fact.meterId === facts.meterId)
  const knownAt = Math.max(0, ...records.map(({ at }) => at))
  return tenures.map((tenure, at): Tenancy => {
    const { tenant, end, withdrawn } = tenure
    const { accountNumber, clients } = tenant
    const isUnnamed = accountNumber === ''
    const active = clients.filter((client) => client.end === undefined)
    return {
      meterId: facts.meterId,
      externalSiteId: facts.externalSiteId,
      accountNumber,
      clientId: isUnnamed ? (tenant.seen[0]?.clientId ?? '') : '',
      clientIds: (active.length > 0 ? active : clients).map(({ clientId }) => clientId),
      codes: tenant.codes,
      history: historyOf(tenant, rules),
      ...startOf(tenure, { tenures, facts, bills }),
      validTo: end?.at,
      endedBy: end?.by ?? '',
      nextAccountNumber: end?.next ?? '',
      withdrawn,
      knownAt,
      factCount: countFacts(facts.site),
      sharedAt: clients.map(({ seenAt }) => seenAt).sort((a, b) => a - b)[1],
      holds: holds[at] ?? [],
    }
  })
}

/** When each tenant began, and when he ended, by his own facts and by those of the others. */
function toTenures(tenants: readonly Tenant[], bills: readonly BillFact[]): readonly Tenure[] {
  const own = tenants.map((tenant) => toTenure(tenant, nextOf(tenant, tenants, bills)))
  return own.map((tenure) => {
    const renamed = own
      .filter((other) => other !== tenure && isRenumbered(tenure.tenant, other.tenant))
      .sort(inOrder)
    const group = [tenure, ...renamed].map(({ tenant }) => tenant)
    // A number that was terminated before its first read or bill has followed no other.
    const lasting = renamed.filter(({ start, end }) => (end?.at ?? ever.to) > start)
    const next = lasting.find((other) => inOrder(tenure, other) < 0)
    const isFirst = lasting.every((other) => inOrder(tenure, other) < 0)
    const since = isFirst ? undefined : tenure.start
    if (next === undefined || (tenure.end?.at ?? Number.POSITIVE_INFINITY) <= next.start) {
      return { ...tenure, since, group }
    }
    const end = { at: next.start, by: 'renumbered', next: next.tenant.accountNumber } as const
    return { ...tenure, since, group, end }
  })
}

function inOrder(a: Tenure, b: Tenure): number {
  return a.start - b.start || compareTexts(a.tenant.accountNumber, b.tenant.accountNumber)
}

/** One client has both accounts: the utility has given him another number. */
function isRenumbered(a: Tenant, b: Tenant): boolean {
  const isNamed = a.accountNumber !== '' && b.accountNumber !== ''
  const ids = new Set(a.clients.map(({ clientId }) => clientId))
  return isNamed && b.clients.some(({ clientId }) => ids.has(clientId))
}

/** A bill counts before usage, and usage before the first record. */
function beginOf({ bill, usage, seenAt }: Tenant): Pick<Tenure, 'start' | 'startedBy'> {
  if (bill !== undefined) return { start: bill.at, startedBy: 'bill' }
  if (usage !== undefined) return { start: usage.at, startedBy: 'usage' }
  return { start: seenAt, startedBy: 'seen' }
}

/**
 * Whether one account came after another: by bills and reads where both have some, else by their first
 * records, since who has none may have had the meter at any time before.
 */
function isAfter(later: Tenant, earlier: Tenant): boolean {
  const isKnown = ({ bill, usage }: Tenant) => bill !== undefined || usage !== undefined
  if (!isKnown(later) || !isKnown(earlier)) return later.seenAt > earlier.seenAt
  return beginOf(later).start > anchorOf(earlier)
}

/** The latest instant at which an account is known to have begun. */
function anchorOf({ bill, usage, seenAt }: Tenant): number {
  return bill?.last ?? usage?.at ?? seenAt
}

/** The accounts of others that took the meter over by a bill, or by a record that lists it; the earliest first. */
function nextOf(
  tenant: Tenant,
  tenants: readonly Tenant[],
  bills: readonly BillFact[],
): readonly End[] {
  const anchor = anchorOf(tenant)
  const isOther = (accountNumber: string) => {
    const other = tenants.find((one) => one.accountNumber === accountNumber)
    return accountNumber !== tenant.accountNumber && !(other && isRenumbered(tenant, other))
  }
  const byBill = bills
    .filter(({ accountNumber }) => isOther(accountNumber))
    .flatMap(({ at, last, accountNumber }): readonly End[] => {
      const first = [at, last].find((instant) => instant > anchor)
      return first === undefined ? [] : [{ at: first, by: 'bill', next: accountNumber }]
    })
  const byRecord = tenants
    .filter((other) => other !== tenant && other.bill === undefined && other.seen.length > 0)
    .filter((other) => other.clients.length > 0 && !isRenumbered(tenant, other))
    .filter((other) => isAfter(other, tenant))
    .map((other): End => {
      const { start, startedBy } = beginOf(other)
      return { at: start, by: startedBy as 'usage' | 'seen', next: other.accountNumber }
    })
    // A bill that says that the meter was taken over later is not contradicted by a record before it.
    .filter(({ at }) => tenant.bill === undefined || at > tenant.bill.last)
  return [...byBill, ...byRecord].sort((a, b) => a.at - b.at || compareTexts(a.next, b.next))
}

/** Ends that reads or records contradict are withdrawn; a termination never is (decision 30). */
function toTenure(tenant: Tenant, next: readonly End[]): Tenure {
  const { clients, usage, terminated } = tenant
  const last = usage?.last ?? Number.NEGATIVE_INFINITY
  const withdrawn: Withdrawn[] = [...takenBack(clients)]
  const ends: End[] = []
  for (const end of next) {
    const because = last >= end.at ? 'usage' : isSeenAgain(tenant, end.at) ? 'seen' : undefined
    if (because === undefined) ends.push(end)
    else withdrawn.push({ by: end.by, at: end.at, because })
  }
  const left = clients.map(({ end }) => end).filter((end) => end !== undefined)
  const leftAt = Math.max(...left.map(({ at }) => at))
  const isLeft = clients.length > 0 && left.length === clients.length
  const isReading = isLeft && last >= leftAt
  const byClient = left.find(({ at }) => at === leftAt)
  if (isLeft && byClient !== undefined) {
    if (isReading) withdrawn.push({ by: byClient.by, at: leftAt, because: 'usage' })
    else ends.push(byClient)
  }
  if (terminated !== undefined) ends.push({ at: terminated.at, by: 'terminated', next: '' })
  const [end] = ends.sort((a, b) => a.at - b.at)
  return {
    tenant: isReading
      ? { ...tenant, clients: clients.map((one) => reopened(one, leftAt)) }
      : tenant,
    ...beginOf(tenant),
    end,
    ownEnd: end,
    withdrawn,
    since: undefined,
    group: [tenant],
  }
}

/** Ends of all clients of an account that a later record of one of them took back. */
function takenBack(clients: readonly Client[]): readonly Withdrawn[] {
  const never = Number.POSITIVE_INFINITY
  const absences = clients.map(({ end, returned }) => {
    return [...returned, ...(end === undefined ? [] : [{ ...end, back: never }])]
  })
  const ends = absences.flat().flatMap(({ by, at }): readonly Withdrawn[] => {
    const backs = clients.map(({ seenAt }, index) => {
      if (seenAt > at) return seenAt
      return absences[index]?.find((away) => away.at <= at && at < away.back)?.back ?? at
    })
    const back = Math.min(...backs)
    return back > at && back < never ? [{ by, at, because: 'seen' }] : []
  })
  return [...new Map(ends.map((end) => [end.at, end])).values()]
}

/** A client's record lists the meter with an open account after an instant, and did so before. */
function isSeenAgain({ seen, clients }: Tenant, at: number): boolean {
  return clients.some(({ clientId, end }) => {
    const own = seen.filter((fact) => fact.clientId === clientId)
    const [first, last] = [own[0]?.at ?? 0, own.at(-1)?.at ?? 0]
    return end === undefined && first < last && last > at
  })
}

interface Around {
  readonly tenures: readonly Tenure[]
  readonly facts: MeterFacts
  readonly bills: readonly BillFact[]
}

/** Since when the account has the meter, and whose it was before. */
function startOf(
  tenure: Tenure,
  { tenures, facts, bills }: Around,
): Pick<Tenancy, 'validFrom' | 'startedBy' | 'previous'> {
  const { tenant, start, startedBy, since } = tenure
  if (since !== undefined) {
    const before = tenures
      .filter((one) => tenure.group.includes(one.tenant) || isRenumbered(one.tenant, tenant))
      .filter((one) => inOrder(one, tenure) < 0)
      .sort(inOrder)
      .at(-1)
    return { validFrom: since, startedBy: 'renumbered', previous: before && nameOf(before.tenant) }
  }
  const registered = tenures
    .filter((one) => one !== tenure && !isRenumbered(one.tenant, tenant))
    .filter((one) => isAfter(tenant, one.tenant))
    .map((one) => ({ at: one.start, ...nameOf(one.tenant) }))
  const known = new Set(tenures.map((one) => one.tenant.accountNumber))
  const others = [...bills, ...facts.site.filter((fact) => fact.kind === 'usage')]
    .filter(({ meterId, accountNumber }) => meterId === facts.meterId && accountNumber !== '')
    .filter(({ accountNumber }) => !known.has(accountNumber))
    .filter(({ at }) => at < start)
    .map(({ at, accountNumber }) => ({ at, accountNumber, clientIds: [] as readonly string[] }))
  const latest = (known: typeof registered) =>
    [...known].sort((a, b) => a.at - b.at || compareTexts(a.accountNumber, b.accountNumber)).at(-1)
  const before = latest(registered) ?? latest(others)
  if (before !== undefined) {
    const { accountNumber, clientIds } = before
    return { validFrom: start, startedBy, previous: { accountNumber, clientIds } }
  }
  const erased = facts.site.filter((fact) => {
    const isHere = fact.meterId === facts.meterId && fact.accountNumber !== tenant.accountNumber
    return fact.kind === 'ended' && isHere && fact.at <= start
  })
  if (erased.length > 0) {
    const validFrom = Math.max(...erased.map(({ at }) => at))
    return { validFrom, startedBy: 'ended', previous: { accountNumber: '', clientIds: [] } }
  }
  const isLater = tenant.seen.length === 0 || tenant.seenAt > tenant.knownAt
  if (isLater) return { validFrom: start, startedBy: 'exchanged', previous: undefined }
  return { validFrom: undefined, startedBy: 'first', previous: undefined }
}

function nameOf({ accountNumber, clients }: Tenant): NonNullable<Tenancy['previous']> {
  return { accountNumber, clientIds: clients.map(({ clientId }) => clientId) }
}
