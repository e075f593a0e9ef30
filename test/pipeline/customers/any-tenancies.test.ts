import fc from 'fast-check'
import t from 'tap'
import type { Fact } from '../../../pipeline/customers/facts.js'
import { anyAccount, ever } from '../../../pipeline/customers/holds.js'
import { sampled } from '../../schemas/sampled.js'
import { codes, derive, ended, leave } from './tenancy-facts.js'

const anyPlace = { externalSiteId: fc.constantFrom('S', 'T'), meterId: fc.constantFrom('M', 'N') }
const anyAccountNumber = fc.constantFrom('A', 'B', 'C', '')
const anyFact: fc.Arbitrary<Fact> = fc
  .record({
    kind: fc.constantFrom(
      ...(['seen', 'seen', 'seen', 'usage', 'bill', 'ended', 'gone', 'closed', 'left'] as const),
    ),
    ...anyPlace,
    accountNumber: anyAccountNumber,
    clientId: fc.constantFrom('1', '2', '3'),
    acctStatus: fc.constantFrom('A', 'A', 'F'),
    under: fc.option(fc.constantFrom('A', 'X')),
    at: fc.nat(20),
    length: fc.nat(9),
  })
  .map(({ kind, clientId, acctStatus, under, at, length, ...where }): Fact => {
    const [last, weight, order] = [at + length, 1, length]
    const accountNumber = where.accountNumber || 'A'
    if (kind === 'usage')
      return { ...where, accountNumber, kind, at, last, weight, commodity: 'Electric' }
    if (kind === 'bill') return { ...where, accountNumber, kind, at, last }
    if (kind === 'ended') return { ...where, accountNumber, kind, at, order, weight }
    if (kind !== 'seen') return { ...where, kind, clientId, at }
    const readUnder = under === null ? [] : [{ accountNumber: under, from: at, to: last }]
    return { ...where, ...codes, kind, clientId, acctStatus, at, readUnder }
  })
const anyFacts = fc.array(anyFact, { maxLength: 16 })

t.test('neither the order of the facts nor a repetition says anything', async (t) => {
  const shuffled = anyFacts.chain((facts) =>
    fc.tuple(
      fc.constant(facts),
      fc.shuffledSubarray([...facts, ...facts], { minLength: facts.length * 2 }),
    ),
  )
  const sorted = (facts: readonly Fact[]) =>
    derive(facts)
      .map((tenancy) => JSON.stringify(tenancy))
      .sort()
  sampled(
    t,
    fc.property(shuffled, ([facts, again]) => {
      return JSON.stringify(sorted(facts)) === JSON.stringify(sorted(again))
    }),
  )
})

t.test(
  'whatever the facts, a read has one tenancy at the most, and clients of its account only',
  async (t) => {
    const isHere = (a: { meterId: string; externalSiteId: string }, b: typeof a) =>
      a.meterId === b.meterId && a.externalSiteId === b.externalSiteId
    sampled(
      t,
      fc.property(anyFacts, (facts) => {
        const records = facts.filter((fact) => fact.kind === 'seen')
        const tenancies = derive(facts)
        return tenancies.every((tenancy) =>
          tenancy.holds.every(({ accountNumber, from, to, clientIds }) => {
            const others = tenancies
              .filter((one) => isHere(one, tenancy))
              .flatMap((one) => one.holds)
              .filter(
                (one) => one.accountNumber === accountNumber && one.from < to && one.to > from,
              )
            const isUnnamed = accountNumber === '' || accountNumber === anyAccount
            const isTheirs = clientIds.every((clientId) => {
              const own = records.filter((record) => {
                return (
                  record.clientId === clientId && record.externalSiteId === tenancy.externalSiteId
                )
              })
              const listed = own
                .flatMap((record) => record.readUnder)
                .filter((under) => under.accountNumber === accountNumber)
              // Ranges that several records list may follow each other within one hold.
              const instants = [from, ...listed.map((under) => under.to)].filter((at) => {
                return at >= from && at < to
              })
              const isListed = instants.every((at) => {
                return listed.some((under) => under.from <= at && under.to > at)
              })
              const isNamed = own.some((record) => record.accountNumber === accountNumber)
              return own.length > 0 && (isUnnamed || isNamed || isListed)
            })
            return others.length === 1 && isTheirs && from < to && to <= ever.to
          }),
        )
      }),
    )
  },
)

t.test(
  'nobody holds anything of an account behind its termination, or after he has left',
  async (t) => {
    sampled(
      t,
      fc.property(anyFacts, (facts) => {
        const all: Fact[] = [...facts, ended('A', 5, 99, { externalSiteId: '', meterId: '' })]
        for (const accountNumber of ['A', 'B', 'C', '']) {
          for (const externalSiteId of ['S', 'T']) {
            for (const meterId of ['M', 'N']) {
              all.push({ ...leave('left', '1', accountNumber, 99), externalSiteId, meterId })
            }
          }
        }
        return derive(all).every(({ holds }) =>
          holds.every(({ accountNumber, to, clientIds, billedTo }) => {
            return (
              !clientIds.includes('1') && !(accountNumber === 'A' && billedTo.length > 0 && to > 5)
            )
          }),
        )
      }),
    )
  },
)
