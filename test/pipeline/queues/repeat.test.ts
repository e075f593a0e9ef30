import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { createConsumer, createQueues, type Queues } from '../../../pipeline/queues/bullmq.js'
import { createProducerConnection } from '../../../pipeline/queues/redis.js'
import { alone, keepRepeating } from '../../../pipeline/queues/repeat.js'
import { Fault } from '../../../schemas/fault.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { until } from '../../story/rig/stack.js'
import { createBroker, ofName } from './broker.js'

const { redis } = await createBroker(t)
const redisUrl = redis.url
const night = { v: 1, night: true } as const

function newQueues(t: Test, prefix: string): Queues {
  const queues = createQueues({ redisUrl, prefix })
  t.teardown(() => queues.close())
  return queues
}

const retainOf = (queues: Queues) => ofName(queues, 'retain')

t.test('two workers repeat one cleaning each hour and one each night of the utility', async (t) => {
  const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
  const workers = [newQueues(t, 'two'), newQueues(t, 'two')]
  const own = newQueues(t, 'two:machine')
  for (const queues of [...workers, ...workers]) {
    const context = { profile, queues } as unknown as PipelineContext
    const repeating = await keepRepeating(context, own)
    t.teardown(() => repeating.close())
  }
  const [queues] = workers as [Queues]
  const schedulers = await retainOf(queues).getJobSchedulers()
  const byData = schedulers.map(({ template, every, pattern, tz, next }) => {
    const hour = new Date(next ?? 0).toLocaleString('en-US', { timeZone: tz, timeStyle: 'short' })
    return pattern === undefined ? [template?.data, every] : [template?.data, pattern, tz, hour]
  })
  t.same(
    byData.sort((a, b) => a.length - b.length),
    [
      [{ v: 1 }, 3_600_000],
      [night, '0 4 * * *', 'America/Detroit', '4:00 AM'],
    ],
  )
  const waiting = await retainOf(queues).getJobs(['delayed', 'waiting', 'active'])
  t.equal(waiting.length, 2)
  const hashing = await ofName(own, 'verify').getJobSchedulers()
  t.match(hashing, [{ pattern: '0 5 * * *' }], 'each machine looks at its own kept files')
  for (const name of ['sweep', 'retain'] as const) t.ok(alone.includes(name))
})

t.test('what a clock that was ahead held up is tried when a worker starts', async (t) => {
  const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
  const [queues, own] = [newQueues(t, 'ahead'), newQueues(t, 'ahead:machine')]
  const fetches = ofName(queues, 'fetch')
  await fetches.add('fetch', { v: 1, arrival: 7 }, { delay: 86_400_000 })
  const repeating = await keepRepeating({ profile, queues } as unknown as PipelineContext, own)
  t.teardown(() => repeating.close())
  await until(async () => (await fetches.getWaitingCount()) === 1)
  t.equal(await retainOf(queues).getDelayedCount(), 1, 'the run of the night waits for it')
})

t.test('thousands of tries are run at once, and what repeats waits for its time', async (t) => {
  const queues = newQueues(t, 'thousands')
  await queues.repeat('retain', night, { pattern: '0 4 * * *', tz: 'America/Detroit' })
  const tries = { delay: 172_800_000, removeOnComplete: true }
  const some = Array.from({ length: 2_500 }, () => ({ name: 'retain', data: night, opts: tries }))
  await retainOf(queues).addBulk(some)
  await queues.promote()
  t.match((await queues.counts()).retain, { waiting: 2_500, delayed: 1 })
})

t.test('a run of the night that meets an outage is tried again', async (t) => {
  const prefix = 'outage'
  const queues = newQueues(t, prefix)
  const nightly = { pattern: '0 4 * * *', tz: 'America/Detroit' }
  await queues.repeat('verify', night, nightly)
  let runs = 0
  const consumer = createConsumer({
    ...{ name: 'verify', redisUrl, prefix, concurrency: 1, attemptsMax: 1 },
    run: async () => {
      if (++runs < 3) throw new Fault('STORE_UNREACHABLE', 'away')
    },
    fail: async () => undefined,
    onFailure: () => undefined,
    onDone: () => undefined,
  })
  t.teardown(() => consumer.close())
  const queue = ofName(queues, 'verify')
  await queue.promoteJobs()
  await until(() => runs === 3)
  await until(async () => (await queue.getActiveCount()) === 0)
  await queues.repeat('verify', night, nightly)
  const [next, ...others] = await queue.getJobSchedulers()
  t.same(others, [])
  t.ok(Number(next?.next) < Date.now() + 25 * 3_600_000, 'it comes the next night')
  t.equal(await queue.getDelayedCount(), 1)
})

t.test('all repeats again in a Redis that was emptied', async (t) => {
  const sources = [{ name: 'inbox', kind: 'folder', path: '/inbox' }]
  const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit', sources })
  const [queues, own] = [newQueues(t, 'emptied'), newQueues(t, 'emptied:machine')]
  const context = { profile, queues } as unknown as PipelineContext
  const repeating = await keepRepeating(context, own)
  t.teardown(() => repeating.close())
  const connection = createProducerConnection(redisUrl)
  t.teardown(() => connection.disconnect())
  const repeated = async () => {
    const schedulers = [...queues.each, ...own.each].map((one) => one.getJobSchedulers())
    const alones = queues.each.map((one) => one.getGlobalConcurrency())
    return [(await Promise.all(schedulers)).flat().length, await Promise.all(alones)]
  }
  const before = await repeated()
  await connection.flushall()
  t.match(await repeated(), [0])
  await until(async () => isDeepStrictEqual(await repeated(), before))
})

t.test(
  'each machine repeats again in a Redis that was emptied, also when that fails at first',
  async (t) => {
    const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
    const queues = newQueues(t, 'machines')
    const owns = [newQueues(t, 'machines:one'), newQueues(t, 'machines:two')]
    let failures = 0
    let looks = 0
    const runAlone: Queues['runAlone'] = async (name) => {
      if (failures-- > 0) throw new Fault('QUEUE_UNREACHABLE', 'away')
      return queues.runAlone(name)
    }
    const repeat: Queues['repeat'] = async (name, ...how) => {
      if (name === 'sweep') looks++
      return queues.repeat(name, ...how)
    }
    const log = { warn: () => undefined, error: () => undefined }
    const context = {
      profile,
      queues: { ...queues, runAlone, repeat },
      log,
    } as unknown as PipelineContext
    for (const own of owns) {
      const repeating = await keepRepeating(context, own)
      t.teardown(() => repeating.close())
    }
    const repeated = () =>
      Promise.all([queues, ...owns].map((one) => ofName(one, 'retain').getJobSchedulersCount()))
    const before = await repeated()
    // Of each its start, its first look, which is at everything, and another one.
    await until(() => looks === 8)
    const connection = createProducerConnection(redisUrl)
    t.teardown(() => connection.disconnect())
    failures = 1
    looks = 0
    await connection.flushall()
    await until(async () => isDeepStrictEqual(await repeated(), before))
    t.ok(looks < 12, 'not only when all is looked at again')
  },
)

t.test('a cleaning whose worker was killed is done by another one, once and alone', async (t) => {
  const prefix = 'killed'
  const queues = newQueues(t, prefix)
  await queues.runAlone('retain')
  await queues.add('retain', night)
  const program = fileURLToPath(new URL('retain-process.js', import.meta.url))
  const worker = fork(program, [redisUrl, prefix])
  t.teardown(() => worker.kill('SIGKILL'))
  t.same(await once(worker, 'message'), [night, undefined])
  const done: unknown[] = []
  let isDead = false
  let isBeside = false
  const other = createConsumer({
    ...{ name: 'retain', redisUrl, prefix, concurrency: 1, attemptsMax: 1 },
    run: async (data) => {
      isBeside ||= !isDead
      done.push(data)
    },
    fail: async () => undefined,
    onFailure: () => undefined,
    onDone: () => undefined,
  })
  t.teardown(() => other.close())
  await queues.add('retain', { v: 1 })
  await sleep(500)
  t.match((await queues.counts()).retain, { waiting: 1, active: 1 })
  isDead = worker.kill('SIGKILL')
  await until(() => done.length === 2)
  t.same(new Set(done), new Set([night, { v: 1 }]))
  t.notOk(isBeside, 'as long as it lived, no other cleaning ran')
})
