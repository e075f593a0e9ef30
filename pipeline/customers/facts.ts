import { groupBy } from '../../schemas/lists/group-by.js'

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

/** Another account whose reads a client may see; instants are ms since 1970, the end is exclusive. */
export interface ReadUnder {
  readonly accountNumber: string
  readonly from: number
  readonly to: number
}

/** A client's record listed the place. */
export interface SeenFact extends MeterPlace, Codes {
  readonly kind: 'seen'
  readonly clientId: string
  /** Milliseconds since 1970, as all instants here. */
  readonly at: number
  readonly readUnder: readonly ReadUnder[]
}

/**
 * The client no longer has the place: a later record does not list it, the account has a final or
 * closed status, or the client was unregistered.
 */
export interface LeaveFact extends MeterPlace {
  readonly kind: 'gone' | 'closed' | 'left'
  readonly clientId: string
  readonly at: number
}

/** Published files have named the account at the meter. */
export interface UsageFact extends MeterPlace {
  readonly kind: 'usage'
  readonly commodity: string
  /** Start of the first read. */
  readonly at: number
  /** Start of a read that is at least as late as any known end of the account. */
  readonly last: number
  /** How often it has changed. */
  readonly weight: number
}

/** A bill says since when the meter is active for the account. */
export interface BillFact extends MeterPlace {
  readonly kind: 'bill'
  /** The earliest such date. */
  readonly at: number
  /** The latest one. */
  readonly last: number
  /** The number of rows that have ever said something of it. */
  readonly weight: number
}

/** Bills gave such a date once and, corrected, give none: it says nothing, and counts as known. */
export interface UndatedFact extends MeterPlace {
  readonly kind: 'undated'
  readonly at: number
  readonly weight: number
}

/** When a termination ended the account; an empty site or meter means all of them. */
export interface EndFact extends MeterPlace {
  readonly kind: 'ended'
  readonly at: number
  /** The order of the terminations: of several the latest counts. */
  readonly order: number
  /** The number of facts that it represents: more than one for an erased account. */
  readonly weight: number
}

export type Fact = SeenFact | LeaveFact | UsageFact | BillFact | UndatedFact | EndFact

/** How much is known, facts that were erased since included. It only grows. */
export function countFacts(facts: readonly Fact[]): number {
  return facts.reduce((sum, fact) => sum + ('weight' in fact ? fact.weight : 1), 0)
}

export function codesOf(from: Codes): Codes {
  const { meterType, unitOfMeasure, rateCode, billingCycleId, isAMI, acctStatus } = from
  return { meterType, unitOfMeasure, rateCode, billingCycleId, isAMI, acctStatus }
}

/** The facts that bear on one meter at a site: its own, and those of its accounts there. */
export interface MeterFacts {
  readonly meterId: string
  readonly externalSiteId: string
  /** With those that hold for all sites of an account or a meter. */
  readonly site: readonly Fact[]
}

/**
 * Each meter with the facts that bear on it, whatever other meters are derived with it: their number is
 * the version of what follows from them.
 */
export function factsByMeter(facts: readonly Fact[]): readonly MeterFacts[] {
  const everywhere = facts.filter(({ externalSiteId }) => externalSiteId === '')
  const sites = groupBy(
    facts.filter(({ externalSiteId }) => externalSiteId !== ''),
    ({ externalSiteId }) => externalSiteId,
  )
  return sites.flatMap((own) => {
    const all = [...own, ...everywhere]
    const { externalSiteId } = own[0] as Fact
    const byMeter = indexBy(all, ({ meterId }) => meterId)
    const byAccount = indexBy(all, ({ accountNumber }) => accountNumber)
    const meters = new Set(own.map(({ meterId }) => meterId).filter((meterId) => meterId !== ''))
    return [...meters].map((meterId) => {
      const here = withoutErased(byMeter.get(meterId) ?? [])
      const accounts = new Set(here.filter(isTie).map(({ accountNumber }) => accountNumber))
      accounts.delete('')
      const ofAccounts = [...accounts]
        .flatMap((account) => byAccount.get(account) ?? [])
        .filter((fact) => isOfAccount(fact, meterId))
      return { meterId, externalSiteId, site: [...new Set([...here, ...ofAccounts])] }
    })
  })
}

/** The order of an erasure, behind that of all terminations: the highest of UInt64. */
const erasedOrder = 2 ** 64

/**
 * Leaves out the facts of accounts that are erased at a meter: what represents them has their number, and a server
 * may not have deleted them yet.
 */
function withoutErased(here: readonly Fact[]): readonly Fact[] {
  const isErasure = (fact: Fact) => fact.kind === 'ended' && fact.order === erasedOrder
  const accounts = new Set(here.filter(isErasure).map(({ accountNumber }) => accountNumber))
  return here.filter((fact) => isErasure(fact) || !accounts.has(fact.accountNumber))
}

const ofRecords: readonly Fact['kind'][] = ['seen', 'gone', 'closed', 'left']

/** A record or a read makes an account one of the meter; a bill or a termination alone does not. */
function isTie({ kind }: Fact): boolean {
  return kind === 'usage' || ofRecords.includes(kind)
}

/** Whether a fact about an account, at whatever meter, bears on this meter of it. */
function isOfAccount({ kind, externalSiteId, meterId }: Fact, wanted: string): boolean {
  if (kind !== 'ended') return ofRecords.includes(kind)
  // One without a premise that names another meter is read only with that meter.
  return externalSiteId !== '' || ['', wanted].includes(meterId)
}

function indexBy(facts: readonly Fact[], keyOf: (fact: Fact) => string) {
  const groups = groupBy(facts, keyOf)
  return new Map(groups.map((group) => [keyOf(group[0] as Fact), group]))
}
