import { t } from 'tap'
import { billRig, steady } from '../../../pipeline/bills/rig.js'
import { customerAt } from '../../../pipeline/customers/registering.js'
import { feedOf } from '../../../pipeline/green-button/rig.js'
import { readingOf, usagePage, usagePages } from '../rig.js'

const rig = await billRig(t)
const context = readingOf(t, rig.store, { now: () => new Date('2026-07-01T12:00:00Z') })

await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,'],
  RateFlat: ['FLAT,0.1,2018-01-01,,'],
  BillingCycles: [
    ...['01,2026-01-01,2026-01-31', '01,2026-02-01,2026-02-28', '01,2026-03-01,2026-03-31'],
    ...['01,2026-04-01,2026-04-30', '01,2026-05-01,2026-05-31'],
    ...['15,2026-01-15,2026-02-14', '15,2026-02-15,2026-03-14', '15,2026-03-15,2026-04-14'],
  ],
})

const customer = (meterId: string, billingCycleId: string, more: object = {}) => {
  const one = customerAt({
    ...{ clientId: meterId, accountNumber: `A${meterId}`, meterId, rateCode: 'FLAT' },
    ...more,
  })
  return { ...one, meters: one.meters.map((meter) => ({ ...meter, billingCycleId })) }
}

/** First and last local day of each period, with what it has used and cost. */
async function periodsOf(meterId: string, from: string, to: string, by = context) {
  const query = { meterId, from, to, granularity: 'billingPeriod' } as const
  const { points } = await usagePage(by, meterId, query)
  return points.map(({ start, end, quantity, cost }) => [start, end, quantity, cost])
}

t.test('a day is in the period of the cycle that held on it', async (t) => {
  await rig.registerAt('2026-01-01T15:00:00Z', customer('turns', '01'))
  await rig.read({
    meter: 'turns',
    from: '2026-01-01T05:00:00Z',
    quantities: steady('0.25', 9_596),
  })
  await rig.registerAt('2026-03-10T15:00:00Z', customer('turns', '15'))
  await rig.registerAt('2026-03-12T15:00:00Z', customer('turns', '15', { rateCode: 'OTHER' }))
  await rig.registerAt('2026-03-13T15:00:00Z', customer('turns', '15'))
  t.same(
    (await periodsOf('turns', '2026-01-01', '2026-04-14')).map(([start, end]) => [start, end]),
    [
      ['2026-01-01T05:00:00Z', '2026-02-01T05:00:00Z'],
      ['2026-02-01T05:00:00Z', '2026-03-01T05:00:00Z'],
      ['2026-03-01T05:00:00Z', '2026-03-10T04:00:00Z'],
      ['2026-03-10T04:00:00Z', '2026-03-15T04:00:00Z'],
      ['2026-03-15T04:00:00Z', '2026-04-15T04:00:00Z'],
    ],
    'a change of the rate divides none',
  )
})

t.test('where periods end in standard time, an hour of the day after is theirs', async (t) => {
  const by = { ...context, periodClock: 'standard' } as const
  const isStandard = { periodClock: 'standard' }
  const may = { from: '2026-05-01', to: '2026-05-31', meterId: 'summer' } as const
  await rig.register(customer('summer', '01'), customer('gas', '01'))
  await rig.read({
    meter: 'summer',
    from: '2026-04-01T04:00:00Z',
    quantities: steady('0.25', 5_860),
  })
  const daily = { seconds: 86_400, quantities: steady('2', 61) }
  await rig.read({ meter: 'gas', from: '2026-04-01T04:00:00Z', ...daily })
  await rig.bill({ cycleId: '01', start: '2026-05-01' }, isStandard)
  const before = await usagePage(by, 'summer', may)
  t.equal(before.points[0]?.cost, 2.3, 'the first hour is in no bill yet')
  await rig.bill({ cycleId: '01', start: '2026-04-01' }, isStandard)
  const since = String(before.publishedSeq)
  const { changed } = await usagePage(by, 'summer', { ...may, since })
  t.same(changed, [{ start: '2026-05-01T04:00:00Z', end: '2026-05-02T04:00:00Z' }])
  for (const granularity of ['interval', 'hour', 'day', 'month'] as const) {
    const pages = await usagePages(by, 'summer', { ...may, granularity })
    const costs = pages.flatMap(({ points }) => points.map(({ cost }) => cost ?? 0))
    const cents = costs.reduce((sum, cost) => sum + Math.round(cost * 100_000), 0) / 1_000
    t.equal(cents, 7_440, granularity)
  }
  const feed = await feedOf(rig.store, { clientId: 'summer', from: may.from, to: may.from })
  t.equal(feed.match(/<cost>/g)?.length, 96)
  t.equal(feed.match(/<billingPeriod>/g)?.length, 1, 'of the bill that has the day')
  for (const [meterId, aDay] of [
    ['summer', 24],
    ['gas', 2],
  ] as const) {
    t.same(
      await periodsOf(meterId, '2026-04-01', '2026-05-31', by),
      [
        ['2026-04-01T05:00:00Z', '2026-05-01T05:00:00Z', 30 * aDay, (30 * aDay) / 10],
        ['2026-05-01T05:00:00Z', '2026-06-01T05:00:00Z', 31 * aDay, (31 * aDay) / 10],
      ],
      meterId,
    )
  }
})
