import { setImmediate as turn } from 'node:timers/promises'
import { t } from 'tap'
import { createTurns } from '../../api/turns.js'

t.test('a burst goes on a few at a time, in its order, and others come in between', async (t) => {
  const turns = createTurns()
  const done: number[] = []
  const burst = Array.from({ length: 100 }, (_, at) => turns().then(() => done.push(at)))
  const between: number[] = []
  while (done.length < burst.length) {
    await turn()
    between.push(done.length)
  }
  await Promise.all(burst)
  t.same(done, [...done.keys()])
  const steps = between.map((count, at) => count - (between[at - 1] ?? 0))
  t.ok(Math.max(...steps) <= 8, `at most eight at once: ${steps}`)
  await turns()
  t.pass('and the next one goes on alone')
})
