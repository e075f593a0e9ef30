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

export type Fact = SeenFact | LeaveFact | UsageFact | BillFact | EndFact

/** How much is known, facts that were erased since included. It only grows. */
export function countFacts(facts: readonly Fact[]): number {
  return facts.reduce((sum, fact) => sum + ('weight' in fact ? fact.weight : 1), 0)
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
