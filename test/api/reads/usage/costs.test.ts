import { t } from 'tap'
import { bill } from '../../../../pipeline/bills/run.js'
import type { Granularity } from '../../../../schemas/gateway/reads.js'
import { usageSchema } from '../../../../schemas/gateway/reads.js'
import { billRig, steady } from '../../../pipeline/bills/rig.js'
import { customerAt } from '../../../pipeline/customers/registering.js'
import { type Point, readingOf, usagePage, usagePages } from '../rig.js'

const rig = await billRig(t)
const { store } = rig
const context = readingOf(t, store)
const january = { from: '2026-01-01', to: '2026-01-31' }
const start = '2026-01-01T05:00:00Z'
const granularities = ['interval', 'hour', 'day', 'month', 'billingPeriod'] as const

await rig.publish({
  RateCodes: ['TOU,TOU,TOU,,', 'TIER,Tiered,Tiered,,'],
  RateTou: [
    'TOU,Peak,1,14,19,--01-01,--12-31,Weekday,',
    'TOU,Off-Peak,0.1,19,14,--01-01,--12-31,Weekday,',
  ],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  RateFixed: [
    'TOU,Service,Service,PerDay,0.97,true,2025-01-01,',
    'TOU,Tax,TaxPercent,Percent,7,false,2025-01-01,',
    'TIER,Credit,Credit,PerPeriod,3.1,false,2025-01-01,',
    'TIER,Least,Minimum,PerPeriod,160,false,2025-01-01,',
  ],
  BillingCycles: ['7,2026-01-01,2026-01-31', '7,2026-02-01,2026-02-28'],
})
const customer = (meterId: string, rateCode: string) =>
  customerAt({ clientId: meterId, accountNumber: `A${meterId}`, meterId, rateCode })
const meters = ['tou', 'tier', 'some', 'daily'] as const
for (const meter of meters) await rig.register(customer(meter, meter === 'tou' ? 'TOU' : 'TIER'))
await rig.register(customer('unknown', 'NOWHERE'), customer('none', 'TIER'))
const uneven = Array.from({ length: 2_976 }, (_, at) => `0.${100 + ((at * 7) % 300)}`)
for (const meter of ['tou', 'tier', 'unknown']) {
  await rig.read({ meter, from: start, quantities: uneven })
}
await rig.read({ meter: 'some', from: start, quantities: uneven.slice(0, 20 * 96 + 10) })
await rig.read({ meter: 'daily', from: start, seconds: 86_400, quantities: steady('20', 31) })
await rig.bill({ start: '2026-01-01' }, { presentShareMin: 0.6 })

const micros = (dollars: number | null) => Math.round((dollars ?? 0) * 1e6)
const sumOf = (points: readonly Point[]) => points.reduce((sum, one) => sum + micros(one.cost), 0)
const pointsOf = async (meterId: string, granularity: Granularity) => {
  const small = { ...context, pageMax: granularity === 'hour' ? 200 : 3_000 }
  const pages = await usagePages(small, meterId, { ...january, meterId, granularity })
  for (const page of pages) usageSchema.parse(page)
  return pages.flatMap(({ points }) => points)
}
const totals = async () => {
  const rows = await rig.bills('meter_id, toString(total) AS total, toString(start_date) AS start')
  const own = rows.filter((row) => row['start'] === january.from)
  return new Map(own.map((row) => [String(row['meter_id']), micros(Number(row['total']))]))
}

t.test('points of each granularity add up to the bill, and lines to the point', async (t) => {
  const bills = await totals()
  t.equal(bills.size, 6)
  for (const meter of meters) {
    const total = bills.get(meter) ?? 0
    t.ok(total > 0, meter)
    for (const granularity of granularities) {
      const points = await pointsOf(meter, granularity)
      t.equal(sumOf(points), total, `${meter} by ${granularity}`)
      const off = points.filter(
        ({ cost, costs }) =>
          micros(cost) !== costs.reduce((sum, line) => sum + micros(line.cost), 0),
      )
      t.same(off, [], `lines of ${meter} by ${granularity}`)
    }
  }
})

t.test('an hour has its window, its share of a daily charge and its tax', async (t) => {
  const points = await pointsOf('tou', 'hour')
  const hour = points.find((one) => one.localStart.startsWith('2026-01-05T14'))
  t.same(
    hour?.costs.map(({ kind, name }) => [kind, name]),
    [
      ['Energy', 'Peak'],
      ['Service', 'Service'],
      ['TaxPercent', 'Tax'],
    ],
  )
  t.equal(hour?.costStatus, 'computed')
  const peak = points
    .flatMap(({ costs }) => costs)
    .filter(({ name }) => name === 'Peak')
    .reduce((sum, { cost }) => sum + micros(cost), 0)
  const [line] = (await rig.lines('tou')).filter(([name]) => name === 'Peak')
  t.equal(peak, micros(Number(line?.[2])), 'the window of all points is the line of the bill')
})

t.test('a point without a cost says why', async (t) => {
  for (const granularity of granularities) {
    const unknown = await pointsOf('unknown', granularity)
    t.match(unknown[0], { cost: null, costStatus: 'noRate', costs: [] })
    t.ok(unknown.every(({ quantity }) => quantity !== null))
  }
  const some = await pointsOf('some', 'day')
  t.match(some[25], { quality: 'missing', quantity: null, costStatus: 'incomplete' })
  t.ok((some[25]?.cost ?? 0) > 0, 'the share of the minimum of a day without reads')
  const { points } = await usagePage(context, 'none', { ...january, meterId: 'none' })
  const end = '2026-02-01T05:00:00Z'
  t.match(points, [{ quality: 'missing', start, end, cost: null, costStatus: 'noUsage' }])
})

t.test('a daily read of another hour than midnight lasts until the next one', async (t) => {
  // From 9:00 to 9:00, over the change of the clock on 8 March; and by standard time all year.
  const startOf = (day: number) => `2026-03-0${day}T${day < 8 ? 14 : 13}:00:00Z`
  const days = [5, 6, 7, 8, 9]
  await rig.register(customer('gas', 'TIER'), customer('standard', 'TIER'))
  const read = { seconds: 86_400, quantities: ['10'] }
  await rig.readAll(days.map((day) => ({ ...read, meter: 'gas', from: startOf(day) })))
  await rig.readAll(
    days.map((day) => ({ ...read, meter: 'standard', from: `2026-03-0${day}T05:00:00Z` })),
  )
  for (const [meterId, starts] of [
    ['gas', days.map(startOf)],
    ['standard', days.map((day) => `2026-03-0${day}T05:00:00Z`)],
  ] as const) {
    const query = { meterId, from: '2026-03-05', to: '2026-03-09' }
    for (const granularity of ['interval', 'hour'] as const) {
      const { points } = await usagePage(context, meterId, { ...query, granularity })
      const found = points.filter(({ quality }) => quality !== 'missing')
      t.same(
        found.map(({ start, end }) => [start, end]).slice(0, 4),
        starts.slice(0, 4).map((start, at) => [start, starts[at + 1]]),
        `${meterId} by ${granularity}`,
      )
      t.same(points.filter(({ end }) => end <= (starts[4] as string)).length, 4, 'no gap')
    }
    const { points } = await usagePage(context, meterId, { ...query, granularity: 'day' })
    t.same(
      points.map(({ quantity, secondsMissing }) => [quantity, secondsMissing]),
      days.map(() => [10, 0]),
    )
  }
})

t.test('reads that no bill has yet have no cost, and get it with the bill', async (t) => {
  await rig.read({ meter: 'tou', from: '2026-02-01T05:00:00Z', quantities: steady('1', 96) })
  const february = { meterId: 'tou', from: '2026-02-01', to: '2026-02-28' }
  const before = await usagePage(context, 'tou', february)
  t.match(before.points[0], { quantity: 96, cost: null, costStatus: 'noBill', costs: [] })
  const since = String(before.publishedSeq)
  t.same((await usagePage(context, 'tou', { ...february, since })).changed, [])
  const now = () => new Date('2026-02-02T17:00:00Z')
  await bill({ ...rig.context(), now }, { cycleId: '7', start: '2026-02-01' })
  const after = await usagePage(context, 'tou', { ...february, since })
  t.match(after.changed, [{ start: '2026-02-01T05:00:00Z', end: '2026-03-01T05:00:00Z' }])
  t.match(after.points[0], { quantity: 96, costStatus: 'projected' })
  t.ok((after.points[0]?.cost ?? 0) > 0)
  const other = { ...february, meterId: 'tier', since }
  t.match((await usagePage(context, 'tier', other)).changed, [{ start: '2026-02-01T05:00:00Z' }])
})

t.test('the projected rest of an open period is a point of its own', async (t) => {
  const [open] = await store.rows<{ total: string }>({
    sql: `SELECT toString(total) AS total FROM projected_bill
      WHERE meter_id = 'tou' AND start_date = '2026-02-01' AND status = 'projected'`,
  })
  t.ok(open)
  for (const granularity of granularities) {
    const query = { meterId: 'tou', from: '2026-02-01', to: '2026-02-28', granularity }
    const { points } = await usagePage(context, 'tou', query)
    t.equal(sumOf(points), micros(Number(open?.total)), granularity)
    const rest = points.filter(({ quality }) => quality === 'projected')
    t.match(rest, [{ end: '2026-03-01T05:00:00Z', reads: 0, costStatus: 'projected' }])
  }
})

t.test('reads since the start of a projected rest are points that no bill has', async (t) => {
  const bills = await rig.bills('meter_id, toString(quantity) AS quantity, status')
  const open = bills.find((one) => one['meter_id'] === 'tou' && one['status'] === 'projected')
  await rig.read({ meter: 'tou', from: '2026-02-02T05:00:00Z', quantities: steady('1', 40) })
  for (const granularity of ['interval', 'hour', 'day'] as const) {
    const query = { meterId: 'tou', from: '2026-02-01', to: '2026-02-28', granularity }
    const { points } = await usagePage(context, 'tou', query)
    const rest = points.find(({ quality }) => quality === 'projected')
    const since = points.filter(({ start, reads }) => start >= (rest?.start ?? '') && reads > 0)
    const billed = points.filter((one) => !since.includes(one))
    const sumOfAll = (some: readonly Point[]) =>
      some.reduce((sum, { quantity }) => sum + (quantity ?? 0), 0).toFixed(6)
    t.equal(sumOfAll(billed), Number(open?.['quantity']).toFixed(6), granularity)
    t.equal(sumOfAll(since), '40.000000')
    t.ok(since.every(({ cost, costStatus }) => cost === null && costStatus === 'noBill'))
  }
})

t.test('a bill that is computed again changes its days; nobody else’s', async (t) => {
  const query = { ...january, meterId: 'tou' }
  const before = await usagePage(context, 'tou', query)
  const since = String(before.publishedSeq)
  await rig.read({ meter: 'tou', from: '2026-01-05T19:00:00Z', quantities: ['100'] })
  const [day] = (await usagePage(context, 'tou', { ...query, since })).changed ?? []
  t.same(day, { start: '2026-01-05T05:00:00Z', end: '2026-01-06T05:00:00Z' })
  await rig.bill({ start: '2026-01-01' })
  const after = await usagePage(context, 'tou', { ...query, since })
  t.equal(after.points.length, 31, 'each day shares the charges of the new bill')
  t.equal(sumOf(after.points), (await totals()).get('tou') ?? 0)
})

t.test('a bill that waits for a move has no costs, and the days say so', async (t) => {
  const at = (clientId: string, accountNumber: string) =>
    customerAt({ clientId, accountNumber, meterId: 'moved', rateCode: 'TOU' })
  await rig.registerAt('2026-01-01', at('moved', 'AMOVED'))
  await rig.read({ meter: 'moved', account: '', from: start, quantities: steady('1', 2_976) })
  await rig.bill({ start: '2026-01-01' })
  const query = { ...january, meterId: 'moved' }
  const before = await usagePage(context, 'moved', query)
  t.equal(before.points.length, 31)
  t.ok(before.points.every(({ cost }) => cost !== null))
  await rig.registerAt('2026-01-16T05:00:00Z', at('next', 'ANEXT'))
  const since = String(before.publishedSeq)
  const after = await usagePage(context, 'moved', { ...query, since })
  t.same(after.changed, [{ start, end: '2026-02-01T05:00:00Z' }])
  t.equal(after.points.length, 15)
  t.ok(after.points.every(({ cost, costStatus }) => cost === null && costStatus === 'noBill'))
  const theirs = await usagePage(context, 'next', { ...query, granularity: 'hour' })
  t.ok(theirs.points.every(({ cost }) => cost === null))
})
