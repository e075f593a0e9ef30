import t from 'tap'
import { learnAccounts, register } from '../../../pipeline/customers/registrations.js'
import {
  type At,
  customerAt,
  migratedStore,
  publishReads,
  type ReadAt,
  registeringAt,
} from '../customers/registering.js'

const store = await migratedStore(t)
const context = registeringAt(store)
const known = (at: At) => register(context, [customerAt(at)])
const at = (meterId: string, hour: number, more: Partial<ReadAt> = {}): ReadAt => ({
  meterId,
  accountNumber: 'B',
  startsAt: `2026-03-01T0${hour}:00:00Z`,
  quantity: '1500',
  ...more,
})
const asOf = `usage_as_of(known_at = '2100-01-01 00:00:00')`
const found = (meterId: string, view = 'usage') =>
  store.rows({
    sql: `SELECT toHour(starts_at) AS hour, toString(quantity) AS quantity, unit
      FROM ${view} WHERE meter_id = {meterId:String} ORDER BY hour`,
    parameters: { meterId },
  })
const kWh = (hour: number, quantity: string) => ({ hour, quantity, unit: 'kWh' })

await publishReads(store, 1, [
  at('plain', 1, { accountNumber: 'A' }),
  at('wh', 1),
  at('wh', 2, { externalSiteId: 'another' }),
  at('moved', 1, { accountNumber: '100' }),
  at('moved', 2, { accountNumber: '200' }),
  at('moved', 3, { externalSiteId: 'another' }),
  at('gas', 1, { accountNumber: 'G', commodity: 'Gas' }),
  at('gas-plain', 1, { accountNumber: 'G', commodity: 'Gas' }),
])
await learnAccounts(context, 1)

t.test('without a registration the unit of the profile holds', async (t) => {
  t.same(await found('wh'), [kWh(1, '1500'), kWh(2, '1500')])
  t.same(await found('gas'), [{ hour: 1, quantity: '1500', unit: 'ccf' }])
})

t.test('a registration says in which unit its meter counts', async (t) => {
  const gas = { accountNumber: 'G', meterType: 'Gas' } as const
  await known({ clientId: 'a', accountNumber: 'A', meterId: 'plain' })
  await known({ clientId: 'b', accountNumber: 'B', meterId: 'wh', unitOfMeasure: 'Wh' })
  await known({ clientId: 'c', ...gas, meterId: 'gas', unitOfMeasure: 'cm' })
  await known({ clientId: 'd', ...gas, meterId: 'gas-plain', unitOfMeasure: '' })
  for (const view of ['usage', asOf]) {
    t.same(await found('plain', view), [kWh(1, '1500')])
    t.same(await found('wh', view), [kWh(1, '1.5'), kWh(2, '1.5')], 'of the meter, wherever it is')
    t.same(await found('gas', view), [{ hour: 1, quantity: '1500', unit: 'cm' }])
    t.same(await found('gas-plain', view), [{ hour: 1, quantity: '1500', unit: 'ccf' }])
  }
  t.same(await found('wh', 'registered_usage'), [kWh(1, '1.5')])
  const days = await store.rows({
    sql: `SELECT toString(quantity) AS quantity, unit FROM usage_day WHERE meter_id = 'wh'`,
  })
  t.same(days, [{ quantity: '3', unit: 'kWh' }])
})

t.test('where registrations differ, the one in force at the instant counts', async (t) => {
  const moved = { meterId: 'moved', unitOfMeasure: 'Wh' }
  await known({ clientId: 'o', accountNumber: '100', ...moved })
  await known({ clientId: 'n', accountNumber: '200', ...moved, unitOfMeasure: '' })
  for (const view of ['usage', asOf]) {
    t.same(await found('moved', view), [kWh(1, '1.5'), kWh(2, '1500'), kWh(3, '1500')])
    t.same(await found('plain', view), [kWh(1, '1500')])
  }
})

t.test('another unit holds from the day of its record on', async (t) => {
  const before = registeringAt(store, () => new Date('2026-05-20T12:00:00Z'))
  const after = registeringAt(store, () => new Date('2026-05-21T12:00:00Z'))
  const who = { clientId: 'u', accountNumber: 'U', meterId: 'unit-changes' }
  await publishReads(store, 2, [
    at('unit-changes', 1, { accountNumber: 'U' }),
    at('unit-changes', 3, { accountNumber: 'U', startsAt: '2026-06-01T03:00:00Z' }),
  ])
  await register(before, [customerAt({ ...who, unitOfMeasure: 'Wh' })])
  await register(after, [customerAt(who)])
  t.same(await found('unit-changes'), [kWh(1, '1.5'), kWh(3, '1500')])
})

t.test('as long as no registration deviates, a sum reads no meter and no account', async (t) => {
  const [plan] = await store.rows<{ text: string }>({
    sql: `SELECT arrayStringConcat(groupArray(explain), '\n') AS text
      FROM (EXPLAIN actions = 1 SELECT sum(quantity) FROM usage)`,
  })
  t.match(plan?.text, /meter_id/, 'here some deviate')
  await store.command({ sql: 'TRUNCATE TABLE tenancy' })
  const [plain] = await store.rows<{ text: string }>({
    sql: `SELECT arrayStringConcat(groupArray(explain), '\n') AS text
      FROM (EXPLAIN actions = 1 SELECT sum(quantity) FROM usage)`,
  })
  t.match(plain?.text, /usage_read/)
  t.notMatch(plain?.text, /meter_id|commodity|account_number/)
})
