import t, { type Test } from 'tap'
import { sql, typed } from '../../../../pipeline/store/sql.js'
import { oneOfEach } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createMeters, hourly, row, wholeDay } from './meters.js'
import { createRepairing } from './repairing.js'

const line = await createLineByHand(t)
const test = oneOfEach(3, t)
const { store, ledger } = line.context
const { keep, lose, repairAll } = createRepairing(line)
const { name, isSound } = createMeters(line)

/** The reads of a meter now and of the instant of each arrival, and what was restated of it. */
async function statesOf(meter: string, arrivals: readonly number[]) {
  const columns = sql`toString(starts_at) AS at, seconds, toString(quantity) AS quantity, toString(version) AS version`
  const readsIn = (view: ReturnType<typeof sql>) =>
    store.rows({ sql: sql`SELECT ${columns} FROM ${view} WHERE meter_id = ${meter} ORDER BY ALL` })
  const published = await ledger.states(arrivals)
  const instants = published.map(({ publishedAt }) => publishedAt?.toISOString().slice(0, -1))
  const known = instants.map((at) => typed('DateTime64(3)', at?.replace('T', ' ')))
  return {
    now: await readsIn(sql`usage`),
    past: await Promise.all(known.map((at) => readsIn(sql`usage_as_of(known_at = ${at})`))),
    restated: await store.rows({
      sql: sql`SELECT toString(starts_at) AS at, seconds, new_seconds, toString(old_quantity) AS old,
          toString(new_quantity) AS new, toString(published_seq) AS seq
        FROM usage_restatement WHERE meter_id = ${meter} ORDER BY ALL`,
    }),
  }
}

interface Loss {
  readonly meter: string
  readonly arrivals: readonly number[]
  readonly lost: readonly number[]
}

/** Loses reads of some arrivals, and holds what their repairs bring back against what was there. */
async function comesBack(t: Test, { meter, arrivals, lost }: Loss) {
  const before = await statesOf(meter, arrivals)
  const gone = lost.join()
  await lose(`bitShiftRight(version, 32) IN (${gone}) OR change IN (${gone})`)
  t.notSame(await statesOf(meter, arrivals), before, 'it is gone')
  t.not(await repairAll(t), 0)
  t.same(await statesOf(meter, arrivals), before, 'it is back')
  t.equal(await repairAll(t), 0)
  await isSound(t)
}

test('a guessed read that another one replaced before both got their length', async (t) => {
  const first = await keep(name(), [...hourly('A', 1, [8, 10], 2), row('A', 1, 720, 5)])
  const second = await keep(name(), hourly('A', 1, [10], 9))
  const proving = await keep(name(), hourly('A', 2, wholeDay, 1))
  const arrivals = [first, second, proving]
  await comesBack(t, { meter: 'A', arrivals, lost: [first, second] })
  await comesBack(t, { meter: 'A', arrivals, lost: arrivals })
})

test('guessed reads that were all replaced before the others got their length', async (t) => {
  const first = await keep(name(), [...hourly('B', 1, [8, 10], 2), row('Z', 1, 480, 1)])
  const second = await keep(name(), [...hourly('B', 1, [8, 10, 12], 9), row('Z', 1, 540, 1)])
  const proving = await keep(name(), hourly('B', 1, wholeDay, 1))
  const arrivals = [first, second, proving]
  await comesBack(t, { meter: 'B', arrivals, lost: arrivals })
})

test('a guessed read that was replaced and then sent again', async (t) => {
  const first = await keep(name(), [...hourly('C', 1, [8], 7), ...hourly('C', 1, [10], 3)])
  const second = await keep(name(), hourly('C', 1, [8], 9))
  const third = await keep(name(), hourly('C', 1, [8], 7))
  const proving = await keep(name(), hourly('C', 2, wholeDay, 1))
  const arrivals = [first, second, third, proving]
  await comesBack(t, { meter: 'C', arrivals, lost: [first, third] })
})

test('reads that a file has repeated before another one replaced them', async (t) => {
  const first = await keep(name(), [...hourly('D', 1, wholeDay, 1), row('Z', 2, 420, 1)])
  const second = await keep(name(), [
    ...hourly('D', 1, [8], 1),
    ...hourly('D', 1, [10], 2),
    row('Z', 2, 480, 1),
  ])
  const third = await keep(name(), hourly('D', 1, wholeDay, 3))
  const arrivals = [first, second, third]
  await comesBack(t, { meter: 'D', arrivals, lost: arrivals })
})

test('guessed reads that a file has repeated before another one replaced them', async (t) => {
  const first = await keep(name(), hourly('G', 1, [8, 10, 12], 1))
  const second = await keep(name(), [
    ...hourly('G', 1, [8], 1),
    ...hourly('G', 1, [10], 2),
    row('Z', 3, 480, 1),
  ])
  const third = await keep(name(), hourly('G', 1, [8, 10], 3))
  const proving = await keep(name(), hourly('G', 2, wholeDay, 1))
  const arrivals = [first, second, third, proving]
  await comesBack(t, { meter: 'G', arrivals, lost: [first, second, third] })
  await comesBack(t, { meter: 'G', arrivals, lost: arrivals })
})

test('a correction that a later file has repeated while an earlier one waited', async (t) => {
  const first = await keep(name(), hourly('E', 1, wholeDay, 5))
  const second = await keep(name(), hourly('E', 1, [8], 9))
  await line.takeIn(name(), hourly('F', 1, wholeDay, 1))
  const third = await keep(name(), hourly('E', 1, [8], 9))
  await comesBack(t, { meter: 'E', arrivals: [first, second, third], lost: [second] })
})
