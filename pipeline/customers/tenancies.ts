/** Codes of a meter as one customer record gives them. */
export interface Codes {
  readonly meterType: string
  readonly unitOfMeasure: string
  readonly rateCode: string
  readonly billingCycleId: string
  readonly isAMI: boolean
  readonly acctStatus: string
}

/** An account at a premise and a meter. */
export interface MeterPlace {
  readonly meterId: string
  readonly externalSiteId: string
  /** Empty where the utility gives none. */
  readonly accountNumber: string
}

/** A client's record listed the place. */
export interface SeenFact extends MeterPlace, Codes {
  readonly kind: 'seen'
  readonly clientId: string
  /** Milliseconds since 1970, as all instants here. */
  readonly at: number
}

/** A client of the account and the premise whose own record does not list the meter. */
export interface SharedFact extends MeterPlace {
  readonly kind: 'shared'
  readonly clientId: string
  readonly at: number
}

/** When the account took the meter over, by its first interval or by a bill. */
export interface StartFact extends MeterPlace {
  readonly kind: 'usage' | 'bill'
  readonly at: number
}

/** When a termination ended the account at the meter; of several, the latest one counts. */
export interface EndFact extends MeterPlace {
  readonly kind: 'ended'
  readonly at: number
  /** The order of the terminations. */
  readonly order: number
  /** The number of facts that it represents: more than one for an erased account. */
  readonly weight: number
}

export type Fact = SeenFact | SharedFact | StartFact | EndFact

/** How much is known, facts that were erased since included. */
export function countFacts(facts: readonly Fact[]): number {
  return facts.reduce((sum, fact) => sum + (fact.kind === 'ended' ? fact.weight : 1), 0)
}

/** The time in which one account held a meter, from `validFrom` until before `validTo`. */
export interface Tenancy extends MeterPlace {
  /** The client of a tenancy without account number, which nobody shares; else empty. */
  readonly clientId: string
  readonly clientIds: readonly string[]
  readonly codes: Codes
  /** Undefined for the first known one. */
  readonly validFrom: number | undefined
  readonly validTo: number | undefined
  readonly startedBy: 'first' | 'bill' | 'usage' | 'seen' | 'ended'
  readonly previous:
    | { readonly accountNumber: string; readonly clientIds: readonly string[] }
    | undefined
  readonly sharedAt: number | undefined
}

/**
 * Derives from all facts about a meter who held it when. A pure function of the set of facts:
 * neither their order nor a repetition changes the result, so that writers need no lock. Accounts
 * are in the order in which they were first seen; those whose start is known by a bill or by usage
 * are among themselves in the order of these starts. Tenancies of a site follow one another
 * without gap or overlap; one that turns out to have ended before it began is empty.
 */
export function toTenancies(facts: readonly Fact[]): readonly Tenancy[] {
  const sites = groupBy(facts, (fact) => fact.externalSiteId)
  return sites.flatMap((site) => {
    const tenants = groupBy(site.filter(isSeen), tenantOf).map((seen) => toTenant(seen, site))
    return follow(arrange(tenants), site)
  })
}

interface Tenant {
  readonly place: MeterPlace
  readonly clientId: string
  readonly clientIds: readonly string[]
  readonly codes: Codes
  readonly seenAt: number
  readonly sharedAt: number | undefined
  readonly start: StartFact | undefined
  /** When a termination ended it. */
  readonly endedAt: number | undefined
}

function isSeen(fact: Fact): fact is SeenFact {
  return fact.kind === 'seen'
}

/** Without an account number nothing says that two clients belong together. */
function tenantOf(fact: SeenFact): string {
  return fact.accountNumber === '' ? `client ${fact.clientId}` : `account ${fact.accountNumber}`
}

function toTenant(seen: readonly SeenFact[], site: readonly Fact[]): Tenant {
  const inTime = [...seen].sort(
    (a, b) => a.at - b.at || compare(JSON.stringify(codesOf(a)), JSON.stringify(codesOf(b))),
  )
  const [first, last] = [inTime[0], inTime.at(-1)] as [SeenFact, SeenFact]
  const { meterId, externalSiteId, accountNumber } = first
  const sharing = site.filter((fact): fact is SharedFact => {
    return fact.kind === 'shared' && fact.accountNumber === accountNumber
  })
  const firstOf = new Map<string, number>()
  for (const { clientId, at } of [...seen, ...sharing]) {
    firstOf.set(clientId, Math.min(at, firstOf.get(clientId) ?? at))
  }
  return {
    place: { meterId, externalSiteId, accountNumber },
    clientId: accountNumber === '' ? first.clientId : '',
    clientIds: [...firstOf.keys()].sort(compare),
    codes: codesOf(last),
    seenAt: first.at,
    sharedAt: [...firstOf.values()].sort((a, b) => a - b)[1],
    start: startOf(accountNumber, site),
    endedAt: endOf(accountNumber, site),
  }
}

/** A bill counts before usage, the earliest of each kind. */
function startOf(accountNumber: string, site: readonly Fact[]): StartFact | undefined {
  if (accountNumber === '') return undefined
  const own = site.filter((fact): fact is StartFact => {
    const isStart = fact.kind === 'usage' || fact.kind === 'bill'
    return isStart && fact.accountNumber === accountNumber
  })
  const earliest = (kind: StartFact['kind']) =>
    own.filter((fact) => fact.kind === kind).sort((a, b) => a.at - b.at)[0]
  return earliest('bill') ?? earliest('usage')
}

/**
 * Clients that share an account at a premise see all its meters (decision 11): returns the missing fact
 * for each client and each meter of one account and site. `facts` are those of whole sites.
 */
export function findShared(facts: readonly Fact[]): readonly SharedFact[] {
  const named = facts.filter((fact): fact is SeenFact | SharedFact => {
    return (fact.kind === 'seen' || fact.kind === 'shared') && fact.accountNumber !== ''
  })
  const places = groupBy(named, (fact) => {
    return JSON.stringify([fact.externalSiteId, fact.accountNumber])
  })
  return places.flatMap((own) => {
    const meters = groupBy(own.filter(isSeen), ({ meterId }) => meterId)
    const clients = groupBy(own.filter(isSeen), ({ clientId }) => clientId)
    return meters.flatMap(([meter]) =>
      clients.flatMap((seen) => {
        const { clientId } = seen[0] as SeenFact
        const { meterId, externalSiteId, accountNumber } = meter as SeenFact
        if (own.some((fact) => fact.meterId === meterId && fact.clientId === clientId)) return []
        const at = Math.min(...seen.map((fact) => fact.at))
        return [{ kind: 'shared' as const, meterId, externalSiteId, accountNumber, clientId, at }]
      }),
    )
  })
}

function endOf(accountNumber: string, site: readonly Fact[]): number | undefined {
  if (accountNumber === '') return undefined
  return site
    .filter(
      (fact): fact is EndFact => fact.kind === 'ended' && fact.accountNumber === accountNumber,
    )
    .sort((a, b) => b.order - a.order)[0]?.at
}

/** The end of the last account before the first known one: earlier reads are not the first one's. */
function boundaryOf(first: Tenant, site: readonly Fact[]): number | undefined {
  const { accountNumber } = first.place
  const until = first.start?.at ?? first.seenAt
  const ends = site.filter((fact): fact is EndFact => {
    return fact.kind === 'ended' && fact.accountNumber !== accountNumber && fact.at <= until
  })
  return ends.length === 0 ? undefined : Math.max(...ends.map(({ at }) => at))
}

/** Sorts those with a known start among themselves; the others keep their places. */
function arrange(tenants: readonly Tenant[]): readonly Tenant[] {
  const seen = [...tenants].sort((a, b) => a.seenAt - b.seenAt || compareTenants(a, b))
  const started = seen
    .filter(({ start }) => start !== undefined)
    .sort((a, b) => (a.start?.at ?? 0) - (b.start?.at ?? 0) || seen.indexOf(a) - seen.indexOf(b))
  let next = 0
  return seen.map((tenant) => {
    return tenant.start === undefined ? tenant : (started[next++] ?? tenant)
  })
}

/**
 * Gives each its interval: the end of one is the start of the next or its termination, whichever comes
 * first, and no start lies behind it. An account that was erased before the first leaves its end as the start.
 */
function follow(tenants: readonly Tenant[], site: readonly Fact[]): readonly Tenancy[] {
  const starts = tenants.map(({ start, seenAt }) => start?.at ?? seenAt)
  for (let at = starts.length - 2; at > 0; at--) {
    starts[at] = Math.min(starts[at] ?? 0, starts[at + 1] ?? 0)
  }
  return tenants.map((tenant, at) => {
    const before = tenants[at - 1]
    const boundary = before === undefined ? boundaryOf(tenant, site) : undefined
    const startedBy = boundary === undefined ? 'first' : 'ended'
    return {
      ...tenant.place,
      clientId: tenant.clientId,
      clientIds: tenant.clientIds,
      codes: tenant.codes,
      validFrom: before === undefined ? boundary : starts[at],
      validTo: earliest(starts[at + 1], tenant.endedAt),
      startedBy: before === undefined ? startedBy : (tenant.start?.kind ?? 'seen'),
      previous: before && {
        accountNumber: before.place.accountNumber,
        clientIds: before.clientIds,
      },
      sharedAt: tenant.sharedAt,
    }
  })
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}

export function codesOf(from: Codes): Codes {
  const { meterType, unitOfMeasure, rateCode, billingCycleId, isAMI, acctStatus } = from
  return { meterType, unitOfMeasure, rateCode, billingCycleId, isAMI, acctStatus }
}

export function groupBy<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()]
}

function compareTenants(a: Tenant, b: Tenant): number {
  return compare(a.place.accountNumber, b.place.accountNumber) || compare(a.clientId, b.clientId)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
