import { t } from 'tap'
import { bill } from '../../../../pipeline/bills/run.js'
import { billRig, steady } from '../../../pipeline/bills/rig.js'
import { customerAt } from '../../../pipeline/customers/registering.js'
import { readingOf, usagePage, usagePages } from '../rig.js'

const rig = await billRig(t)
const context = readingOf(t, rig.store)
const register = (meterId: string) =>
  rig.register(customerAt({ clientId: meterId, accountNumber: `A${meterId}`, meterId }))
const march = { from: '2026-03-01', to: '2026-03-20' }
await rig.publish({ BillingCycles: ['7,2026-03-01,2026-03-31', '7,2026-04-01,2026-04-30'] })

t.test('reads of today fill no gap of another day', async (t) => {
  await register('today')
  const meter = 'today'
  await rig.readAll([
    { meter, from: '2026-03-02T05:00:00Z', quantities: steady('1', 88) },
    { meter, from: '2026-03-03T05:00:00Z', quantities: steady('1', 48) },
  ])
  const now = () => new Date('2026-03-03T17:00:00Z')
  for (const granularity of ['hour', 'day', 'month', 'billingPeriod'] as const) {
    const query = { meterId: meter, from: '2026-03-01', to: '2026-03-31', granularity }
    const { points } = await usagePage({ ...context, now }, meter, query)
    const missing = points.reduce((sum, { secondsMissing }) => sum + secondsMissing, 0)
    t.equal(missing, 7_200, granularity)
  }
})

t.test('a gap that lasts into the projected rest of a bill is there once', async (t) => {
  await register('silent')
  await rig.read({ meter: 'silent', from: '2026-03-01T05:00:00Z', quantities: steady('1', 2_880) })
  const now = () => new Date('2026-04-03T17:00:00Z')
  await bill({ ...rig.context(), now }, { cycleId: '7', start: '2026-04-01' })
  for (const granularity of ['interval', 'hour', 'day', 'month'] as const) {
    const query = { meterId: 'silent', from: '2026-03-01', to: '2026-04-30', granularity }
    const pages = await usagePages({ ...context, now }, 'silent', query)
    const points = pages.flatMap((page) => page.points)
    t.equal(points.filter(({ quality }) => quality === 'projected').length, 1)
    const missing = points.reduce((sum, { secondsMissing }) => sum + secondsMissing, 0)
    // Without reads: all but an hour of 31 March, 1 and 2 April.
    t.equal(missing, 71 * 3_600, granularity)
  }
})

t.test('a daily read lasts into the next day, wherever an answer begins', async (t) => {
  // From 9:00 to 9:00, over the change of the clock on 8 March.
  await register('gas')
  const meter = 'gas'
  const read = { meter, seconds: 86_400, from: '2026-02-01T14:00:00Z', commodity: 'Gas' as const }
  await rig.readAll([{ ...read, quantities: steady('2', 50) }])
  for (const granularity of ['interval', 'hour'] as const) {
    const shapes = async (from: string, to: string) => {
      const query = { meterId: meter, from, to, granularity }
      const pages = await usagePages(context, meter, query)
      const points = pages.flatMap((page) => page.points)
      return points.map(({ start, end, quality, secondsMissing }) =>
        [start, end, quality, secondsMissing].join(' '),
      )
    }
    const all = await shapes('2026-02-01', '2026-03-20')
    t.equal(all.length, 48)
    t.match(all[34], '2026-03-07T14:00:00Z 2026-03-08T13:00:00Z asSent 0', granularity)
    t.match(all[35], '2026-03-08T13:00:00Z 2026-03-09T13:00:00Z asSent 0', granularity)
    t.ok(
      all.every((one) => one.endsWith('asSent 0')),
      'no gap where a page begins',
    )
    t.same(await shapes('2026-02-10', '2026-03-07'), all.slice(9, 35), `${granularity} of days`)
  }
  const since = String((await usagePage(context, meter, { meterId: meter, ...march })).publishedSeq)
  await rig.readAll([{ ...read, from: '2026-03-12T13:00:00Z', quantities: ['3'] }])
  const query = { meterId: meter, ...march, since, granularity: 'interval' as const }
  const { points } = await usagePage(context, meter, query)
  t.same(
    points.map(({ start, quantity }) => [start, quantity]),
    [['2026-03-12T13:00:00Z', 3]],
    'nor where a change begins',
  )
})

/** Quantity, unit and missing seconds of the points of March by one granularity. */
async function marchOf(
  meterId: string,
  granularity: 'day' | 'month' | 'billingPeriod',
  more: Partial<typeof context> = {},
) {
  const query = { meterId, from: '2026-03-01', to: '2026-03-31', granularity }
  const now = () => new Date('2026-04-03T12:00:00Z')
  const { points } = await usagePage({ ...context, now, ...more }, meterId, query)
  return points.map(({ quantity, unit, secondsMissing }) => [quantity, unit, secondsMissing])
}

t.test('a daily read fills what is expected of its day and no more', async (t) => {
  await register('begins')
  const read = { meter: 'begins', seconds: 86_400, commodity: 'Gas' as const }
  await rig.readAll([
    { ...read, from: '2026-03-02T14:00:00Z', quantities: steady('2', 2) },
    { ...read, from: '2026-03-05T14:00:00Z', quantities: steady('2', 28) },
  ])
  const days = await marchOf('begins', 'day')
  t.same(days[2], [null, null, 86_400])
  for (const granularity of ['month', 'billingPeriod'] as const) {
    t.same(await marchOf('begins', granularity), [[58, 'ccf', 86_400]], granularity)
  }
})

t.test('daily reads fill a period that ends in standard time', async (t) => {
  await register('standard')
  const read = { meter: 'standard', seconds: 86_400, quantities: steady('2', 64) }
  await rig.read({ ...read, from: '2026-02-01T05:00:00Z' })
  const periodClock = 'standard'
  t.same(await marchOf('standard', 'billingPeriod', { periodClock }), [[62, 'kWh', 0]])
})

t.test('units that follow each other in a month miss together what is missing', async (t) => {
  const of = (unitOfMeasure: string) => {
    const account = { clientId: 'two', accountNumber: 'Atwo', meterId: 'two' }
    return customerAt({ ...account, meterType: 'Gas', unitOfMeasure })
  }
  await rig.registerAt('2026-02-01T15:00:00Z', of('ccf'))
  await rig.registerAt('2026-03-11T15:00:00Z', of('therm'))
  const read = { meter: 'two', seconds: 86_400, commodity: 'Gas' as const }
  await rig.readAll([
    { ...read, from: '2026-02-27T05:00:00Z', quantities: steady('2', 15) },
    { ...read, from: '2026-03-15T04:00:00Z', quantities: steady('2', 20) },
  ])
  for (const granularity of ['month', 'billingPeriod'] as const) {
    t.same(
      await marchOf('two', granularity),
      [
        [20, 'ccf', 0],
        [40, 'therm', 86_400],
      ],
      granularity,
    )
  }
})
