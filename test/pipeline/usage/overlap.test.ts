import t from 'tap'
import { createStaging, stagingOf } from '../../../pipeline/store/staging.js'
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
const stage = async (arrival: number, reads: readonly ReadAt[]) => {
  await createStaging(store, arrival)
  const table = stagingOf(arrival).reads
  await store.insert(table, toReadRows(arrival, reads))
  const days = { firstDay: '2026-03-01', lastDay: '2026-03-01' }
  return compareWithStore(
    store,
    { arrival, feed: 'Electric', table, ...days, repeats: true },
    naming,
  )
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
