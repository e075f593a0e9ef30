import { groupBy } from '../../schemas/lists/group-by.js'
import {
  type BillFact,
  type Codes,
  codesOf,
  type EndFact,
  type Fact,
  type LeaveFact,
  type MeterFacts,
  type SeenFact,
  type UsageFact,
} from './facts.js'

/** What facts are read with. */
export interface TenancyRules {
  /** Whether an account of that status is final or closed. */
  readonly isClosed: (acctStatus: string) => boolean
  /** The local midnight before an instant; both in ms since 1970. */
  readonly dayStart: (at: number) => number
}

/** Why a tenancy ended. */
export type EndEvidence = 'bill' | 'usage' | 'seen' | 'terminated' | 'gone' | 'closed' | 'exchanged'

export interface End {
  readonly at: number
  readonly by: EndEvidence
  /** The account that took over; empty where none is known. */
  readonly next: string
}

/** An end that later evidence took back: reads under the account after it, or a record that lists it again. */
export interface Withdrawn {
  readonly by: End['by']
  readonly at: number
  readonly because: 'usage' | 'seen'
}

/** A client of an account at a meter. */
export interface Client {
  readonly clientId: string
  readonly seenAt: number
  readonly left: boolean
  readonly end: End | undefined
  /** Ends that a later record took back, each with the instant of that record. */
  readonly returned: readonly (End & { readonly back: number })[]
  readonly last: SeenFact
}

/** An account at a meter of a site, or a client whose record gives no account. */
export interface Tenant {
  /** Empty where the record gives none. */
  readonly accountNumber: string
  /** Clients that were not unregistered. */
  readonly clients: readonly Client[]
  /** Records that list the meter, in their order. */
  readonly seen: readonly SeenFact[]
  /** The first record of the account at the site, whatever meter it lists. */
  readonly knownAt: number
  /** The first record of the account at the meter, else at the site. */
  readonly seenAt: number
  readonly codes: Codes
  readonly bill: BillFact | undefined
  readonly usage: UsageFact | undefined
  readonly terminated: EndFact | undefined
}

/** Codes from a local midnight on. */
export interface CodesFrom {
  /** Milliseconds since 1970; 0 for the first ones, which hold for all time before. */
  readonly from: number
  readonly rateCode: string
  readonly billingCycleId: string
  readonly unitOfMeasure: string
}

/** The registered tenants of a meter, in the order in which they were first seen. */
export function tenantsOf(facts: MeterFacts, rules: TenancyRules): readonly Tenant[] {
  const seen = facts.site.filter((fact) => fact.kind === 'seen')
  const isHere = ({ meterId }: Fact) => meterId === facts.meterId
  const named = groupBy(
    seen.filter(({ accountNumber }) => accountNumber !== ''),
    ({ accountNumber }) => accountNumber,
  ).filter(([first]) => {
    const own = facts.site.filter((fact) => fact.accountNumber === first?.accountNumber)
    return own.some((fact) => isHere(fact) && (fact.kind === 'seen' || fact.kind === 'usage'))
  })
  const unnamed = groupBy(
    seen.filter((fact) => fact.accountNumber === '' && isHere(fact)),
    ({ clientId }) => clientId,
  )
  return [...named, ...unnamed]
    .map((records) => toTenant(records, facts, rules))
    .sort((a, b) => a.seenAt - b.seenAt || compareTexts(nameOf(a), nameOf(b)))
}

function nameOf({ accountNumber, clients }: Tenant): string {
  return JSON.stringify([accountNumber, clients[0]?.clientId])
}

function toTenant(
  records: readonly SeenFact[],
  { meterId, externalSiteId, site }: MeterFacts,
  rules: TenancyRules,
): Tenant {
  const all = [...records].sort(inTime)
  const here = all.filter((fact) => fact.meterId === meterId)
  const { accountNumber } = all[0] as SeenFact
  const own = site.filter((fact) => fact.accountNumber === accountNumber)
  const ofMeter = own.filter((fact) => fact.meterId === meterId)
  const usage = combined(ofMeter.filter((fact) => fact.kind === 'usage'))
  const isOurs = (place: string, wanted: string) => place === '' || place === wanted
  const clients = groupBy(all, ({ clientId }) => clientId).map((seen) => {
    const { clientId } = seen[0] as SeenFact
    const meters = new Set(seen.map((fact) => fact.meterId))
    const leaves = own.filter(isLeave).filter((fact) => {
      return fact.clientId === clientId && meters.has(fact.meterId)
    })
    return toClient(meterId, [...seen, ...leaves], rules)
  })
  return {
    accountNumber,
    clients: clients
      .filter(({ left }) => !left)
      .sort((a, b) => compareTexts(a.clientId, b.clientId)),
    seen: here,
    knownAt: (all[0] as SeenFact).at,
    seenAt: (here[0] ?? (all[0] as SeenFact)).at,
    codes: codesOf(here.at(-1) ?? borrowed(all, usage)),
    bill:
      accountNumber === '' ? undefined : combined(ofMeter.filter((fact) => fact.kind === 'bill')),
    usage: accountNumber === '' ? undefined : usage,
    terminated: own
      .filter((fact) => fact.kind === 'ended')
      .filter(
        (fact) => isOurs(fact.externalSiteId, externalSiteId) && isOurs(fact.meterId, meterId),
      )
      .sort((a, b) => b.order - a.order || b.at - a.at)[0],
  }
}

/** Several facts of one kind about one place as one. */
export function combined<T extends BillFact | UsageFact>(facts: readonly T[]): T | undefined {
  const [first] = facts
  return (
    first && {
      ...first,
      at: Math.min(...facts.map(({ at }) => at)),
      last: Math.max(...facts.map(({ last }) => last)),
    }
  )
}

/** The codes of a meter that no record lists: those of the account's other meter of its commodity. */
function borrowed(all: readonly SeenFact[], usage: UsageFact | undefined): Codes {
  const meterType = usage?.commodity ?? ''
  const alike = all.filter((fact) => fact.meterType === meterType).at(-1)
  if (alike !== undefined) return alike
  const { acctStatus } = all.at(-1) as SeenFact
  const none = { unitOfMeasure: '', rateCode: '', billingCycleId: '', isAMI: false }
  return { ...none, meterType, acctStatus }
}

function isLeave(fact: Fact): fact is LeaveFact {
  return fact.kind === 'gone' || fact.kind === 'closed' || fact.kind === 'left'
}

/** What a client's records say of the account at one meter; of an unlisted meter, what they say of the others. */
function toClient(
  meterId: string,
  facts: readonly (SeenFact | LeaveFact)[],
  rules: TenancyRules,
): Client {
  const meters = groupBy(facts, (fact) => fact.meterId).map((own) => stateOf(own, rules))
  const here = meters.find(({ last }) => last.meterId === meterId)
  const others = meters.filter((one) => one !== here)
  const isElsewhere = others.some(({ end, left }) => end === undefined && !left)
  const seenAt = Math.min(...meters.map((one) => one.seenAt))
  const { clientId } = facts[0] as SeenFact
  if (here !== undefined) {
    const { end } = here
    const by = end?.by === 'gone' && isElsewhere ? 'exchanged' : end?.by
    return { ...here, clientId, end: end && by && { ...end, by } }
  }
  const latest = [...meters].sort((a, b) => (b.end?.at ?? 0) - (a.end?.at ?? 0))[0] as State
  return { ...latest, clientId, seenAt, ...(isElsewhere ? { end: undefined, left: false } : {}) }
}

type State = Omit<Client, 'clientId'>

/** Of a record and a leave at the same instant the record counts. */
function stateOf(facts: readonly (SeenFact | LeaveFact)[], { isClosed }: TenancyRules): State {
  let end: End | undefined
  let left = false
  let seenAt: number | undefined
  let last: SeenFact | undefined
  const returned: State['returned'][number][] = []
  for (const fact of [...facts].sort(inTime)) {
    if (fact.kind === 'left') left = true
    if (fact.kind === 'seen') {
      seenAt ??= fact.at
      last = fact
      left = false
      if (!isClosed(fact.acctStatus)) {
        if (end !== undefined && end.at < fact.at) returned.push({ ...end, back: fact.at })
        end = undefined
      }
    }
    const isEnd = fact.kind === 'seen' ? isClosed(fact.acctStatus) : fact.kind !== 'left'
    if (isEnd) end ??= { at: fact.at, by: fact.kind === 'gone' ? 'gone' : 'closed', next: '' }
  }
  return { seenAt: seenAt ?? 0, left, end, returned, last: last as SeenFact }
}

function inTime(a: SeenFact | LeaveFact, b: SeenFact | LeaveFact): number {
  return (
    a.at - b.at ||
    Number(a.kind === 'seen') - Number(b.kind === 'seen') ||
    compareTexts(JSON.stringify(a), JSON.stringify(b))
  )
}

/** One entry for each local day on which a code changed; of several records of a day the last counts. */
export function historyOf(
  { seen, codes }: Tenant,
  { dayStart }: TenancyRules,
): readonly CodesFrom[] {
  const history: CodesFrom[] = []
  const toEntry = (from: number, of: Codes): CodesFrom => {
    const { rateCode, billingCycleId, unitOfMeasure } = of
    return { from, rateCode, billingCycleId, unitOfMeasure }
  }
  const isSame = (a: CodesFrom | undefined, b: CodesFrom) =>
    a !== undefined && JSON.stringify({ ...a, from: 0 }) === JSON.stringify({ ...b, from: 0 })
  for (const record of seen) {
    const entry = toEntry(history.length === 0 ? 0 : dayStart(record.at), record)
    if (history.at(-1)?.from === entry.from && history.length > 1) history.pop()
    if (!isSame(history.at(-1), entry)) history.push(entry)
  }
  return history.length === 0 ? [toEntry(0, codes)] : history
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Clients who left within a day of each other left together. */
const togetherMs = 86_400_000

/** The account is in use: those who were the last to leave have not left. */
export function reopened(client: Client, leftAt: number): Client {
  const isLast = client.end !== undefined && client.end.at > leftAt - togetherMs
  return isLast ? { ...client, end: undefined } : client
}
