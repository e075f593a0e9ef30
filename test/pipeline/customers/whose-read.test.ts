import t from 'tap'
import { learnAccounts, register } from '../../../pipeline/customers/registrations.js'
import {
  type At,
  customerAt,
  migratedStore,
  publishReads,
  type ReadAt,
  registeringAt,
  withoutStaging,
} from './registering.js'

const store = await migratedStore(t)
const context = registeringAt(store)

type Who = Omit<At, 'meterId'> & { readonly meterId?: string }
/** Hour of 1 March, account, and site where it is not S. */
type Read = readonly [hour: number, accountNumber: string, externalSiteId?: string]

interface Case {
  readonly says: string
  /** In the order in which the gateway sees them. */
  readonly known: readonly Who[]
  readonly reads: readonly Read[]
  /** By hour whose the read is; a read of nobody is not there. */
  readonly owners: Readonly<Record<number, string>>
}

const olga: Who = { clientId: 'olga', accountNumber: '100' }
const nina: Who = { clientId: 'nina', accountNumber: '200' }
const noah: Who = { clientId: 'noah', accountNumber: '200' }
const without = (clientId: string): Who => ({ clientId, accountNumber: '' })

const cases: readonly Case[] = [
  {
    says: 'a read is of the registration that has its account, site and meter',
    known: [olga],
    reads: [[1, '100']],
    owners: { 1: 'olga' },
  },
  {
    says: 'a meter that no record lists is of the account at the site: it may have been exchanged',
    known: [olga, { ...nina, meterId: 'elsewhere' }],
    reads: [
      [1, '100'],
      [2, '200'],
    ],
    owners: { 1: 'olga', 2: 'nina' },
  },
  {
    says: 'a known account at a site that is not its own is nobody’s',
    known: [olga],
    reads: [[1, '100', 'T']],
    owners: {},
  },
  {
    says: 'an unknown account at a site that nobody has registered is nobody’s',
    known: [olga],
    reads: [[1, '?', 'T']],
    owners: {},
  },
  {
    says: 'reads under an account that no client has are nobody’s, at any time',
    known: [olga],
    reads: [
      [1, '?'],
      [2, '100'],
      [3, '?'],
    ],
    owners: { 2: 'olga' },
  },
  {
    says: 'reads without an account are his since his first read under it',
    known: [olga],
    reads: [
      [1, ''],
      [2, '100'],
      [3, ''],
    ],
    owners: { 2: 'olga', 3: 'olga' },
  },
  {
    says: 'an old tenant who becomes known too gets his reads, and the new one none of them',
    known: [nina, olga],
    reads: [
      [1, '100'],
      [2, ''],
      [3, '200'],
      [4, ''],
    ],
    owners: { 1: 'olga', 2: 'olga', 3: 'nina', 4: 'nina' },
  },
  {
    says: 'late reads go to whose account they have, on either side of the move',
    known: [olga, nina],
    reads: [
      [1, '100'],
      [5, '200'],
      [6, '100'],
      [7, ''],
    ],
    owners: { 1: 'olga', 5: 'nina', 6: 'olga', 7: 'nina' },
  },
  {
    says: 'a new account that no file shows starts when it was seen',
    known: [olga, nina],
    reads: [
      [1, '100'],
      [2, ''],
    ],
    owners: { 1: 'olga', 2: 'olga' },
  },
  {
    says: 'clients with one account and site share it: a read stays one row',
    known: [olga, nina, noah],
    reads: [
      [1, '100'],
      [2, '200'],
      [3, ''],
    ],
    owners: { 1: 'olga', 2: 'nina+noah', 3: 'nina+noah' },
  },
  {
    says: 'who shares the account of a premise shares all its meters',
    known: [nina, { ...nina, meterId: 'other' }, { ...noah, meterId: 'other' }],
    reads: [[1, '200']],
    owners: { 1: 'nina+noah' },
  },
  {
    says: 'the same account number at another premise is not shared',
    known: [nina, { ...noah, meterId: 'other', externalSiteId: 'T' }],
    reads: [[1, '200']],
    owners: { 1: 'nina' },
  },
  {
    says: 'a client without account number has what no client has; without an account, from his registration on',
    known: [without('x'), without('y')],
    reads: [
      [1, '?'],
      [2, ''],
    ],
    owners: { 1: 'x' },
  },
  {
    says: 'a client without account number has no share in one that has',
    known: [olga, { ...without('x'), meterId: 'other' }],
    reads: [[1, '100']],
    owners: { 1: 'olga' },
  },
]

/** Each case has identifiers of its own, by a prefix. */
const apart = (at: string, name: string) => (name === '' ? '' : `${at}-${name}`)

for (const [index, { says, known, reads, owners }] of cases.entries()) {
  t.test(says, async (t) => {
    const at = `case${index}`
    const registerAll = async () => {
      for (const who of known) {
        const accountNumber = apart(at, who.accountNumber)
        const meterId = apart(at, who.meterId ?? 'M')
        const externalSiteId = apart(at, who.externalSiteId ?? 'S')
        const customer = customerAt({ ...who, accountNumber, meterId, externalSiteId })
        await register(context, [customer])
      }
    }
    const found = async () => {
      const rows = await store.rows<{ hour: number; who: string }>({
        sql: `SELECT toHour(starts_at) AS hour, arrayStringConcat(client_ids, '+') AS who
          FROM registered_usage WHERE meter_id = {meterId:String} ORDER BY hour`,
        parameters: { meterId: apart(at, 'M') },
      })
      t.equal(new Set(rows.map(({ hour }) => hour)).size, rows.length, 'each read is one row')
      return Object.fromEntries(rows.map(({ hour, who }) => [hour, who]))
    }
    const arrival = index + 1
    const toRead = ([hour, accountNumber, externalSiteId = 'S']: Read): ReadAt => ({
      meterId: apart(at, 'M'),
      accountNumber: apart(at, accountNumber),
      externalSiteId: apart(at, externalSiteId),
      startsAt: `2026-03-01T0${hour}:00:00Z`,
    })
    const isFileFirst = index % 2 === 0
    if (!isFileFirst) await registerAll()
    await publishReads(store, arrival, reads.map(toRead))
    await learnAccounts(context, withoutStaging(arrival))
    if (isFileFirst) await registerAll()
    t.same(await found(), owners)
    await registerAll()
    await learnAccounts(context, withoutStaging(arrival))
    t.same(await found(), owners, 'and again changes nothing')
  })
}
