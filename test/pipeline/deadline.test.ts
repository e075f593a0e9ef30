import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { unlessStuck } from '../../pipeline/deadline.js'

t.test('a run that takes too long fails, and no other begins until it has ended', async (t) => {
  const runs: (() => void)[] = []
  const run = () => new Promise<string>((resolve) => runs.push(() => resolve('listed')))
  const listed = unlessStuck(run, 20, () => new Error('late'))
  await t.rejects(listed(), { message: 'late' })
  await t.rejects(listed(), { message: 'late' })
  t.equal(runs.length, 1)
  runs[0]?.()
  await sleep(0)
  const again = listed()
  runs[1]?.()
  t.equal(await again, 'listed')
})

t.test('a run that fails after its time leaves nothing behind', async (t) => {
  let fail: (error: Error) => void = () => undefined
  const run = () =>
    new Promise<never>((_, reject) => {
      fail = reject
    })
  const listed = unlessStuck(run, 20, () => new Error('late'))
  await t.rejects(listed(), { message: 'late' })
  fail(new Error('gone'))
  await sleep(0)
  const again = listed()
  fail(new Error('gone again'))
  await t.rejects(again, { message: 'gone again' })
})
