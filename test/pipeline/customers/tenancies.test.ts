import fc from 'fast-check'
import t from 'tap'
import {
  type Fact,
  findShared,
  type SeenFact,
  toTenancies,
} from '../../../pipeline/customers/tenancies.js'
import { sampled } from '../../schemas/sampled.js'

const codes = {
  meterType: 'Electric',
  unitOfMeasure: 'kWh',
  rateCode: 'R',
  billingCycleId: '1',
  isAMI: true,
  acctStatus: 'A',
}
const place = { meterId: 'M', externalSiteId: 'S' }
const seen = (clientId: string, accountNumber: string, at: number): SeenFact => ({
  kind: 'seen',
  ...place,
  ...codes,
  clientId,
  accountNumber,
  at,
})
const start = (kind: 'usage' | 'bill', accountNumber: string, at: number): Fact => ({
  kind,
  ...place,
  accountNumber,
  at,
})
const stretches = (facts: readonly Fact[]) =>
  toTenancies(facts).map(({ accountNumber, clientIds, validFrom, validTo, startedBy }) => {
    return [accountNumber, clientIds.join('+'), validFrom, validTo, startedBy]
  })

t.test('the first known tenancy has no start, and the last no end', async (t) => {
  t.same(stretches([seen('c', 'A', 50)]), [['A', 'c', undefined, undefined, 'first']])
})

t.test('a new account starts with its bill, else its usage, else when it was seen', async (t) => {
  const both = [seen('c', 'A', 50), seen('d', 'B', 90)]
  const from = (...more: Fact[]) => stretches([...both, ...more])[1]?.slice(2)
  t.same(from(), [90, undefined, 'seen'])
  t.same(from(start('usage', 'B', 70), start('usage', 'B', 75)), [70, undefined, 'usage'])
  t.same(from(start('usage', 'B', 70), start('bill', 'B', 80)), [80, undefined, 'bill'])
  t.same(stretches(both)[0], ['A', 'c', undefined, 90, 'first'])
})

t.test('several clients with one account are one tenancy', async (t) => {
  const [tenancy, ...others] = toTenancies([seen('d', 'A', 60), seen('c', 'A', 50)])
  t.same(others, [])
  t.match(tenancy, { clientIds: ['c', 'd'], sharedAt: 60 })
})

t.test('a client of the account at another meter of the premise is found once', async (t) => {
  const facts = [seen('c', 'A', 50), { ...seen('d', 'A', 60), meterId: 'N' }]
  const shared = findShared(facts)
  t.same(shared, [
    { kind: 'shared', ...place, accountNumber: 'A', clientId: 'd', at: 60 },
    { kind: 'shared', ...place, meterId: 'N', accountNumber: 'A', clientId: 'c', at: 50 },
  ])
  t.same(findShared([...facts, ...shared]), [])
  const [tenancy] = toTenancies([seen('c', 'A', 50), ...shared.slice(0, 1)])
  t.match(tenancy, { clientIds: ['c', 'd'], sharedAt: 60 })
})

t.test('clients without account number never share', async (t) => {
  t.same(stretches([seen('c', '', 50), seen('d', '', 60)]), [
    ['', 'c', undefined, 60, 'first'],
    ['', 'd', 60, undefined, 'seen'],
  ])
  t.same(findShared([seen('c', '', 50), { ...seen('d', '', 60), meterId: 'N' }]), [])
})

t.test('an old tenant who registers after the new one is still the old tenant', async (t) => {
  const facts = [seen('new', 'B', 50), seen('old', 'A', 60)]
  const usage = [start('usage', 'A', 10), start('usage', 'B', 30)]
  t.same(stretches([...facts, ...usage]), [
    ['A', 'old', undefined, 30, 'first'],
    ['B', 'new', 30, undefined, 'usage'],
  ])
})

t.test('one who turns out to have ended before he began holds nothing', async (t) => {
  const facts = [seen('a', 'A', 10), seen('b', 'B', 60), seen('c', 'C', 70)]
  t.same(stretches([...facts, start('usage', 'C', 40)]), [
    ['A', 'a', undefined, 40, 'first'],
    ['B', 'b', 40, 40, 'seen'],
    ['C', 'c', 40, undefined, 'usage'],
  ])
})

const anyFact: fc.Arbitrary<Fact> = fc
  .record({
    kind: fc.constantFrom('seen' as const, 'seen' as const, 'usage' as const, 'bill' as const),
    externalSiteId: fc.constantFrom('S', 'T'),
    accountNumber: fc.constantFrom('A', 'B', 'C', 'D', ''),
    clientId: fc.constantFrom('1', '2', '3'),
    rateCode: fc.constantFrom('R', 'Q'),
    at: fc.nat(20),
  })
  .map(({ kind, clientId, rateCode, externalSiteId, accountNumber, at }) => {
    const where = { meterId: 'M', externalSiteId, accountNumber, at }
    return kind === 'seen' ? { ...where, ...codes, kind, clientId, rateCode } : { ...where, kind }
  })

t.test('whatever the facts, each instant of a site belongs to exactly one tenancy', async (t) => {
  sampled(
    t,
    fc.property(fc.array(anyFact, { maxLength: 14 }), (facts) => {
      const tenancies = toTenancies(facts)
      for (const site of ['S', 'T']) {
        const own = tenancies.filter(({ externalSiteId }) => externalSiteId === site)
        const isKnown = facts.some((one) => one.kind === 'seen' && one.externalSiteId === site)
        if (isKnown !== own.length > 0) return false
        for (let at = -1; isKnown && at < 23; at++) {
          const holders = own.filter(({ validFrom = -2, validTo = 99 }) => {
            return validFrom <= at && at < validTo
          })
          if (holders.length !== 1) return false
        }
      }
      return true
    }),
  )
})

t.test('neither the order of the facts nor a repetition says anything', async (t) => {
  const shuffled = fc
    .array(anyFact, { maxLength: 12 })
    .chain((facts) =>
      fc.tuple(
        fc.constant(facts),
        fc.shuffledSubarray([...facts, ...facts], { minLength: facts.length * 2 }),
      ),
    )
  const sorted = (facts: readonly Fact[]) =>
    toTenancies(facts)
      .map((tenancy) => JSON.stringify(tenancy))
      .sort()
  sampled(
    t,
    fc.property(shuffled, ([facts, again]) => {
      return JSON.stringify(sorted(facts)) === JSON.stringify(sorted(again))
    }),
  )
})

t.test('every client who was seen is in the tenancy of the account', async (t) => {
  sampled(
    t,
    fc.property(fc.array(anyFact, { maxLength: 12 }), (facts) => {
      const tenancies = toTenancies(facts)
      return facts.every(
        (fact) =>
          fact.kind !== 'seen' ||
          tenancies.filter(
            (one) =>
              one.externalSiteId === fact.externalSiteId &&
              one.accountNumber === fact.accountNumber &&
              one.clientIds.includes(fact.clientId),
          ).length === 1,
      )
    }),
  )
})
