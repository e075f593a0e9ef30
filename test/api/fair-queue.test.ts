import { setImmediate as turn } from 'node:timers/promises'
import { t } from 'tap'
import { createFairQueue } from '../../api/fair-queue.js'

t.test('a burst goes on a few at a time, in its order, and others come in between', async (t) => {
  const turns = createFairQueue(8)
  const done: number[] = []
  const calls = Array.from({ length: 100 }, (_, at) => ({ at, gate: turns() }))
  const atOnce = calls.filter(({ gate }) => gate === undefined)
  t.same(
    atOnce.map(({ at }) => at),
    [0, 1, 2, 3, 4, 5, 6, 7],
    'the first eight do not wait',
  )
  const waiting = calls.slice(atOnce.length)
  const burst = waiting.map(({ at, gate }) => gate?.then(() => done.push(at)))
  const between: number[] = [0]
  while (done.length < waiting.length) {
    await turn()
    between.push(done.length)
  }
  await Promise.all(burst)
  t.same(
    done,
    waiting.map(({ at }) => at),
  )
  const steps = between.slice(1).map((count, at) => count - (between[at] ?? 0))
  t.ok(Math.max(...steps) <= 8, `at most eight at once: ${steps}`)
})

t.test('whoever comes while others wait goes behind them', async (t) => {
  const turns = createFairQueue(8)
  const order: string[] = []
  for (let at = 0; at < 9; at++) void turns()?.then(() => order.push('ninth'))
  await turn()
  await turns()?.then(() => order.push('late'))
  t.equal(order[0], 'ninth')
  await turn()
  await turn()
  t.equal(turns(), undefined, 'and a call alone does not wait')
})

t.test('a turn that takes long lets no more calls go on', async (t) => {
  const turns = createFairQueue(8)
  let atOnce = 0
  for (let at = 0; at < 20; at++) {
    if (turns() === undefined) atOnce++
    const until = performance.now() + 1
    while (performance.now() < until);
  }
  t.equal(atOnce, 8)
})
