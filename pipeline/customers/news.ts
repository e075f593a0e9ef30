import type { ReadUnderDays } from '../../schemas/gateway/customer.js'
import type { Registration } from '../../schemas/gateway/registration.js'
import { groupBy } from '../../schemas/lists/group-by.js'
import { addDays, type Zone } from '../../schemas/time/zone.js'
import { codesOf, type MeterPlace, type ReadUnder, type SeenFact } from './facts.js'
import { ever } from './holds.js'
import { placeKey, type RecordFact, toPlace } from './stored-facts.js'
import type { StoredTenancy } from './stored-tenancies.js'
import { compareTexts } from './tenants.js'

/** What is known when records are looked through. */
export interface Known {
  readonly known: readonly RecordFact[]
  readonly stored: readonly StoredTenancy[]
  readonly now: number
  readonly zone: Zone
}

/**
 * What records say that the latest facts do not: new or changed meters, meters that are listed again
 * after an end, and those that a record does not list any more, except at sites of which it lost
 * something. A later fact of a meter has a later instant, even where the clocks of machines differ.
 */
export function findNews(
  customers: readonly Registration[],
  { known, stored, now, zone }: Known,
): readonly RecordFact[] {
  const latest = new Map(latestOf(known).map((fact) => [keyOf(fact), fact]))
  const lastAt = new Map<string, number>()
  for (const { meterId, at } of known) lastAt.set(meterId, Math.max(lastAt.get(meterId) ?? 0, at))
  const ended = new Set(stored.filter(isDoubted(now)).map(({ row }) => placeKey(toPlace(row))))
  const news = new Map<string, RecordFact>()
  const nextAt = (meterId: string) => Math.max(now, (lastAt.get(meterId) ?? 0) + 1)
  for (const { clientId, acctStatus, partialSites = [], meters } of customers) {
    for (const { readUnder = [], ...meter } of meters) {
      const at = nextAt(meter.meterId)
      const under = readUnder.map((span) => toReadUnder(span, zone))
      const fact: SeenFact = { kind: 'seen', clientId, acctStatus, ...meter, at, readUnder: under }
      const before = latest.get(keyOf(fact))
      if (before?.kind === 'seen' && isSame(before, fact) && !ended.has(placeKey(fact))) {
        news.delete(keyOf(fact))
        continue
      }
      news.set(keyOf(fact), fact)
      lastAt.set(meter.meterId, at)
    }
    const listed = new Set(meters.map((meter) => keyOf({ clientId, ...meter })))
    for (const fact of latest.values()) {
      if (fact.clientId !== clientId || fact.kind !== 'seen' || listed.has(keyOf(fact))) continue
      const { meterId, externalSiteId, accountNumber } = fact
      if (partialSites === 'all' || partialSites.includes(externalSiteId)) continue
      const at = nextAt(meterId)
      const gone = { kind: 'gone', meterId, externalSiteId, accountNumber, clientId, at } as const
      news.set(keyOf(fact), gone)
    }
  }
  return [...news.values()]
}

/** Whole local days, both inclusive; a day that is not named sets no limit. */
function toReadUnder({ accountNumber, from, to }: ReadUnderDays, zone: Zone): ReadUnder {
  return {
    accountNumber,
    from: from === undefined ? ever.from : zone.dayStart(from) * 1_000,
    to: to === undefined ? ever.to : zone.dayStart(addDays(to, 1)) * 1_000,
  }
}

/** The latest fact of each client at each place. */
export function latestOf(known: readonly RecordFact[]): readonly RecordFact[] {
  return groupBy(known, keyOf).map((facts) => {
    return [...facts].sort((a, b) => b.at - a.at || compareTexts(a.kind, b.kind))[0] as RecordFact
  })
}

/** An end by the evidence of others, which a record that lists the meter now takes back. */
function isDoubted(now: number): (tenancy: StoredTenancy) => boolean {
  return ({ row }) => {
    const isByOthers = ['bill', 'usage', 'seen'].includes(row.ended_by)
    return isByOthers && row.valid_to !== null && Date.parse(`${row.valid_to}Z`) < now
  }
}

function keyOf(fact: MeterPlace & { readonly clientId: string }): string {
  return JSON.stringify([fact.clientId, fact.accountNumber, fact.externalSiteId, fact.meterId])
}

function isSame(a: SeenFact, b: SeenFact): boolean {
  const textOf = (fact: SeenFact) => JSON.stringify([codesOf(fact), fact.readUnder])
  return textOf(a) === textOf(b)
}
