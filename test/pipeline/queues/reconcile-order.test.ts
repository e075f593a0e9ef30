import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Fault } from '../../../schemas/fault.js'
import { until } from '../../story/rig/stack.js'
import { consume, createBroker, ofName } from './broker.js'

const { newQueues } = await createBroker(t)

t.test('of those that wait for a file ahead the earliest is run at once', async (t) => {
  const { queues } = newQueues(t)
  const queue = ofName(queues, 'reconcile')
  await queues.promoteNext('reconcile')
  const others = [
    [7, 'STORE_UNREACHABLE'],
    [10, 'FILE_AHEAD'],
    [9, 'FILE_AHEAD'],
  ] as const
  for (const [arrival, code] of others) {
    const job = await queue.add('x', { v: 1, arrival }, { delay: 3_600_000 })
    await job.updateProgress({ failures: 0, wait: { code, detail: '', since: new Date() } })
  }
  const ready = async () =>
    (await queue.getJobs(['wait', 'prioritized'])).map((job) => job.data.arrival)
  await queues.promoteNext('reconcile')
  t.same(await ready(), [9])
  await queues.promoteNext('reconcile')
  await queues.promoteNext('reconcile')
  t.same(new Set(await ready()), new Set([9, 10]), 'what waits for anything else goes on waiting')
})

t.test('files whose chunks are loaded get their verdicts in that order', async (t) => {
  const { options, queues } = newQueues(t)
  const arrivals = [1, 2, 3]
  for (const arrival of arrivals) {
    await queues.addFlow({ v: 1, arrival }, [loadOf(0, arrival)])
  }
  consume(t, { ...options, name: 'load', run: async () => undefined })
  await until(async () => (await queues.counts()).reconcile['waiting'] === 3)
  t.ok((await queues.oldest()).reconcile, 'and how long they wait is known')
  const decided: number[] = []
  const run = async ({ arrival }: { arrival: number }) => void decided.push(arrival)
  consume(t, { ...options, name: 'reconcile', run })
  await until(() => decided.length === 3)
  t.same(decided, arrivals)
})

t.test('a file that waits for one ahead is seldom tried by itself', async (t) => {
  const { options, queues } = newQueues(t)
  const run = async ({ arrival }: { arrival: number }) => {
    throw new Fault(arrival === 7 ? 'FILE_AHEAD' : 'STORE_UNREACHABLE', 'away')
  }
  const { failed } = consume(t, { ...options, name: 'reconcile', run })
  for (const arrival of [7, 8]) await queues.add('reconcile', { v: 1, arrival })
  await until(() => failed.length > 4)
  const delayed = await ofName(queues, 'reconcile').getDelayed()
  const [ahead] = delayed.filter(({ data }) => data.arrival === 7)
  t.match(ahead, { attemptsMade: 1, delay: 30_000 })
})

t.test('a flow whose loads have all been done already goes on to its reconcile', async (t) => {
  const { options, queues } = newQueues(t)
  let loaded = 0
  let reconciled = 0
  consume(t, { ...options, name: 'load', run: async () => void loaded++ })
  consume(t, { ...options, name: 'reconcile', run: async () => void reconciled++ })
  for (const turn of [1, 2]) {
    await queues.addFlow({ v: 1, arrival: 7 }, [loadOf(0), loadOf(1)])
    await until(() => reconciled === turn)
  }
  t.equal(loaded, 2)
})

t.test('two workers never run a queue that runs alone at once', async (t) => {
  const { options, queues } = newQueues(t)
  await queues.runAlone('reconcile')
  let running = 0
  let most = 0
  let done = 0
  const run = async () => {
    most = Math.max(most, ++running)
    await sleep(100)
    running--
    done++
  }
  for (let worker = 0; worker < 2; worker++) consume(t, { ...options, name: 'reconcile', run })
  for (let arrival = 1; arrival <= 6; arrival++) await queues.add('reconcile', { v: 1, arrival })
  await until(() => done === 6)
  t.equal(most, 1)
})

function loadOf(chunk: number, arrival = 7) {
  const counted = { chunk, line: 2, lines: 1, rows: 1, bytes: 10 }
  const kind = { format: 'plain', crc32: 1, crlf: false, repeats: false } as const
  const file = { arrival, feed: 'Gas', seconds: 86_400, format: 'slashDate' } as const
  return { v: 1, ...file, chunk: { ...counted, ...kind } } as const
}
