import t from 'tap'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { dropStaging } from '../../../../pipeline/store/staging.js'
import { oneOfEach } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createConsumer } from '../../customers/consumer.js'
import { aroundWrites } from '../../dying.js'
import { createMeters, hourly, row, wholeDay } from './meters.js'
import { createRepairing } from './repairing.js'

const line = await createLineByHand(t)
const test = oneOfEach(2, t)
const { context } = line
const { store } = context
const { keep, lose, repairAll } = createRepairing(line)
const { name, enter, series, seriesAt, isSound } = createMeters(line)

const ways = {
  'the guessed reads and what is stored of them since': ({ pushed }: Arrivals) =>
    `bitShiftRight(version, 32) = ${pushed}`,
  'the proving file': ({ proving }: Arrivals) =>
    `bitShiftRight(version, 32) = ${proving} OR change = ${proving}`,
  'reads under the new length': ({ pushed }: Arrivals) =>
    `bitShiftRight(version, 32) = ${pushed} AND NOT is_rekeyed`,
  'all of it': () => "meter_id != 'none'",
}

interface Arrivals {
  readonly pushed: number
  readonly proving: number
}

test('reads come back under the length that was proved', async (t) => {
  const meters = ['A', 'B', 'C']
  await enter(meters)
  const pushed = await keep(name(), [...hourly('A', 1, [8], 2), ...hourly('B', 1, [8], 3)])
  await keep(name(), [...hourly('A', 2, [9], 2), row('C', 1, 480, 5)])
  const known = await context.ledger.state(pushed)
  const late = Object.entries(ways).map(([what, where]) => {
    return { what, where, consumer: createConsumer(store) }
  })
  for (const { consumer } of late) await consumer.pull()
  const proving = await keep(name(), [
    ...hourly('A', 2, wholeDay, 1),
    ...hourly('B', 3, wholeDay, 1),
  ])
  const all = () => Promise.all(meters.map(series))
  const before = await all()
  t.match(before[0], [
    { day: 1, seconds: 3_600, rows: 1 },
    { day: 2, seconds: 3_600, rows: 24, sum: 24 },
  ])
  const past = await seriesAt('A', known?.publishedAt)
  for (const { what, where, consumer } of late) {
    await lose(where({ pushed, proving }))
    t.notSame(await all(), before, `${what} is gone`)
    const meanwhile = createConsumer(store)
    await meanwhile.pull()
    t.not(await repairAll(t), 0)
    t.same(await all(), before, `${what} is back`)
    t.same(await seriesAt('A', known?.publishedAt), past, 'and the past is as it was')
    t.equal(await repairAll(t), 0)
    for (const one of [consumer, meanwhile]) {
      await one.pull()
      t.same(await one.differences(), [], 'who pulls by number has the same')
    }
  }
  await isSound(t)
})

test('files that proved a length together come back under it', async (t) => {
  const arrivals: number[] = []
  for (const third of [0, 1, 2]) {
    const hours = wholeDay.filter((hour) => hour % 3 === third)
    arrivals.push(await keep(name(), hourly('D', 4, hours, 1)))
  }
  const before = [{ day: 4, seconds: 3_600, rows: 24, sum: 24 }]
  t.same(await series('D'), before)
  const [first, second, third] = arrivals
  for (const gone of [`${third}`, `${first}, ${third}`, `${first}, ${second}`, arrivals.join()]) {
    await lose(
      `meter_id = 'D' AND (bitShiftRight(version, 32) IN (${gone}) OR change IN (${gone}))`,
    )
    t.notSame(await series('D'), before, `${gone} are gone`)
    t.not(await repairAll(t), 0)
    t.same(await series('D'), before, `${gone} are back`)
  }
  await isSound(t)
})

test('reads come back under a length that was proved when a worker died', async (t) => {
  const pushed = await keep(name(), hourly('K', 1, [8], 2))
  const proving = await line.takeIn(name(), hourly('K', 2, wholeDay, 1))
  const mortal = aroundWrites(store, async (write, text) => {
    const result = await write()
    if (/usage_read`? ATTACH PARTITION/.test(text)) throw new Error('the worker died')
    return result
  })
  await t.rejects(reconcile({ ...context, store: mortal }, proving), /the worker died/)
  // As it is for a worker that another server answers.
  await dropStaging(store, proving)
  await reconcile(context, proving)
  await settle(context, proving)
  const before = await series('K')
  t.match(before, [{ day: 1, seconds: 3_600, rows: 1 }, { day: 2 }])
  await lose(`bitShiftRight(version, 32) = ${pushed}`)
  t.equal(await repairAll(t), 1)
  t.same(await series('K'), before)
  await isSound(t)
})
