import type { Fact, LeaveFact, SeenFact } from '../../../pipeline/customers/facts.js'
import { toTenancies } from '../../../pipeline/customers/tenancies.js'
import {
  endOfDay,
  firstDay,
  type History,
  instantOfBill,
  instantOfHour,
  instantOfRound,
  metersOf,
  type Sight,
} from './histories.js'

export const codes = {
  meterType: 'Electric',
  unitOfMeasure: 'kWh',
  rateCode: 'R',
  billingCycleId: '1',
  isAMI: true,
  acctStatus: 'A',
}
const place = { meterId: 'M', externalSiteId: 'S' }
export const seen = (clientId: string, accountNumber: string, at: number, more = {}): SeenFact => ({
  kind: 'seen',
  ...place,
  ...codes,
  clientId,
  accountNumber,
  at,
  readUnder: [],
  ...more,
})
export const leave = (
  kind: LeaveFact['kind'],
  clientId: string,
  accountNumber: string,
  at: number,
) => ({ kind, ...place, clientId, accountNumber, at }) satisfies Fact
export const usage = (accountNumber: string, at: number, last = at, more = {}): Fact => ({
  kind: 'usage',
  ...place,
  accountNumber,
  commodity: 'Electric',
  at,
  last,
  weight: 1,
  ...more,
})
export const bill = (accountNumber: string, at: number, last = at): Fact => {
  return { kind: 'bill', ...place, accountNumber, at, last, weight: 1 }
}
export const ended = (accountNumber: string, at: number, order = 1, more = {}): Fact => {
  return { kind: 'ended', ...place, accountNumber, at, order, weight: 1, ...more }
}

export const rules = { isClosed: (status: string) => status === 'F', dayStart: (at: number) => at }
export const derive = (facts: readonly Fact[]) => toTenancies(facts, rules)

/** The facts that a store would have of a history. */
export function factsOf(history: History): readonly Fact[] {
  const reads = history.usage.flat().filter(({ account }) => account !== '')
  const places = new Map(reads.map((one) => [`${one.account} ${one.site} ${one.meter}`, one]))
  const named = [...places.values()].map(({ account, site, meter }) => {
    const own = reads.filter((one) => one.account === account && one.meter === meter)
    const at = own.map(({ hour }) => instantOfHour(hour))
    const where = { externalSiteId: site, meterId: meter }
    return usage(account, Math.min(...at), Math.max(...at), where)
  })
  const bills = history.bills.map((one) => {
    const at = instantOfBill(one)
    return { ...bill(one.account, at), externalSiteId: one.site, meterId: one.meter }
  })
  const ends = history.terminations.map(({ account, site, day }) => {
    return ended(account, endOfDay(day), 1, { externalSiteId: site, meterId: '' })
  })
  return [...recordFacts(history), ...named, ...bills, ...ends]
}

function recordFacts({ rounds }: History): readonly Fact[] {
  const facts: Fact[] = []
  /** Places of a client that the latest record lists, and those that he was not unregistered at. */
  const listed = new Set<string>()
  const known = new Set<string>()
  for (const [round, sights] of rounds.entries()) {
    const at = instantOfRound(round)
    for (const sight of sights) {
      const own = sight.kind === 'record' ? placesOf(sight) : []
      const ofClient = (set: Set<string>) =>
        [...set].filter((one) => (JSON.parse(one) as string[])[0] === sight.client)
      const gone = ofClient(sight.kind === 'left' ? known : listed).filter(
        (one) => !own.includes(one),
      )
      for (const one of gone) {
        const [client = '', account = '', site = '', meter = ''] = JSON.parse(one) as string[]
        const kind = sight.kind === 'record' ? 'gone' : sight.kind
        facts.push({ ...leave(kind, client, account, at), externalSiteId: site, meterId: meter })
        listed.delete(one)
        if (kind === 'left') known.delete(one)
      }
      for (const one of own) {
        const [client = '', account = '', site = '', meter = ''] = JSON.parse(one) as string[]
        const where = { externalSiteId: site, meterId: meter }
        const more = { acctStatus: sight.status, readUnder: underOf(sight), ...where }
        facts.push(seen(client, account, at, more))
        listed.add(one)
        known.add(one)
      }
    }
  }
  return facts
}

function placesOf({ client, places }: Sight): readonly string[] {
  return places.flatMap(({ account, site }) =>
    (metersOf[site] ?? []).map((meter) => JSON.stringify([client, account, site, meter])),
  )
}

function underOf({ under }: Sight) {
  if (under === undefined) return []
  const from = under.from === undefined ? firstDay - 1 : endOfDay(under.from - 1)
  const to = under.to === undefined ? endOfDay(99) : endOfDay(under.to)
  return from < to ? [{ accountNumber: under.account, from, to }] : []
}
