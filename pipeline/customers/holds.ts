import type { BillFact } from './facts.js'
import { compareTexts, type End, type Tenant, type Withdrawn } from './tenants.js'

/** Reads under one account, or under none, from an instant until before another, are some clients'. */
export interface Hold {
  /** Empty for reads without an account, `anyAccount` for those of accounts that no client has. */
  readonly accountNumber: string
  readonly from: number
  readonly to: number
  /** Who may see them. */
  readonly clientIds: readonly string[]
  /** Those of them whose bills count the reads, none where no bill does: a landlord has no tenant's bill. */
  readonly billedTo: readonly string[]
}

/** The account number of holds for all accounts without a client; no account number has that character. */
export const anyAccount = '\0'

/** Before and after all instants that the store can hold. */
export const ever = { from: 0, to: 4_294_967_295_000 } as const

/** A tenant with his time. */
export interface Tenure {
  readonly tenant: Tenant
  readonly start: number
  readonly startedBy: 'bill' | 'usage' | 'seen'
  readonly end: (Omit<End, 'by'> & { readonly by: End['by'] | 'renumbered' }) | undefined
  /** The same by his own facts: another number of his clients does not count. */
  readonly ownEnd: End | undefined
  readonly withdrawn: readonly Withdrawn[]
  /** When his clients got this account instead of another; undefined where it is their first. */
  readonly since: number | undefined
  /** The accounts of the same clients, his own too. */
  readonly group: readonly Tenant[]
}

interface Span {
  readonly from: number
  readonly to: number
}

interface Claim extends Span {
  readonly accountNumber: string
  readonly tenure: number
  readonly clientIds: readonly string[]
  readonly isBilled: boolean
}

/**
 * The holds of each tenure; no read is in two of them. Of several claims to a read the first one
 * that bills count has it: that of the account in force, then that of the account itself.
 */
export function holdsOf(
  tenures: readonly Tenure[],
  bills: readonly BillFact[],
): readonly (readonly Hold[])[] {
  const known = new Set(tenures.map(({ tenant }) => tenant.accountNumber))
  const unnamed = underNone(tenures, bills, known)
  const ofAny = unnamed.filter(({ accountNumber }) => accountNumber === anyAccount)
  const claims = [
    ...tenures.flatMap((tenure, at) => underAccounts(tenure, at)),
    ...unnamed,
    ...tenures.flatMap(({ tenant, ownEnd: end }, at) => {
      return underAccounts({ tenant, end, since: undefined, group: [tenant] }, at)
    }),
    ...tenures
      .flatMap((tenure, at) => underOthers(tenure, at))
      // No read is held twice: by its account, and as one that no client has.
      .flatMap((claim) => (known.has(claim.accountNumber) ? [claim] : without(claim, ofAny))),
  ]
  const holds = [...new Set(claims.map(({ accountNumber }) => accountNumber))]
    .sort(compareTexts)
    .flatMap((account) => merge(claims.filter(({ accountNumber }) => accountNumber === account)))
  return tenures.map((_, at) =>
    holds.filter(({ tenure }) => tenure === at).map(({ tenure: _, ...hold }) => hold),
  )
}

/** Reads under the accounts of the same clients are of the one that is in force; each keeps its clients. */
function underAccounts(
  { tenant, since, end, group }: Pick<Tenure, 'tenant' | 'since' | 'end' | 'group'>,
  tenure: number,
): readonly Claim[] {
  if (tenant.accountNumber === '') return []
  const own = { from: since ?? ever.from, to: end?.at ?? ever.to }
  return group.flatMap((one) => {
    const { accountNumber } = one
    const to = Math.min(own.to, one.terminated?.at ?? ever.to)
    return clientSpans(one, { ...own, to }).map((span) => {
      return { ...span, accountNumber, tenure, isBilled: true }
    })
  })
}

/** Who of a tenant's clients had the account when, within a span. */
function clientSpans(
  { clients }: Tenant,
  within: Span,
): readonly (Span & Pick<Claim, 'clientIds'>)[] {
  const ends = clients.map(({ end }) => end?.at ?? ever.to)
  const cuts = [...new Set([...ends, within.to])]
    .filter((cut) => cut > within.from && cut <= within.to)
    .sort((a, b) => a - b)
  return cuts.flatMap((to, at) => {
    const from = cuts[at - 1] ?? within.from
    const clientIds = clients
      .filter((_, index) => (ends[index] as number) >= to)
      .map(({ clientId }) => clientId)
    return clientIds.length === 0 ? [] : [{ from, to, clientIds }]
  })
}

/**
 * Reads without an account are of the tenancy that is known to hold the meter then, until another one
 * begins or it ends. A client whose record gives no account has in his time the reads of accounts that
 * nobody has, too, and those from before if nobody is known to have had the meter earlier. `known` are the
 * accounts that clients have.
 */
function underNone(
  tenures: readonly Tenure[],
  bills: readonly BillFact[],
  known: ReadonlySet<string>,
): readonly Claim[] {
  const strangers = bills
    .filter(({ accountNumber }) => !known.has(accountNumber))
    .flatMap(({ at, last }) => [at, last].map((instant) => ({ at: instant, tenure: -1 })))
  const within = (start: Start) => start.at < (tenures[start.tenure]?.end?.at ?? ever.to)
  const [all, early] = [[...tenures.flatMap(startsOf), ...strangers], tenures.flatMap(earlyOf)]
  const proved = all.filter(within).sort(inOrder)
  const isFree = ({ at }: Start) => {
    const before = proved.findLast((one) => one.at <= at)
    return before === undefined || (tenures[before.tenure]?.end?.at ?? ever.to) <= at
  }
  const starts = [...proved, ...early.filter(within).filter(isFree)].sort(inOrder)
  const firstAt = Math.min(...[...all, ...early].map(({ at }) => at))
  return starts.flatMap(({ at, tenure }, index) => {
    const held = tenures[tenure]
    if (held === undefined) return []
    const to = Math.min(starts[index + 1]?.at ?? ever.to, held.end?.at ?? ever.to)
    const toClaims = (accountNumber: string, from: number) =>
      clientSpans(held.tenant, { from, to }).map((span) => {
        return { ...span, accountNumber, tenure, isBilled: true }
      })
    const isUnnamed = held.tenant.accountNumber === ''
    return [
      ...toClaims('', at),
      ...(isUnnamed ? toClaims(anyAccount, at === firstAt ? ever.from : at) : []),
    ]
  })
}

/** An instant from which a tenure is known to have the meter; -1 is that of an account without a client. */
interface Start {
  readonly at: number
  readonly tenure: number
}

const inOrder = (a: Start, b: Start) => a.at - b.at || b.tenure - a.tenure

/** Bills, else the first read under the account, else the first record. */
function startsOf({ tenant, start }: Tenure, tenure: number): readonly Start[] {
  if (tenant.clients.length === 0) return []
  const { bill } = tenant
  return [start, ...(bill === undefined ? [] : [bill.last])].map((at) => ({ at, tenure }))
}

/** A first record before the first read: it counts where nobody else has the meter. */
function earlyOf({ tenant, start, startedBy }: Tenure, tenure: number): readonly Start[] {
  const isEarly = startedBy === 'usage' && tenant.seenAt < start && tenant.clients.length > 0
  return isEarly ? [{ at: tenant.seenAt, tenure }] : []
}

/** What a record lists under `readUnder`, within the tenancy (decision 11). */
function underOthers({ tenant, since, end }: Tenure, tenure: number): readonly Claim[] {
  return tenant.clients.flatMap(({ clientId, last, end: left }) =>
    last.readUnder.flatMap(({ accountNumber, ...span }) => {
      const from = Math.max(span.from, since ?? ever.from)
      const to = Math.min(span.to, end?.at ?? ever.to, left?.at ?? ever.to)
      if (from >= to) return []
      return [{ accountNumber, from, to, clientIds: [clientId], tenure, isBilled: false }]
    }),
  )
}

/** What is left of a claim outside some times. */
function without(claim: Claim, spans: readonly Span[]): readonly Claim[] {
  const cut = (parts: readonly Claim[], { from, to }: Span) =>
    parts
      .flatMap((one) => [
        { ...one, to: Math.min(one.to, from) },
        { ...one, from: Math.max(one.from, to) },
      ])
      .filter((one) => one.from < one.to)
  return spans.reduce(cut, [claim])
}

/** Cuts the claims to one account where they overlap: whom bills count comes first, all clients may see them. */
function merge(claims: readonly Claim[]): readonly (Hold & { readonly tenure: number })[] {
  const cuts = [...new Set(claims.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b)
  const holds: (Hold & { readonly tenure: number })[] = []
  for (const [at, from] of cuts.entries()) {
    const to = cuts[at + 1]
    const here = claims.filter((claim) => to !== undefined && claim.from <= from && claim.to >= to)
    const billed = here.filter(({ isBilled }) => isBilled)
    const first = billed[0] ?? here[0]
    if (first === undefined || to === undefined) continue
    const { accountNumber, tenure } = first
    const [clientIds, billedTo] = [clientsOf(here), clientsOf(billed)]
    const before = holds.at(-1)
    const isSame =
      before?.to === from &&
      before.tenure === tenure &&
      JSON.stringify([before.clientIds, before.billedTo]) === JSON.stringify([clientIds, billedTo])
    if (isSame) holds.pop()
    const since = isSame && before !== undefined ? before.from : from
    holds.push({ accountNumber, tenure, clientIds, billedTo, from: since, to })
  }
  return holds
}

function clientsOf(claims: readonly Claim[]): readonly string[] {
  return [...new Set(claims.flatMap(({ clientIds }) => clientIds))].sort(compareTexts)
}
