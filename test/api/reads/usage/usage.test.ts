import { t } from 'tap'
import { readUsage } from '../../../../api/reads/usage/usage.js'
import { endClients } from '../../../../pipeline/customers/registrations.js'
import { usageQuerySchema } from '../../../../schemas/gateway/reads.js'
import { steady } from '../../../pipeline/bills/rig.js'
import { customerAt, registeringAt } from '../../../pipeline/customers/registering.js'
import { createCustomer } from '../../../pipeline/green-button/rig.js'
import { readingOf, usagePage, usagePages } from '../rig.js'

const rig = await createCustomer(t)
const { store } = rig
const context = readingOf(t, store)
const january = { from: '2026-01-01', to: '2026-01-31' }
const house = { ...january, meterId: 'HOUSE' }

const sumOf = (points: readonly { readonly quantity: number | null }[]) =>
  points.reduce((sum, { quantity }) => sum + (quantity ?? 0), 0)

t.test('a day has the sum of its reads and its local time', async (t) => {
  const { points, publishedSeq, cursor } = await usagePage(context, 'anna', house)
  t.equal(points.length, 31)
  t.same(points[0], {
    start: '2026-01-01T05:00:00Z',
    end: '2026-01-02T05:00:00Z',
    localStart: '2026-01-01T00:00:00-05:00',
    quantity: 24,
    unit: 'kWh',
    quality: 'asSent',
    reads: 96,
    secondsMissing: 0,
    // 2.40 of energy, and a 31st of the service charge of 8.50.
    cost: 2.674193,
    costStatus: 'computed',
    costs: [
      { kind: 'Energy', component: 'Energy', name: 'Flat', tier: 0, cost: 2.4 },
      { kind: 'Service', component: '', name: 'Service charge', tier: 0, cost: 0.274193 },
    ],
  })
  t.equal(cursor, null)
  t.ok(publishedSeq > 3)
})

t.test('every granularity adds up to the same, however it is paged', async (t) => {
  const small = { ...context, pageMax: 100 }
  for (const [granularity, count] of [
    ['interval', 2_976],
    ['hour', 744],
    ['day', 31],
    ['month', 1],
    ['billingPeriod', 1],
  ] as const) {
    const { points } = await usagePage(context, 'anna', { ...house, granularity })
    t.equal(points.length, count, granularity)
    t.equal(sumOf(points), 744, granularity)
    if (granularity === 'interval') continue
    const pages = await usagePages(small, 'anna', { ...house, granularity })
    t.same(
      pages.flatMap((page) => page.points),
      points,
      `${granularity} by pages`,
    )
    t.equal(pages.length, Math.ceil(count / 100))
  }
})

t.test('a daily read is not divided, and hours of another meter are not its own', async (t) => {
  for (const granularity of ['interval', 'hour', 'day'] as const) {
    const { points } = await usagePage(context, 'anna', { ...january, meterId: 'GAS', granularity })
    t.equal(points.length, 31)
    t.match(points[30], {
      start: '2026-01-31T05:00:00Z',
      end: '2026-02-01T05:00:00Z',
      quantity: 2.000001,
      unit: 'ccf',
    })
  }
})

t.test('what was expected and is not there is shown as missing, up to yesterday', async (t) => {
  const meter = { meter: 'GAPS', account: 'ACCOUNT-1' }
  await rig.register(customerAt({ clientId: 'anna', accountNumber: 'ACCOUNT-1', meterId: 'GAPS' }))
  await rig.readAll([
    { ...meter, from: '2026-03-02T05:00:00Z', quantities: steady('1', 40) },
    { ...meter, from: '2026-03-02T16:00:00Z', quantities: steady('1', 52) },
    { ...meter, from: '2026-03-05T05:00:00Z', quantities: steady('1', 96) },
  ])
  const march = { from: '2026-03-01', to: '2026-03-07', meterId: 'GAPS' }
  const at = { ...context, now: () => new Date('2026-03-06T18:00:00Z') }
  const shapeOf = ({ points }: Awaited<ReturnType<typeof usagePage>>) =>
    points.map((one) => [
      one.start.slice(5, 16),
      one.end.slice(5, 16),
      one.quantity,
      one.quality,
      one.secondsMissing,
    ])
  t.same(shapeOf(await usagePage(at, 'anna', march)), [
    ['03-02T05:00', '03-03T05:00', 92, 'partial', 3_600],
    ['03-03T05:00', '03-04T05:00', null, 'missing', 86_400],
    ['03-04T05:00', '03-05T05:00', null, 'missing', 86_400],
    ['03-05T05:00', '03-06T05:00', 96, 'asSent', 0],
  ])
  const { points } = await usagePage(at, 'anna', { ...march, granularity: 'interval' })
  t.equal(points.length, 40 + 1 + 52 + 1 + 96)
  t.match(points[40], { start: '2026-03-02T15:00:00Z', end: '2026-03-02T16:00:00Z', reads: 0 })
  t.match(points[93], { start: '2026-03-03T05:00:00Z', end: '2026-03-05T05:00:00Z', unit: null })
  const small = await usagePages({ ...at, pageMax: 41 }, 'anna', {
    ...march,
    granularity: 'interval',
  })
  t.same(
    small.flatMap((page) => page.points),
    points,
    'a gap where a page ends is not divided',
  )
})

t.test('both hours of a clock change are there, and a day of 23 hours is whole', async (t) => {
  const meter = { meter: 'CLOCK', account: 'ACCOUNT-1' }
  await rig.register(customerAt({ clientId: 'anna', accountNumber: 'ACCOUNT-1', meterId: 'CLOCK' }))
  await rig.readAll([
    { ...meter, from: '2025-11-02T04:00:00Z', quantities: steady('1', 100) },
    { ...meter, from: '2026-03-08T05:00:00Z', quantities: steady('1', 92) },
  ])
  const autumn = { meterId: 'CLOCK', from: '2025-11-02', to: '2025-11-02' }
  const hours = await usagePage(context, 'anna', { ...autumn, granularity: 'hour' })
  t.same(
    hours.points.slice(0, 4).map(({ localStart, quantity }) => [localStart, quantity]),
    [
      ['2025-11-02T00:00:00-04:00', 4],
      ['2025-11-02T01:00:00-04:00', 4],
      ['2025-11-02T01:00:00-05:00', 4],
      ['2025-11-02T02:00:00-05:00', 4],
    ],
  )
  t.equal(hours.points.length, 25)
  const spring = { meterId: 'CLOCK', from: '2026-03-08', to: '2026-03-08' }
  t.match((await usagePage(context, 'anna', spring)).points, [
    { quantity: 92, quality: 'asSent', end: '2026-03-09T04:00:00Z' },
  ])
})

t.test('since a number, only what has changed is returned, with its spans', async (t) => {
  const before = await usagePage(context, 'anna', house)
  const since = String(before.publishedSeq)
  t.same(await usagePage(context, 'anna', { ...house, since }), {
    ...before,
    points: [],
    changed: [],
  })
  const account = 'ACCOUNT-1'
  await rig.read({ meter: 'HOUSE', account, from: '2026-01-10T05:00:00Z', quantities: ['7.25'] })
  await store.insert('restatement', [
    {
      ...{ meter_id: 'HOUSE', commodity: 'Electric', seconds: 900, local_day: '2026-01-10' },
      ...{ starts_at: '2026-01-10T05:00:00Z', old_quantity: '0.25', new_quantity: '7.25' },
      ...{ old_version: '1', new_version: '2' },
    },
  ])
  const { changed, points, publishedSeq } = await usagePage(context, 'anna', { ...house, since })
  t.same(changed, [{ start: '2026-01-10T05:00:00Z', end: '2026-01-11T05:00:00Z' }])
  t.match(points, [{ quantity: 31, quality: 'corrected', reads: 96 }])
  t.ok(publishedSeq > before.publishedSeq)
  const month = await usagePage(context, 'anna', { ...house, since, granularity: 'month' })
  t.match(month.points, [{ quantity: 751, quality: 'corrected' }])
  t.same(month.changed, [{ start: '2026-01-01T05:00:00Z', end: '2026-02-01T05:00:00Z' }])
  const days = await usagePage(context, 'anna', { ...house, since, granularity: 'interval' })
  t.equal(days.points.length, 96)
})

t.test('nobody sees the reads of another tenant, before or after a move', async (t) => {
  const meter = { meter: 'MOVED', from: '2026-02-01T05:00:00Z' }
  await rig.registerAt(
    '2026-01-01',
    customerAt({ clientId: 'old', accountNumber: 'A1', meterId: 'MOVED' }),
  )
  await rig.read({ ...meter, account: 'A1', quantities: steady('1', 96) })
  await endClients(
    registeringAt(store, () => new Date('2026-02-02T05:00:00Z')),
    ['old'],
    'closed',
  )
  await rig.registerAt(
    '2026-02-02',
    customerAt({ clientId: 'new', accountNumber: 'A2', meterId: 'MOVED' }),
  )
  await rig.read({
    ...meter,
    from: '2026-02-02T05:00:00Z',
    account: 'A2',
    quantities: steady('2', 96),
  })
  const february = { meterId: 'MOVED', from: '2026-02-01', to: '2026-02-03' }
  const at = { ...context, now: () => new Date('2026-02-03T12:00:00Z') }
  const seen = async (clientId: string) =>
    (await usagePage(at, clientId, february)).points.map(({ start, quantity }) => [start, quantity])
  t.same(await seen('old'), [['2026-02-01T05:00:00Z', 96]])
  t.same(await seen('new'), [['2026-02-02T05:00:00Z', 192]])
  const since = String((await usagePage(at, 'old', february)).publishedSeq)
  const rated = customerAt({
    ...{ clientId: 'new', accountNumber: 'A2', meterId: 'MOVED', rateCode: 'OTHER' },
  })
  await rig.registerAt('2026-02-03', rated)
  const changedFor = async (clientId: string) =>
    (await usagePage(at, clientId, { ...february, since })).changed
  t.same(await changedFor('new'), [{ start: '2026-02-02T05:00:00Z', end: '2026-02-04T05:00:00Z' }])
  t.same(await changedFor('old'), [], 'nor what changes for the other one')
  const query = usageQuerySchema.parse(february)
  const other = await readUsage(at, 'anna', query)
  t.same(other, await readUsage(at, 'anna', { ...query, meterId: 'NONE' }))
  t.same(other, { kind: 'missing' })
})

t.test('a meter that changes hands between two pages shows each tenant his own', async (t) => {
  const own = { account: 'A5', meter: 'PAGED' }
  await rig.registerAt(
    '2026-02-01',
    customerAt({ clientId: 'first', accountNumber: 'A5', meterId: 'PAGED' }),
  )
  await rig.read({ ...own, from: '2026-02-01T05:00:00Z', quantities: steady('1', 192) })
  const small = { ...context, pageMax: 10, now: () => new Date('2026-02-03T12:00:00Z') }
  const asked = {
    meterId: 'PAGED',
    from: '2026-02-01',
    to: '2026-02-02',
    granularity: 'hour',
  } as const
  const page = await usagePage(small, 'first', asked)
  t.equal(page.points.length, 10)
  await endClients(
    registeringAt(store, () => new Date('2026-02-02T05:00:00Z')),
    ['first'],
    'closed',
  )
  await rig.registerAt(
    '2026-02-02',
    customerAt({ clientId: 'second', accountNumber: 'A6', meterId: 'PAGED' }),
  )
  const correction = { account: 'A6', meter: 'PAGED', from: '2026-02-02T05:00:00Z' }
  await rig.read({ ...correction, quantities: steady('7', 96) })
  const rest = await usagePages(small, 'first', { ...asked, cursor: page.cursor ?? '' })
  const seen = [page, ...rest].flatMap(({ points }) => points)
  t.equal(sumOf(seen), 96, 'the rest of the first day')
  t.ok(seen.every(({ quantity }) => quantity === null || quantity === 4))
  t.ok((rest.at(-1)?.publishedSeq ?? 0) === page.publishedSeq, 'a pull after it has the rest')
  const theirs = await usagePages(small, 'second', asked)
  t.same(
    new Set(theirs.flatMap(({ points }) => points.map(({ quantity }) => quantity))),
    new Set([28]),
  )
})

t.test('bad ranges and cursors are refused', async (t) => {
  const refused = (more: object) =>
    readUsage(context, 'anna', usageQuerySchema.parse({ ...house, ...more }))
  t.match(await refused({ from: '2026-02-01' }), { detail: /^from: use a day that is not after/ })
  t.match(await refused({ from: '1970-01-02', to: '2069-12-31' }), { detail: /at most 1100 days/ })
  const [page] = await usagePages({ ...context, pageMax: 20 }, 'anna', house)
  const cursor = page?.cursor ?? ''
  t.match(await refused({ cursor }), { kind: 'found' })
  for (const wrong of [
    { cursor: 'x' },
    { cursor: `${cursor}A` },
    { cursor, granularity: 'month' },
    { cursor, to: '2026-01-30' },
  ]) {
    t.match(await refused(wrong), { kind: 'wrong', detail: /^cursor: / })
  }
})

t.test('a point shows what the sender says of its reads, until better ones come', async (t) => {
  const meter = { meter: 'GUESSED', account: 'ACCOUNT-1' } as const
  const own = { clientId: 'anna', accountNumber: 'ACCOUNT-1', meterId: 'GUESSED' }
  await rig.register(customerAt(own))
  const from = '2026-03-10T04:00:00Z'
  await rig.readAll([
    { ...meter, from, quantities: steady('1', 4), quality: 'substituted' },
    { ...meter, from: '2026-03-10T05:00:00Z', quantities: steady('1', 4), quality: 'estimated' },
    { ...meter, from: '2026-03-10T06:00:00Z', quantities: steady('1', 88) },
  ])
  const day = { from: '2026-03-10', to: '2026-03-10', meterId: 'GUESSED' }
  const qualities = async (granularity: 'hour' | 'day') => {
    const { points } = await usagePage(context, 'anna', { ...day, granularity })
    return points.slice(0, 3).map(({ quality }) => quality)
  }
  t.same(await qualities('hour'), ['substituted', 'estimated', 'asSent'])
  t.same(await qualities('day'), ['estimated'])
  await rig.read({ ...meter, from, quantities: steady('2', 8) })
  await rig.read({ ...meter, from, quantities: steady('9', 8), quality: 'estimated' })
  t.same(await qualities('hour'), ['asSent', 'asSent', 'asSent'])
  const { points } = await usagePage(context, 'anna', day)
  t.match(points, [{ quantity: 104, quality: 'asSent' }])
})
