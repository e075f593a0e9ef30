import type { Fact, LeaveFact, SeenFact } from '../../../pipeline/customers/facts.js'
import { toTenancies } from '../../../pipeline/customers/tenancies.js'

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
  return { kind: 'bill', ...place, accountNumber, at, last }
}
export const ended = (accountNumber: string, at: number, order = 1, more = {}): Fact => {
  return { kind: 'ended', ...place, accountNumber, at, order, weight: 1, ...more }
}

export const rules = { isClosed: (status: string) => status === 'F', dayStart: (at: number) => at }
export const derive = (facts: readonly Fact[]) => toTenancies(facts, rules)
