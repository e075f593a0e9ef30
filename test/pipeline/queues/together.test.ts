import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import t from 'tap'
import { runTogether } from '../../../pipeline/queues/together.js'
import { Fault } from '../../../schemas/fault.js'

/** A run that goes on until it is released, and what each was asked to run. */
function createRuns(failing: (items: readonly number[]) => Error | undefined = () => undefined) {
  const runs: (readonly number[])[] = []
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let running = 0
  const run = async (items: readonly number[]) => {
    runs.push(items)
    running++
    if (running > 1) throw new Error('two runs at once')
    if (runs.length === 1) await released
    running--
    const error = failing(items)
    if (error !== undefined) throw error
  }
  return { runs, run, release }
}

/** How each of four items ends that are asked for at once, in runs of ten at most. */
async function endsOfFour({ run, release }: ReturnType<typeof createRuns>) {
  const ask = runTogether(run, { most: 10 })
  const asked = [1, 2, 3, 4].map(ask)
  release()
  return (await Promise.allSettled(asked)).map(({ status }) => status)
}

t.test('what comes while a run is under way runs together, in its order', async (t) => {
  const { runs, run, release } = createRuns()
  const ask = runTogether(run, { most: 3 })
  const asked = [1, 2, 3, 4, 5].map(ask)
  t.same(runs, [[1]], 'the first does not wait for others')
  release()
  await Promise.all(asked)
  t.same(runs, [[1], [2, 3, 4], [5]])
  await ask(6)
  t.same(runs.at(-1), [6], 'and so does one that comes later')
})

t.test('one whose fault does not pass fails alone', async (t) => {
  const runs = createRuns((items) => (items.includes(3) ? new TypeError('three') : undefined))
  t.same(await endsOfFour(runs), ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  t.same(runs.runs, [[1], [2, 3, 4], [2], [3], [4]])
})

t.test('a fault that passes is that of all: nothing is asked again while it lasts', async (t) => {
  const away = new Fault('STORE_UNREACHABLE', 'away')
  const runs = createRuns((items) => (items.includes(3) ? away : undefined))
  t.same(await endsOfFour(runs), ['fulfilled', 'rejected', 'rejected', 'rejected'])
  t.same(runs.runs, [[1], [2, 3, 4]])
})

t.test('a run has the task of the first who asked for something in it', async (t) => {
  const tasks = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const ask = runTogether<string>(
    async (items) => {
      await Promise.resolve()
      seen.push([...items, tasks.getStore()])
    },
    { most: 10 },
  )
  await Promise.all(['a', 'b', 'c'].map((task) => tasks.run(task, () => ask(task))))
  t.same(seen, [
    ['a', 'a'],
    ['b', 'c', 'b'],
  ])
})

t.test('what may not be in a run with those before it begins the next one', async (t) => {
  const { runs, run, release } = createRuns()
  const ask = runTogether(run, {
    most: 10,
    joins: (items, item) => item > (items.at(-1) ?? 0),
  })
  const asked = [5, 1, 2, 2, 3, 1].map(ask)
  release()
  await Promise.all(asked)
  t.same(runs, [[5], [1, 2], [2, 3], [1]])
})

t.test('a run that does not end holds up the next one for a time only', async (t) => {
  const runs: (readonly number[])[] = []
  const never = new Promise<void>(() => undefined)
  const ask = runTogether<number>(
    async (items) => {
      runs.push(items)
      if (items.includes(1)) await never
    },
    { most: 10, patienceMs: 50 },
  )
  void ask(1)
  await Promise.all([ask(2), ask(3)])
  t.same(runs, [[1], [2, 3]])
})

t.test('what may not pass a run that does not end waits for it', async (t) => {
  const runs: (readonly number[])[] = []
  const ending = new AbortController()
  const ask = runTogether<number>(
    async (items) => {
      runs.push(items)
      if (items.includes(1)) await once(ending.signal, 'abort')
    },
    {
      most: 10,
      patienceMs: 50,
      passes: (underWay, item) => !underWay.some((other) => other % 10 === item % 10),
    },
  )
  const held = [ask(1), ask(11)]
  await Promise.all([ask(2), ask(12)])
  held.push(ask(21))
  await ask(3)
  t.same(runs, [[1], [2, 12], [3]])
  ending.abort()
  await Promise.all(held)
  t.same(runs.at(-1), [11, 21], 'in their order')
})
