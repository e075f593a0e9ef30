import { t } from 'tap'
import { pathsOf } from '../../../pipeline/green-button/resources.js'
import { shareAll } from '../../../pipeline/green-button/share.js'
import { sql } from '../../../pipeline/store/sql.js'
import { steady, timeZone } from '../bills/rig.js'
import { customerAt } from '../customers/registering.js'
import { convert } from '../formats/convert.js'
import { createCustomer, feedOf, january } from './rig.js'

const rig = await createCustomer(t)
const { store } = rig
const feed = await feedOf(store, january)

/** The name that a reader gives a meter: the last segment of its address. */
const nameOf = (meter: string, commodity: string) =>
  pathsOf(shareAll(['tieline', january.clientId], january), { meter, commodity })
    .self.split('/')
    .at(-1) ?? ''

for (const commodity of ['Electric', 'Gas'] as const) {
  t.test(`${commodity}: what is exported is read back as the same reads`, async (t) => {
    const format = { name: 'green-button', meter: '{usagePoint}' }
    const { plain } = await convert(feed, { format, timeZone, feed: commodity })
    const rows = plain.trimEnd().split('\n')
    const found = rows
      .map((row) => row.split(','))
      // A reading of the other commodity is a rejected row, without a meter.
      .filter(([, , meter = '']) => meter !== '')
      .map(([, , meter, at = '', quantity]) => [meter, Date.parse(at) / 1_000, Number(quantity)])
    const sent = await store.rows<{ meter: string; at: number; quantity: number }>({
      sql: sql`SELECT meter_id AS meter, toUnixTimestamp(starts_at) AS at, toFloat64(quantity) AS quantity
        FROM registered_usage WHERE commodity = ${commodity} ORDER BY meter, at`,
    })
    const wanted = sent.map(({ meter, at, quantity }) => [nameOf(meter, commodity), at, quantity])
    t.same(new Set(found.map(String)), new Set(wanted.map(String)))
    t.equal(found.length, wanted.length)
  })
}

t.test('therms are exported as therms, and only a file of therms takes them', async (t) => {
  const who = { accountNumber: 'ACCOUNT-2', meterId: 'HEAT' }
  const gas = { meterType: 'Gas', unitOfMeasure: 'therm' } as const
  await rig.register(customerAt({ clientId: 'ben', ...who, ...gas }))
  const read = { meter: 'HEAT', account: 'ACCOUNT-2', commodity: 'Gas', seconds: 86_400 } as const
  await rig.read({ ...read, from: '2026-01-01T05:00:00Z', quantities: steady('1.085001', 31) })
  const heat = await feedOf(store, { ...january, clientId: 'ben' })
  t.match(heat, /<uom>169</)
  const setting = { format: { name: 'green-button' }, timeZone, feed: 'Gas' } as const
  const stored = await convert(heat, { ...setting, usage: { unit: { Gas: 'therm' } } })
  const rows = stored.plain.trimEnd().split('\n')
  t.same([...new Set(rows.map((row) => row.split(',')[4]))], ['1.085001'])
  t.equal(rows.length, 31)
  const { records } = await convert(heat, setting)
  t.match(
    records.flatMap(({ refused }) => refused?.detail ?? [])[0],
    'therm cannot be converted to ccf, the unit of Gas',
  )
})

t.test('what the sender says of a read is exported and read back', async (t) => {
  const who = { accountNumber: 'ACCOUNT-3', meterId: 'GUESSED' }
  await rig.register(customerAt({ clientId: 'eve', ...who }))
  const read = { meter: 'GUESSED', account: 'ACCOUNT-3' } as const
  await rig.readAll([
    { ...read, from: '2026-01-01T05:00:00Z', quantities: steady('1', 4), quality: 'estimated' },
    { ...read, from: '2026-01-01T06:00:00Z', quantities: steady('1', 4), quality: 'substituted' },
    { ...read, from: '2026-01-01T07:00:00Z', quantities: steady('1', 4) },
  ])
  const text = await feedOf(store, { ...january, clientId: 'eve' })
  const setting = { format: { name: 'green-button' }, timeZone } as const
  const { plain, ending } = await convert(text, setting)
  const letters = plain
    .trimEnd()
    .split('\n')
    .map((row) => row.split(',')[6])
  t.same(letters, [...steady('E', 4), ...steady('S', 4), ...steady('', 4)])
  t.same(ending.warnings, [
    'intervals estimated by the sender: loaded: 4',
    'intervals substituted by the sender: loaded: 4',
  ])
})

t.test('a daily read that begins at 9:00 lasts until the next one', async (t) => {
  const who = { accountNumber: 'ACCOUNT-4', meterId: 'MORNING' }
  await rig.register(customerAt({ clientId: 'gus', ...who, meterType: 'Gas' }))
  const read = {
    meter: 'MORNING',
    account: 'ACCOUNT-4',
    seconds: 86_400,
    commodity: 'Gas',
  } as const
  await rig.readAll([
    { ...read, from: '2026-03-06T14:00:00Z', quantities: ['1', '2'] },
    { ...read, from: '2026-03-08T13:00:00Z', quantities: ['3', '4'] },
  ])
  const days = { clientId: 'gus', from: '2026-03-01', to: '2026-03-31' }
  const text = await feedOf(store, days)
  const readings = text.match(/<timePeriod><duration>\d+(?=<)/g)?.map((one) => one.slice(22))
  // The clock goes forward on 8 March.
  t.same(readings, ['86400', '82800', '86400', '86400'])
  t.equal(text.match(/<interval><duration>82800</g)?.length, 1, 'so does its block')
  const setting = { format: { name: 'green-button' }, timeZone, feed: 'Gas' } as const
  const { plain } = await convert(text, {
    ...setting,
    format: { ...setting.format, dayStart: '09:00' },
  })
  t.same(
    plain
      .trimEnd()
      .split('\n')
      .map((row) => row.split(',').slice(3).join()),
    ['06T14', '07T14', '08T13', '09T13'].map((at, day) => `2026-03-${at}:00:00Z,${day + 1},86400,`),
  )
  const { records } = await convert(text, setting)
  const refused = records.flatMap(({ refused }) => refused?.detail ?? [])
  t.equal(refused.length, 4)
  t.match(refused[0], 'nor a day from 00:00 to 00:00 of timeZone (dayStart)')
})
