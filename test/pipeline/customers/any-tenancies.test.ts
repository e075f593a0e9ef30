import fc from 'fast-check'
import t from 'tap'
import type { Fact } from '../../../pipeline/customers/facts.js'
import { anyAccount, ever } from '../../../pipeline/customers/holds.js'
import { randomFrom, runs } from '../../rig/sample.js'
import { sampled } from '../../schemas/sampled.js'
import { anyHistory, type History, type HistoryRead, instantOfHour, metersOf } from './histories.js'
import { ownersOf } from './owners.js'
import { codes, derive, ended, factsOf, leave } from './tenancy-facts.js'

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
    if (kind === 'bill') return { ...where, accountNumber, kind, at, last, weight }
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

const hours = Array.from({ length: 50 }, (_, day) => day * 24 + 12)
/** Under no account, or under one that no client has: they say nothing of tenancies. */
const silentReads = Object.entries(metersOf).flatMap(([site, meters]) =>
  meters.flatMap((meter) =>
    hours.flatMap((hour) =>
      ['X', ''].map((account): HistoryRead => ({ account, site, meter, hour })),
    ),
  ),
)

/** Reads whose clients are not those of the model, or that are in two tenancies. */
function differences(history: History): readonly object[] {
  const tenancies = derive(factsOf(history))
  const known = new Set(tenancies.map(({ accountNumber }) => accountNumber))
  return [...silentReads, ...history.usage.flat()].flatMap((read) => {
    const at = instantOfHour(read.hour)
    const found = tenancies
      .filter((one) => one.meterId === read.meter && one.externalSiteId === read.site)
      .flatMap(({ holds }) => holds)
      .filter(({ accountNumber, from, to }) => {
        const isAny = accountNumber === anyAccount && !known.has(read.account)
        return (accountNumber === read.account || isAny) && from <= at && at < to
      })
    const clients = found.flatMap(({ clientIds }) => clientIds)
    const { must, may, readers } = ownersOf(history, read)
    const isMissed = must.some((client) => !clients.includes(client))
    const isForeign = clients.some((client) => ![...may, ...readers].includes(client))
    return isMissed || isForeign || found.length > 1 ? [{ read, clients, must, may }] : []
  })
}

t.test('in any history each read is of those whom an independent model names', async (t) => {
  const first = Date.now() & 0x7fffffff
  const count = runs(50, 10_000)
  t.comment(`seeds from ${first}, ${count} histories`)
  for (let seed = first; seed < first + count; seed++) {
    const history = anyHistory(randomFrom(seed))
    const [wrong] = differences(history)
    if (wrong === undefined) continue
    t.fail(`seed ${seed}`, { ...wrong, history: JSON.stringify(history) })
    break
  }
})
