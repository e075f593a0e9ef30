import t from 'tap'
import { migrate } from '../../../infra/schema/migrate.js'
import { learnAccounts, register } from '../../../pipeline/customers/registrations.js'
import { buildAllDays } from '../../../pipeline/usage/days/build.js'
import {
  type At,
  customerAt,
  migratedStore,
  profile,
  publishReads,
  type ReadAt,
  registeringAt,
  withoutStaging,
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
  at('therms', 1, { accountNumber: 'G', commodity: 'Gas' }),
])
await learnAccounts(context, withoutStaging(1))

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
  await known({ clientId: 'e', ...gas, meterId: 'therms', unitOfMeasure: 'therm' })
  for (const view of ['usage', asOf]) {
    t.same(await found('plain', view), [kWh(1, '1500')])
    t.same(await found('wh', view), [kWh(1, '1.5'), kWh(2, '1.5')], 'of the meter, wherever it is')
    t.same(await found('gas', view), [{ hour: 1, quantity: '1500', unit: 'cm' }])
    t.same(await found('gas-plain', view), [{ hour: 1, quantity: '1500', unit: 'ccf' }])
    t.same(await found('therms', view), [{ hour: 1, quantity: '1500', unit: 'therm' }])
  }
  t.same(await found('wh', 'registered_usage'), [kWh(1, '1.5')])
  const days = await store.rows({
    sql: `SELECT toString(quantity) AS quantity, unit FROM usage_day WHERE meter_id = 'wh'`,
  })
  t.same(days, [{ quantity: '3', unit: 'kWh' }])
})

t.test('each unit of gas is shown as registered, whichever the profile has', async (t) => {
  const units = ['ccf', 'cm', 'therm'] as const
  const gas = { accountNumber: 'U', meterType: 'Gas' } as const
  const read = { accountNumber: 'U', commodity: 'Gas' } as const
  const reads = [...units, 'own'].map((meter) => at(meter, 1, read))
  await publishReads(store, 4, reads)
  await store.insert(
    'restatement',
    reads.map(({ meterId, startsAt }) => ({
      meter_id: meterId,
      commodity: 'Gas',
      starts_at: startsAt,
      new_quantity: '1500',
      new_version: String(4n * 2n ** 32n),
    })),
  )
  for (const unit of units) {
    await known({ clientId: unit, ...gas, meterId: unit, unitOfMeasure: unit })
  }
  await known({ clientId: 'own', ...gas, meterId: 'own', unitOfMeasure: '' })
  await buildAllDays({ store })
  const shown = async (view: string) => {
    const rows = await store.rows<{ meter: string; unit: string }>({
      sql: `SELECT meter_id AS meter, unit FROM ${view} WHERE meter_id IN {meters:Array(String)}`,
      parameters: { meters: [...units, 'own'] },
    })
    return Object.fromEntries(rows.map(({ meter, unit }) => [meter, unit]))
  }
  for (const Gas of units) {
    const unit = { Electric: 'kWh', Gas } as const
    await migrate(store, { ...profile, usage: { ...profile.usage, unit } })
    const expected = { ccf: 'ccf', cm: 'cm', therm: 'therm', own: Gas }
    for (const view of ['usage', asOf, 'registered_usage', 'usage_restatement', 'usage_day']) {
      t.same(await shown(view), expected, `${view}, ${Gas}`)
    }
  }
  await migrate(store, profile)
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

t.test('a sum of reads in Wh is exactly what was sent', async (t) => {
  const who = { accountNumber: 'F', meterId: 'fine', externalSiteId: 'S' }
  const quantities = ['0.000001', '0.000999', '-0.0005', '1234.567891', '999999999.999999']
  await publishReads(
    store,
    3,
    quantities.map((quantity, hour) => at('fine', hour, { ...who, quantity })),
  )
  await known({ clientId: 'f', ...who, unitOfMeasure: 'Wh' })
  const sums = (view: string, total = 'sum(quantity)') =>
    store.rows({
      sql: `SELECT toString(${total}) AS total, any(unit) AS unit FROM ${view} WHERE meter_id = 'fine'`,
    })
  const exact = [{ total: '1000001.23456839', unit: 'kWh' }]
  for (const view of ['usage', asOf, 'registered_usage']) t.same(await sums(view), exact, view)
  const day = async (what: string) => {
    t.same(await sums('usage_day'), exact, what)
    t.same(await sums('usage_day', 'sum(exported)'), [{ total: '0.0000005', unit: 'kWh' }], what)
    t.match(await sums('usage_day', 'max(peak_quantity)'), [{ total: '999999.999999999' }], what)
  }
  await day('stale')
  await buildAllDays({ store })
  await day('stored')
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
