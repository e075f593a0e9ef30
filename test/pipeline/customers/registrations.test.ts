import t from 'tap'
import {
  countForeign,
  foreignRows,
  registeredMeters,
} from '../../../pipeline/customers/registered.js'
import { learnAccounts, register, renewAll } from '../../../pipeline/customers/registrations.js'
import { sql } from '../../../pipeline/store/sql.js'
import { createStaging, stagingOf } from '../../../pipeline/store/staging.js'
import type { Registration } from '../../../schemas/gateway/registration.js'
import { sample } from '../../rig/sample.js'
import { statementText } from '../../rig/statements/statement-text.js'
import {
  customerAt,
  migratedStore,
  publishReads,
  registeringAt,
  toReadRows,
  withoutStaging,
} from './registering.js'

const store = await migratedStore(t)
const context = registeringAt(store)
const one = async <T>(text: string) => (await store.rows<T>({ sql: text }))[0]
const count = async (table: string) =>
  Number((await one<{ n: string }>(`SELECT count() AS n FROM ${table}`))?.n)
const tenancies = (meterId: string) =>
  store.rows({
    sql: `SELECT account_number, client_ids, valid_from, valid_to, started_by FROM tenancy FINAL
      WHERE meter_id = {meterId:String} ORDER BY valid_from NULLS FIRST, account_number`,
    parameters: { meterId },
  })

t.test('a customer becomes known, and again costs no write', async (t) => {
  const customer = customerAt({ clientId: 'c', accountNumber: 'A', meterId: 'known' })
  t.same(await register(context, [customer]), { customers: 1, changed: 1, meters: 1 })
  const [row] = await store.rows({ sql: `SELECT * FROM registration WHERE meter_id = 'known'` })
  t.match(row, {
    client_id: 'c',
    account_number: 'A',
    external_site_id: 'S',
    meter_type: 'Electric',
    unit_of_measure: 'kWh',
    rate_code: 'RES',
    billing_cycle_id: '7',
    is_ami: true,
    acct_status: 'A',
    valid_from: null,
    valid_to: null,
  })
  const watched = {
    ...context,
    store: { ...store, insert: async () => void t.fail('nothing is to be written') },
  }
  t.same(await register(watched, [customer]), { customers: 1, changed: 0, meters: 1 })
})

t.test('codes change, there and back, and the latest counts', async (t) => {
  for (const acctStatus of ['A', 'D', 'A', 'P']) {
    await register(context, [
      customerAt({ clientId: 'c', accountNumber: 'A', meterId: 'flips', acctStatus }),
    ])
    const row = await one(`SELECT acct_status FROM registration WHERE meter_id = 'flips'`)
    t.same(row, { acct_status: acctStatus })
  }
})

t.test(
  'what was left out at one site ends nothing there, and no site that is gone is spared',
  async (t) => {
    const who = { clientId: 'w', accountNumber: 'W' }
    const [at, other] = ['stays', 'leaves'].map((externalSiteId) =>
      customerAt({ ...who, meterId: `w-${externalSiteId}`, externalSiteId }),
    ) as [Registration, Registration]
    const stillThere = async () => {
      const held = await store.rows<{ meter_id: string }>({
        sql: `SELECT meter_id FROM tenancy FINAL
        WHERE meter_id IN ('w-stays', 'w-leaves') AND valid_to IS NULL ORDER BY meter_id`,
      })
      return held.map(({ meter_id }) => meter_id)
    }
    const nowhere = { clientId: 'w', acctStatus: '', meters: [] }
    await register(context, [{ ...at, meters: [...at.meters, ...other.meters] }])
    await register(context, [{ ...nowhere, partialSites: 'all' }])
    await register(context, [{ ...nowhere, partialSites: ['stays', 'leaves'] }])
    t.same(await stillThere(), ['w-leaves', 'w-stays'])
    await register(context, [{ ...nowhere, partialSites: ['stays'] }])
    t.same(await stillThere(), ['w-stays'])
    await register(context, [nowhere])
    t.same(await stillThere(), [])
  },
)

t.test('a call that died after its facts is finished by the next', async (t) => {
  const customer = customerAt({ clientId: 'c', accountNumber: 'A', meterId: 'crash' })
  const dying = {
    ...store,
    insert: async (table: string, values: readonly object[]) => {
      if (table === 'tenancy') throw new Error('killed')
      await store.insert(table, values)
    },
  }
  await t.rejects(register({ ...context, store: dying }, [customer]), /killed/)
  t.same(await tenancies('crash'), [])
  t.same((await register(context, [customer])).changed, 0, 'nothing is new')
  t.match(await tenancies('crash'), [{ account_number: 'A' }])
})

t.test('many at once at one meter leave what one after the other would', async (t) => {
  const accounts = ['A', 'B', 'C', 'D']
  const customers: Registration[] = accounts.flatMap((accountNumber) =>
    ['1', '2', '3'].map((client) =>
      customerAt({
        clientId: `${accountNumber}${client}`,
        accountNumber,
        meterId: 'crowd',
        externalSiteId: 'crowd',
      }),
    ),
  )
  // Of accounts that are seen first in the same millisecond neither follows the other.
  let tick = Date.now()
  const apart = { ...context, now: () => new Date(tick++) }
  for (let round = 0; round < sample({ short: 2, long: 5 }); round++) {
    await Promise.all([...customers, ...customers].map((customer) => register(apart, [customer])))
  }
  const found = (await tenancies('crowd')) as { client_ids: string[]; valid_from: string }[]
  t.equal(found.length, accounts.length)
  for (const { client_ids } of found) t.equal(client_ids.length, 3, 'none is lost')
  const open = `(SELECT * FROM tenancy FINAL WHERE meter_id = 'crowd' AND valid_to IS NULL)`
  t.equal(await count(open), 4, 'a record that lists the meter again takes the move back')
  const first = await count(
    `(SELECT * FROM tenancy FINAL WHERE meter_id = 'crowd' AND valid_from IS NULL)`,
  )
  t.equal(first, 1, 'one has no start')
  t.equal(await count(`tenancy_event WHERE meter_id = 'crowd' AND kind = 'shared'`), 4)
  t.equal(await count(`tenancy_event WHERE meter_id = 'crowd' AND kind = 'move'`), 3)
})

t.test('who registers at one meter of a premise shares the others, also at once', async (t) => {
  const at = (clientId: string, meterId: string) =>
    customerAt({ clientId, accountNumber: 'HOUSE', meterId, externalSiteId: 'house' })
  const customers = [at('c', 'cellar'), at('d', 'attic'), at('e', 'roof')]
  await Promise.all(customers.map((customer) => register(context, [customer])))
  for (const meterId of ['cellar', 'attic', 'roof']) {
    const [row] = await store.rows<{ client_ids: string[] }>({
      sql: `SELECT client_ids FROM tenancy FINAL WHERE meter_id = {meterId:String}`,
      parameters: { meterId },
    })
    t.same(row?.client_ids, ['c', 'd', 'e'])
  }
  t.equal(await count(`registration WHERE external_site_id = 'house'`), 3, 'as the records say')
})

t.test('random parallel changes end in the same as their facts in one go', async (t) => {
  const meters = ['mixed-0', 'mixed-1', 'mixed-2']
  const calls = Array.from({ length: sample({ short: 15, long: 120 }) }, (_, at): Registration => {
    const clientId = `c${at % 5}`
    const [first, ...others] = meters.map((meterId) =>
      customerAt({ clientId, accountNumber: `A${at % 3}`, meterId, rateCode: `R${at % 7}` }),
    ) as [Registration, ...Registration[]]
    return { ...first, meters: [...first.meters, ...others.flatMap((one) => one.meters)] }
  })
  await Promise.all(calls.map((customer) => register(context, [customer])))
  const stored = () =>
    store.rows({
      sql: `SELECT * EXCEPT (change, changed_at, holds), arrayMap(h -> (h.1, h.2, h.3, h.4), holds) AS held
        FROM tenancy FINAL WHERE startsWith(meter_id, 'mixed') ORDER BY meter_id, account_number`,
    })
  const found = await stored()
  t.equal(found.length, 9)
  await store.command({ sql: `DELETE FROM tenancy WHERE startsWith(meter_id, 'mixed')` })
  await renewAll(context, meters)
  t.same(found, await stored())
})

t.test('a move: the end of one is the start of the other, and usage says when', async (t) => {
  const at = { meterId: 'moved' }
  await publishReads(store, 1, [
    { ...at, accountNumber: 'OLD', startsAt: '2026-03-01T05:00:00Z' },
    { ...at, accountNumber: '', startsAt: '2026-03-01T05:15:00Z' },
    { ...at, accountNumber: 'NEW', startsAt: '2026-03-02T05:00:00Z' },
    { ...at, accountNumber: '', startsAt: '2026-03-02T05:15:00Z' },
  ])
  await learnAccounts(context, withoutStaging(1))
  await register(context, [customerAt({ clientId: 'o', accountNumber: 'OLD', meterId: 'moved' })])
  await register(context, [customerAt({ clientId: 'n', accountNumber: 'NEW', meterId: 'moved' })])
  const start = '2026-03-02 05:00:00'
  t.match(await tenancies('moved'), [
    { account_number: 'OLD', valid_from: null, valid_to: start, started_by: 'first' },
    { account_number: 'NEW', valid_from: start, valid_to: null, started_by: 'usage' },
  ])
  t.match(await one(`SELECT * FROM tenancy_event WHERE meter_id = 'moved'`), {
    kind: 'move',
    old_account_number: 'OLD',
    new_account_number: 'NEW',
    client_ids: ['o', 'n'],
    at: `${start}.000`,
    local_day: '2026-03-02',
    evidence: /usage/,
  })
  const owners = await store.rows<{ client_ids: string[] }>({
    sql: `SELECT client_ids FROM registered_usage WHERE meter_id = 'moved' ORDER BY starts_at`,
  })
  t.same(
    owners.map(({ client_ids }) => client_ids.join()),
    ['o', 'o', 'n', 'n'],
  )
})

t.test('a file with an earlier start moves the start', async (t) => {
  const reads = [
    { meterId: 'moved', accountNumber: 'NEW', startsAt: '2026-03-01T17:00:00Z' },
    { meterId: 'moved', accountNumber: 'STRANGER', startsAt: '2026-02-01T05:00:00Z' },
    { meterId: 'elsewhere', accountNumber: 'NEW', startsAt: '2026-01-01T05:00:00Z' },
  ]
  await publishReads(store, 2, reads)
  await learnAccounts(context, withoutStaging(2))
  const found = (await tenancies('moved')) as { valid_from: string | null }[]
  t.equal(found[1]?.valid_from, '2026-03-01 17:00:00')
  const facts = await count('registration_fact')
  await learnAccounts(context, withoutStaging(2))
  t.equal(await count('registration_fact'), facts, 'again changes nothing')
})

t.test('a file published while a move is written shows its start, despite a crash', async (t) => {
  const at = { meterId: 'between', externalSiteId: 'between' }
  await register(context, [customerAt({ clientId: 'o', accountNumber: 'OLD-2', ...at })])
  const reads = [{ ...at, accountNumber: 'NEW-2', startsAt: '2026-03-05T05:00:00Z' }]
  let inserts = 0
  const slow: typeof store = {
    ...store,
    insert: async (table, ...rest) => {
      if (table === 'tenancy' && inserts++ === 0) {
        await publishReads(store, 5, reads)
        await learnAccounts(context, withoutStaging(5))
      }
      await store.insert(table, ...rest)
      if (table === 'tenancy') throw new Error('killed')
    },
  }
  const customer = customerAt({ clientId: 'n', accountNumber: 'NEW-2', ...at })
  await t.rejects(register({ ...context, store: slow }, [customer]), { message: 'killed' })
  t.match(await tenancies('between'), [
    { account_number: 'OLD-2', valid_to: '2026-03-05 05:00:00' },
    { account_number: 'NEW-2', valid_from: '2026-03-05 05:00:00', started_by: 'usage' },
  ])
})

t.test('rows of unregistered meters are found and counted', async (t) => {
  const reads = [
    { meterId: 'known', accountNumber: 'A', startsAt: '2026-04-01T05:00:00Z' },
    { meterId: 'nobody', accountNumber: 'A', startsAt: '2026-04-01T05:00:00Z' },
    { meterId: 'nobody', accountNumber: 'B', startsAt: '2026-04-01T05:15:00Z' },
  ]
  await createStaging(store, 3)
  const table = stagingOf(3).reads
  await store.insert(table, toReadRows(3, reads))
  const isForeign = await foreignRows(
    store,
    { ingestion: 'registered' },
    {
      columns: ['meter_id'],
    },
  )
  t.same(await store.rows(countForeign(table, isForeign ?? sql`0`)), [{ rows: '2', quantity: '2' }])
  const registered = statementText({ sql: registeredMeters })
  t.equal(await count(`${table} WHERE meter_id IN (${registered})`), 1)
})

t.test('clients without account number never see one another', async (t) => {
  for (const clientId of ['x', 'y']) {
    await register(context, [customerAt({ clientId, accountNumber: '', meterId: 'plain' })])
  }
  await publishReads(store, 4, [
    { meterId: 'plain', accountNumber: '9', startsAt: '2026-03-01T05:00:00Z' },
  ])
  const rows = await store.rows({
    sql: `SELECT client_ids FROM registered_usage WHERE meter_id = 'plain'`,
  })
  t.same(rows, [{ client_ids: ['x'] }])
})

t.test('a thousand customers are one insert', async (t) => {
  const customers = Array.from({ length: 900 }, (_, at) =>
    customerAt({ clientId: `k${at}`, accountNumber: `K${at}`, meterId: `bulk-${at}` }),
  )
  let inserts = 0
  const counting: typeof store = {
    ...store,
    insert: (...of) => {
      inserts++
      return store.insert(...of)
    },
  }
  t.equal((await register({ ...context, store: counting }, customers)).changed, 900)
  t.equal(inserts, 4, 'the facts, the changes, the tenancies and their publication')
  t.equal((await register({ ...context, store: counting }, customers)).changed, 0)
  t.equal(inserts, 4)
})
