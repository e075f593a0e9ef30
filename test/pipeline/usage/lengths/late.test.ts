import t from 'tap'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { createLineByHand } from '../../by-hand.js'
import { createMeters, hourly, row, wholeDay } from './meters.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { name, send, series, isSound } = createMeters(line)

/** Takes files in, and decides them in another order, by their place. */
async function decideLate(files: readonly (readonly string[])[], order: readonly number[]) {
  const arrivals: number[] = []
  for (const rows of files) arrivals.push(await takeIn(name(), rows))
  for (const at of order) {
    await reconcile(context, arrivals[at] as number)
    await settle(context, arrivals[at] as number)
  }
  return Promise.all(arrivals.map((arrival) => context.ledger.state(arrival)))
}

t.test('a late file from before the first proved day has the length of that day', async (t) => {
  await send(hourly('A', 3, wholeDay, 1))
  const state = await send(hourly('A', 1, [8], 2))
  t.match(state, { rows: { accepted: 1 } })
  t.same(await series('A'), [
    { day: 1, seconds: 3_600, rows: 1, sum: 2 },
    { day: 3, seconds: 3_600, rows: 24, sum: 24 },
  ])
  await send([row('A', 1, 480, 3), row('A', 1, 510, 3)])
  await isSound(t)
})

t.test('of two that are decided in the wrong order the later counts', async (t) => {
  const files = [hourly('B', 1, [8], 2), hourly('B', 1, [8], 3), hourly('B', 2, wholeDay, 1)]
  for (const order of [
    [1, 2, 0],
    [2, 1, 0],
    [2, 0, 1],
    [0, 2, 1],
  ]) {
    const meter = `B${order.join('')}`
    const states = await decideLate(
      files.map((rows) => rows.map((one) => one.replaceAll('B', meter))),
      order,
    )
    t.same(
      await series(meter),
      [
        { day: 1, seconds: 3_600, rows: 1, sum: 3 },
        { day: 2, seconds: 3_600, rows: 24, sum: 24 },
      ],
      JSON.stringify(states.map((one) => one?.rows)),
    )
  }
  await isSound(t)
})

t.test('what does not fit the proved length never hides behind it', async (t) => {
  const files = [
    [row('C', 1, 480, 2), row('C', 1, 495, 4)],
    hourly('C', 1, [8], 3),
    hourly('C', 2, wholeDay, 1),
  ]
  const states = await decideLate(files, [1, 2, 0])
  t.match(states[0], { rows: { accepted: 1, superseded: 1 } })
  await isSound(t)
})
