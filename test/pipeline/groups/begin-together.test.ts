import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createBegin } from '../../../pipeline/groups/begin-together.js'
import type { Arrival, Ledger } from '../../../pipeline/ledger/ledger.js'
import type { Queues } from '../../../pipeline/queues/bullmq.js'
import { blankState } from '../../../pipeline/steps/receive.js'
import { Fault } from '../../../schemas/fault.js'
import { until } from '../../story/rig/stack.js'
import { profile } from '../customers/registering.js'

const now = () => new Date()
const arrivalOf = (arrival: number, bytes = 100): Arrival => ({
  ...{ arrival, bytes, source: 'upload', name: `DEMO_04032024_Electric_${arrival}.csv` },
  ...{ path: `/${arrival}`, machine: '', modifiedMs: 0, wholeBy: '', repairs: 0 },
  ...{ force: false, acceptRejects: false, arrivedAt: now() },
})

/** What is queued, and a ledger in which a file is decided once it is named. */
function createBeginning(waitMs?: number) {
  const queued: object[] = []
  const failed: unknown[] = []
  const decided = new Set<number>()
  let fault: Error | undefined
  let refusal: Error | undefined
  const queues = {
    add: async (name: string, { v: _, ...data }: object & { readonly v: 1 }) => {
      if (fault !== undefined) throw fault
      queued.push({ name, ...data })
    },
  } as unknown as Queues
  const states = async (numbers: readonly number[]) => {
    if (refusal !== undefined) throw refusal
    return numbers.map((number) => {
      const status = decided.has(number) ? ('published' as const) : ('received' as const)
      return { ...blankState({ now }, arrivalOf(number)), status }
    })
  }
  const ledger = { states } as unknown as Ledger
  const context = { profile, queues, ledger, sources: new Map() }
  const begin = createBegin(context, (error) => failed.push(error), waitMs)
  const fail = (error: Error | undefined) => {
    fault = error
  }
  t.teardown(begin.close)
  const refuse = (error: Error) => {
    refusal = error
  }
  return { begin, queued, failed, decided, fail, refuse }
}

t.test('small files that come while others wait for their verdict are gathered', async (t) => {
  const { begin, queued, decided } = createBeginning()
  for (const number of [1, 2, 3, 4]) begin(arrivalOf(number))
  const first = { name: 'receive', arrival: 1 }
  await until(() => queued.length > 0)
  await sleep(1_200)
  t.same(queued, [first], 'the first is begun at once, the others are held back')
  decided.add(1)
  await until(() => queued.length > 1)
  t.same(queued, [first, { name: 'gather', arrivals: [2, 3, 4] }])
})

t.test('a file without a verdict holds up the others for a time only', async (t) => {
  const { begin, queued } = createBeginning(600)
  begin(arrivalOf(1))
  begin(arrivalOf(2))
  await until(() => queued.length > 1)
  t.same(queued, [
    { name: 'receive', arrival: 1 },
    { name: 'receive', arrival: 2 },
  ])
})

t.test('a large file waits for nobody, and nobody for it', async (t) => {
  const { begin, queued } = createBeginning()
  begin(arrivalOf(1, 5_000_000))
  begin(arrivalOf(2))
  begin(arrivalOf(3))
  begin(arrivalOf(4, 5_000_000))
  await until(() => queued.length > 2)
  const numbers = queued.map((job) => ('arrival' in job ? job.arrival : job))
  t.same(new Set(numbers), new Set([1, 2, 4]))
})

t.test('what is held back is begun when the process ends', async (t) => {
  const { begin, queued } = createBeginning()
  for (const number of [1, 2, 3]) begin(arrivalOf(number))
  await begin.close()
  t.same(queued, [
    { name: 'receive', arrival: 1 },
    { name: 'gather', arrivals: [2, 3] },
  ])
})

t.test('files whose verdict cannot be asked for are begun once, and it is said', async (t) => {
  const { begin, queued, failed, refuse } = createBeginning()
  refuse(new Fault('STORE_REFUSED', 'no right'))
  for (const number of [1, 2, 3]) begin(arrivalOf(number))
  await until(() => failed.length > 1)
  t.same(queued, [
    { name: 'receive', arrival: 1 },
    { name: 'gather', arrivals: [2, 3] },
  ])
  t.match(failed, [{ code: 'STORE_REFUSED' }, { code: 'STORE_REFUSED' }])
})

t.test(
  'without Redis the sweep begins them, and nothing fails; anything else is said',
  async (t) => {
    const { begin, queued, failed, fail } = createBeginning()
    fail(new Fault('QUEUE_UNREACHABLE', 'away'))
    begin(arrivalOf(1))
    await sleep(50)
    t.same(failed, [])
    const wrong = new TypeError('wrong')
    fail(wrong)
    begin(arrivalOf(2))
    await until(() => failed.length > 0)
    t.same(failed, [wrong])
    fail(undefined)
    begin(arrivalOf(3))
    await until(() => queued.length > 0)
    t.same(queued, [{ name: 'receive', arrival: 3 }])
  },
)
