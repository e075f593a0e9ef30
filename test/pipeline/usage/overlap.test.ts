import t from 'tap'
import { id, sql } from '../../../pipeline/store/sql.js'
import { createStaging, stagingOf } from '../../../pipeline/store/staging.js'
import { findDays } from '../../../pipeline/usage/days/find.js'
import { sumSeries } from '../../../pipeline/usage/irregular-meters.js'
import { compareWithStore } from '../../../pipeline/usage/overlap.js'
import { storyProfile } from '../../story/rig/stack.js'
import { migratedStore, publishReads, type ReadAt, toReadRows } from '../customers/registering.js'

const store = await migratedStore(t)
const read = (hour: number, quantity: string): ReadAt => ({
  meterId: 'M',
  accountNumber: 'A',
  startsAt: `2026-03-01T0${hour}:00:00Z`,
  quantity,
})
const naming = storyProfile({
  profile: { fileNames: [{ like: 'reads_of_<YYYY>-<MM>-<DD>', feed: 'Electric' }] },
})
const arrive = (arrival: number, feed: string, name = `DEMO_02032026_${feed}_${arrival}.csv`) =>
  store.insert('arrival', [{ arrival, name }])
const day = { firstDay: '2026-03-01', lastDay: '2026-03-01' }
const grid = {
  seconds: 900,
  timeZone: 'America/Detroit',
  day: sql`local_day`,
  settledDay: sql`local_day`,
}
const stage = async (arrival: number, reads: readonly ReadAt[], isSparse = false) => {
  await createStaging(store, arrival)
  const table = stagingOf(arrival).reads
  await store.insert(table, toReadRows(arrival, reads))
  await sumSeries(store, { arrival, decision: 1, table }, grid)
  const staged = {
    arrival,
    order: arrival,
    decision: 1,
    feed: 'Electric',
    table,
    ...day,
    repeats: true,
    isSparse,
  }
  return compareWithStore(store, staged, naming)
}

await arrive(1, 'Electric')
await publishReads(store, 1, [read(1, '10'), read(2, '20'), read(3, '30')])

t.test('what a later arrival repeated is not replaced by one that came before it', async (t) => {
  for (const arrival of [2, 3]) await arrive(arrival, 'Electric')
  const later = await stage(3, [read(1, '10'), read(2, '20')])
  t.match(later, { duplicate: { rows: 2 }, restated: { rows: 0 } })
  const correction = [read(1, '11'), read(2, '20'), read(3, '33')]
  t.match(
    await stage(2, correction),
    { superseded: { rows: 0 }, restated: { rows: 2 } },
    'a decision that was cut short says nothing',
  )
  await publishReads(store, 3, [])
  t.match(await stage(2, correction), {
    duplicate: { rows: 1 },
    superseded: { rows: 1, quantity: '11' },
    restated: { rows: 1, quantity: '33' },
  })
})

t.test('a later correction counts, whatever was repeated before', async (t) => {
  await arrive(4, 'Electric')
  t.match(await stage(4, [read(1, '12')]), { restated: { rows: 1, quantity: '12' } })
})

t.test('nothing is written down where no earlier arrival of the feed is undecided', async (t) => {
  const count = () => store.rows({ sql: 'SELECT count() AS n FROM confirmation WHERE arrival > 4' })
  for (const arrival of [2, 4]) await publishReads(store, arrival, [])
  await arrive(5, 'Gas')
  await arrive(6, 'Electric')
  t.match(await stage(6, [read(3, '30')]), { duplicate: { rows: 1 } })
  t.same(await count(), [{ n: '0' }])
})

t.test('an earlier arrival of the feed is known however it is named', async (t) => {
  await publishReads(store, 5, [])
  await publishReads(store, 6, [])
  await arrive(7, 'Electric', 'reads_of_2026-03-02.csv')
  await arrive(8, 'Electric')
  t.match(await stage(8, [read(3, '30')]), { duplicate: { rows: 1 } })
  await publishReads(store, 8, [])
  t.match(await stage(7, [read(3, '31')]), { superseded: { rows: 1 }, restated: { rows: 0 } })
})

t.test('a file with few of the meters of its days is compared like any other', async (t) => {
  await arrive(9, 'Electric')
  const meters = Array.from({ length: 9 }, (_, at) => ({ ...read(4, '1'), meterId: `M${at}` }))
  await publishReads(store, 9, meters)
  t.same(await findDays(store, { ...day, rows: 1 }), 'many')
  t.same(await findDays(store, { ...day, rows: 9 }), 'alike')
  const others = { firstDay: '2026-03-02', lastDay: '2026-03-03' }
  t.same(await findDays(store, { ...others, rows: 1 }), 'none')
  await arrive(10, 'Electric')
  const few = [
    { ...read(4, '2'), meterId: 'M3' },
    { ...read(5, '1'), meterId: 'M3' },
    { ...read(4, '1'), meterId: 'M5' },
    { ...read(4, '1'), meterId: 'X' },
  ]
  const compared = await stage(10, few, true)
  t.match(compared, { restated: { rows: 1, quantity: '2' }, duplicate: { rows: 1 } })
  await store.command({ sql: sql`DROP TABLE ${id(stagingOf(10).reads)} SYNC` })
  t.same(compared, await stage(10, few))
})

t.test('a read replaces an estimate that came later, whoever repeated it since', async (t) => {
  const estimate = { ...read(6, '5'), isEstimate: true }
  for (const arrival of [11, 12, 13]) await arrive(arrival, 'Electric')
  await publishReads(store, 12, [estimate])
  t.match(await stage(13, [estimate]), { duplicate: { rows: 1 } })
  await publishReads(store, 13, [])
  const earlier = await stage(11, [read(6, '6')])
  t.match(earlier, { restated: { rows: 1, quantity: '6' }, superseded: { rows: 0 }, outranked: 0 })
  await publishReads(store, 11, [read(6, '6')])
  const stored = await store.rows({
    sql: "SELECT toString(quantity) AS quantity FROM usage_current WHERE starts_at = '2026-03-01 06:00:00'",
  })
  t.same(stored, [{ quantity: '6' }])
  await arrive(14, 'Electric')
  t.match(await stage(14, [{ ...estimate, quantity: '6' }]), {
    superseded: { rows: 1 },
    outranked: 1,
  })
  const isSaid = await stage(14, [{ ...read(6, '6') }])
  t.match(isSaid, { duplicate: { rows: 1 } })
})

t.test('what a later estimate repeated stands against earlier estimates', async (t) => {
  const estimate = (quantity: string) => ({ ...read(7, quantity), isEstimate: true })
  for (const arrival of [15, 16, 17]) await arrive(arrival, 'Electric')
  await publishReads(store, 15, [estimate('1')])
  t.match(await stage(17, [estimate('1')]), { duplicate: { rows: 1 } })
  await publishReads(store, 17, [])
  t.match(await stage(16, [estimate('2')]), { superseded: { rows: 1 }, outranked: 0 })
  t.match(await stage(16, [read(7, '2')]), { restated: { rows: 1 } })
})
