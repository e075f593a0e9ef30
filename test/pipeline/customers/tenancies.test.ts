import t from 'tap'
import type { Fact } from '../../../pipeline/customers/facts.js'
import { anyAccount } from '../../../pipeline/customers/holds.js'
import { type Tenancy, toTenancies } from '../../../pipeline/customers/tenancies.js'
import { bill, derive, ended, leave, rules, seen, usage } from './tenancy-facts.js'

/** Whose a read under an account is at an instant. */
function ownersOf(tenancies: readonly Tenancy[], accountNumber: string, at: number) {
  const found = tenancies.flatMap(({ holds }) =>
    holds.filter((hold) => {
      return hold.accountNumber === accountNumber && hold.from <= at && at < hold.to
    }),
  )
  return found.flatMap(({ clientIds }) => clientIds).join('+')
}

interface Case {
  readonly facts: readonly Fact[]
  /** Start, end and its evidence of each account. */
  readonly times?: Readonly<Record<string, readonly unknown[]>>
  /** `account@instant` to clients. */
  readonly owners?: Readonly<Record<string, string>>
}

const cases: Readonly<Record<string, Case>> = {
  'a read under an account is his who has the account, whenever he registered': {
    facts: [seen('c', 'A', 50)],
    times: { A: [undefined, undefined, ''] },
    owners: { 'A@1': 'c', 'A@99': 'c', 'B@60': '' },
  },
  'a read without an account is his from his first read or his registration': {
    facts: [seen('c', 'A', 50)],
    owners: { '@49': '', '@50': 'c' },
  },
  'a first read under the account comes before the registration': {
    facts: [seen('c', 'A', 50), usage('A', 30)],
    owners: { '@29': '', '@30': 'c' },
  },
  'a bill says since when the meter is his': {
    facts: [seen('c', 'A', 50), bill('A', 40), usage('A', 30)],
    owners: { '@39': '', '@40': 'c', 'A@30': 'c' },
  },
  'reads under an account that no client has end nothing': {
    facts: [seen('c', 'A', 50), usage('A', 10), usage('B', 60, 90)],
    times: { A: [undefined, undefined, ''] },
    owners: { 'B@60': '', 'A@70': 'c', '@70': 'c' },
  },
  'a bill under a new account ends the tenancy, also where no client has it': {
    facts: [seen('c', 'A', 50), usage('A', 10), bill('B', 60)],
    times: { A: [undefined, 60, 'bill'] },
    owners: { '@59': 'c', '@60': '' },
  },
  'a bill under an account from before ends nothing': {
    facts: [seen('c', 'A', 50), bill('A', 40), bill('Z', 5)],
    times: { A: [40, undefined, ''] },
  },
  'a new account in a record ends the one before where its first read lies': {
    facts: [seen('c', 'A', 50), usage('A', 10), seen('d', 'B', 90), usage('B', 70)],
    times: { A: [undefined, 70, 'usage'], B: [70, undefined, ''] },
    owners: { 'A@69': 'c', 'B@70': 'd', '@69': 'c', '@70': 'd' },
  },
  'an old tenant who registers after the new one is still the old tenant': {
    facts: [seen('new', 'B', 50), usage('B', 30), seen('old', 'A', 60), usage('A', 10)],
    times: { A: [undefined, 30, 'usage'], B: [30, undefined, ''] },
    owners: { '@20': 'old', '@40': 'new' },
  },
  'reads under the old account behind the end take a move back': {
    facts: [seen('c', 'A', 50), usage('A', 10, 65), bill('B', 60)],
    times: { A: [undefined, undefined, ''] },
    owners: { 'A@65': 'c', '@65': '' },
  },
  'a record that lists the meter again takes a move back': {
    facts: [seen('c', 'A', 50), usage('A', 10), bill('B', 60), seen('c', 'A', 70)],
    times: { A: [undefined, undefined, ''] },
  },
  'a first record after the bill of a later account does not take the move back': {
    facts: [seen('c', 'A', 70), usage('A', 10), bill('B', 60)],
    times: { A: [undefined, 60, 'bill'] },
  },
  'a termination is taken back by neither reads nor records': {
    facts: [seen('c', 'A', 50), usage('A', 10, 80), ended('A', 60), seen('c', 'A', 70)],
    times: { A: [undefined, 60, 'terminated'] },
    owners: { 'A@59': 'c', 'A@60': '' },
  },
  'of several terminations the latest counts': {
    facts: [seen('c', 'A', 50), ended('A', 60, 2), ended('A', 40, 1)],
    times: { A: [undefined, 60, 'terminated'] },
  },
  'a termination of another premise or meter is not this one': {
    facts: [
      seen('c', 'A', 50),
      ended('A', 60, 1, { externalSiteId: 'T', meterId: '' }),
      ended('A', 61, 1, { externalSiteId: '', meterId: 'N' }),
    ],
    times: { A: [undefined, undefined, ''] },
  },
  'a record that no longer has the site ends the tenancy': {
    facts: [seen('c', 'A', 50), leave('gone', 'c', 'A', 60)],
    times: { A: [undefined, 60, 'gone'] },
    owners: { 'A@59': 'c', '@59': 'c', '@60': '' },
  },
  'a record that has another meter there says that the meter was exchanged': {
    facts: [
      seen('c', 'A', 50),
      leave('gone', 'c', 'A', 60),
      seen('c', 'A', 60, { meterId: 'N' }),
      usage('A', 58, 58, { meterId: 'N' }),
    ],
    times: { A: [undefined, 60, 'exchanged'] },
  },
  'a closed status ends the tenancy, an open one again takes that back': {
    facts: [seen('c', 'A', 50), seen('c', 'A', 60, { acctStatus: 'F' })],
    times: { A: [undefined, 60, 'closed'] },
  },
  'an answer of 86 ends the tenancy': {
    facts: [seen('c', 'A', 50), leave('closed', 'c', 'A', 60)],
    times: { A: [undefined, 60, 'closed'] },
  },
  'a record with an open status opens the account again': {
    facts: [seen('c', 'A', 50), leave('closed', 'c', 'A', 60), seen('c', 'A', 70)],
    times: { A: [undefined, undefined, ''] },
    owners: { '@65': 'c' },
  },
  'clients with one account and site share it, each as long as he has it': {
    facts: [
      seen('c', 'A', 50),
      seen('d', 'A', 55),
      leave('gone', 'c', 'A', 60),
      usage('A', 10, 90),
    ],
    times: { A: [undefined, undefined, ''] },
    owners: { 'A@20': 'c+d', 'A@59': 'c+d', 'A@60': 'd' },
  },
  'a client who was unregistered sees nothing': {
    facts: [seen('c', 'A', 50), leave('left', 'c', 'A', 60)],
    owners: { 'A@20': '', '@55': '' },
  },
  'and everything once he registers again': {
    facts: [seen('c', 'A', 50), leave('left', 'c', 'A', 60), seen('c', 'A', 70)],
    owners: { 'A@20': 'c' },
  },
  'another account of the same client is a new number, without a gap': {
    facts: [seen('c', 'A', 50), seen('c', 'B', 80), usage('A', 10, 72), usage('B', 70)],
    times: { A: [undefined, 70, 'renumbered'], B: [70, undefined, ''] },
    owners: { 'A@20': 'c', 'A@72': 'c', 'B@70': 'c', '@69': 'c', '@70': 'c' },
  },
  'an exchanged meter that no record lists yet is his by its account': {
    facts: [seen('c', 'A', 50, { meterId: 'N' }), usage('A', 60)],
    times: { A: [60, undefined, ''] },
    owners: { 'A@60': 'c' },
  },
  'readUnder shows reads of another account, within the tenancy': {
    facts: [
      seen('landlord', 'L', 50, { readUnder: [{ accountNumber: 'X', from: 20, to: 70 }] }),
      leave('gone', 'landlord', 'L', 60),
      usage('X', 10, 90),
    ],
    times: { L: [50, 60, 'gone'] },
    owners: { 'X@19': '', 'X@20': 'landlord', 'X@59': 'landlord', 'X@60': '', 'Y@30': '' },
  },
  'a read that readUnder lists and that has a client is of both': {
    facts: [
      seen('landlord', 'L', 50, { readUnder: [{ accountNumber: 'X', from: 0, to: 99 }] }),
      seen('tenant', 'X', 50),
    ],
    owners: { 'X@30': 'landlord+tenant', 'L@30': 'landlord' },
  },
  'a client without account number has what nobody else has at his meter': {
    facts: [seen('x', '', 50), seen('y', '', 60), seen('c', 'A', 55, { meterId: 'N' })],
    owners: { [`${anyAccount}@1`]: 'x', '@49': '', '@50': 'x', '@60': 'y' },
  },
}

for (const [name, { facts, times = {}, owners = {} }] of Object.entries(cases)) {
  t.test(name, async (t) => {
    const tenancies = derive(facts).filter(({ meterId }) => meterId === 'M')
    for (const [account, time] of Object.entries(times)) {
      const one = tenancies.find(({ accountNumber }) => accountNumber === account)
      t.same([one?.validFrom, one?.validTo, one?.endedBy], time, account)
    }
    for (const [read, owner] of Object.entries(owners)) {
      const [account = '', at] = read.split('@')
      t.equal(ownersOf(tenancies, account, Number(at)), owner, JSON.stringify(read))
    }
  })
}

t.test('codes have a history by local day; the first ones hold for all time before', async (t) => {
  const facts = [
    seen('c', 'A', 50),
    seen('c', 'A', 60, { rateCode: 'Q' }),
    seen('c', 'A', 61, { rateCode: 'P' }),
    seen('c', 'A', 75, { rateCode: 'P', acctStatus: 'D' }),
  ]
  const byTen = { ...rules, dayStart: (at: number) => at - (at % 10) }
  const [tenancy] = toTenancies(facts, byTen)
  t.same(
    tenancy?.history.map(({ from, rateCode }) => [from, rateCode]),
    [
      [0, 'R'],
      [60, 'P'],
    ],
  )
})
