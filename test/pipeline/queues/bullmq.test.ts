import t from 'tap'
import { type JobData, jobId } from '../../../pipeline/queues/jobs.js'
import { createProducerConnection } from '../../../pipeline/queues/redis.js'
import { Fault } from '../../../schemas/fault.js'
import { dumpOf, until } from '../../story/rig/stack.js'
import { consume, createBroker, ofName } from './broker.js'

const { redis, newQueues } = await createBroker(t)

t.test('only failures of its own end a job, however long the world was away', async (t) => {
  const { options, queues } = newQueues(t)
  let runs = 0
  const { failed, givenUp } = consume(t, {
    ...options,
    name: 'receive',
    run: async () => {
      runs++
      if (runs <= 3 || runs === 5) throw new Fault('STORE_UNREACHABLE', 'away')
      throw new Error(`run ${runs}`)
    },
  })
  await queues.add('receive', { v: 1, arrival: 7 })
  await until(() => givenUp.length > 0)
  t.equal(runs, 7, 'four passing faults and three failures')
  t.equal(failed.length, 7)
  t.same(givenUp, [{ v: 1, arrival: 7 }])
})

t.test('what holds a job up is known also while it is tried again', async (t) => {
  const { options, queues } = newQueues(t)
  const seen: unknown[] = []
  const run = async () => {
    seen.push(await queues.waits())
    if (seen.length < 2) throw new Fault('MDM_UNREACHABLE', 'away')
  }
  consume(t, { ...options, name: 'backfill', run })
  await queues.add('backfill', { v: 1, meterId: 'M-1' })
  await until(() => seen.length === 2)
  t.match(seen, [[], [{ job: 'backfill', code: 'MDM_UNREACHABLE', arrival: undefined }]])
  await until(async () => (await queues.waits()).length === 0)
})

t.test('a job that is tried for days does not grow', async (t) => {
  const { options, queues } = newQueues(t)
  const run = async () => {
    throw new Fault('STORE_UNREACHABLE', 'away')
  }
  const { failed } = consume(t, { ...options, name: 'receive', run })
  await queues.add('receive', { v: 1, arrival: 7 })
  await until(() => failed.length === 3)
  const [job] = await ofName(queues, 'receive').getJobs(['delayed', 'waiting', 'active'])
  t.equal(job?.stacktrace?.length, 1)
})

t.test('a job that ends each worker is given up at last', async (t) => {
  const { options, queues } = newQueues(t)
  const connection = createProducerConnection(options.redisUrl)
  t.teardown(() => connection.disconnect())
  const queue = ofName(queues, 'receive')
  let runs = 0
  for (const [arrival, deaths] of [
    [7, 101],
    [8, 100],
  ] as const) {
    await queues.add('receive', { v: 1, arrival })
    await connection.hset(queue.toKey(jobId('receive', { v: 1, arrival })), 'stc', deaths)
  }
  const run = async () => void runs++
  const { failed, givenUp } = consume(t, { ...options, name: 'receive', run })
  await until(() => runs === 1 && givenUp.length === 1)
  t.match(failed, [{ ids: { arrival: 7 }, error: { message: '101 workers died at it' } }])
  t.match(givenUp, [{ arrival: 7 }])
})

t.test('what a failure says stays out of Redis', async (t) => {
  const { options, queues } = newQueues(t)
  const connection = createProducerConnection(options.redisUrl)
  t.teardown(() => connection.disconnect())
  const dumps: string[] = []
  const { givenUp } = consume(t, {
    ...options,
    name: 'receive',
    run: async () => {
      dumps.push(await dumpOf(connection))
      if (dumps.length === 1) throw new Fault('STORE_UNREACHABLE', 'away', { cause: 'CANARY' })
      throw new Error('CANARY', { cause: 'CANARY' })
    },
  })
  await queues.add('receive', { v: 1, arrival: 7 })
  await until(() => givenUp.length > 0)
  dumps.push(await dumpOf(connection))
  t.match(dumps[1], /STORE_UNREACHABLE/, 'the first failure is there by its code')
  t.match(dumps[2], /unexpected failure/)
  t.notMatch(dumps.join(), /CANARY/)
})

t.test('the job of a worker that died is taken up by another within seconds', async (t) => {
  const { options, queues } = newQueues(t)
  const connection = createProducerConnection(options.redisUrl)
  t.teardown(() => connection.disconnect())
  let lockedMs = 0
  const run = async () => {
    const [lock = ''] = await connection.keys(`${options.prefix}:*:lock`)
    lockedMs = await connection.pttl(lock)
  }
  consume(t, { ...options, name: 'reconcile', run })
  await queues.add('reconcile', { v: 1, arrival: 7 })
  await until(() => lockedMs !== 0)
  t.ok(lockedMs > 0 && lockedMs <= 10_000, `${lockedMs} ms`)
})

t.test('a job of an unknown format is logged by its ids and frees its own', async (t) => {
  const { options, queues } = newQueues(t)
  const raw = ofName(queues, 'reconcile')
  const old = { v: 0, arrival: 7, 'A1,S1,M1': 'A1,S1,M2', chunk: { chunk: 'A1,S1,M3' } }
  await raw.add('reconcile', old, { jobId: 'reconcile-7', attempts: 1_000, removeOnFail: true })
  const done: unknown[] = []
  const run = async (data: unknown) => void done.push(data)
  const { failed, givenUp } = consume(t, { ...options, name: 'reconcile', run })
  await until(() => failed.length > 0)
  await until(async () => (await raw.getJob('reconcile-7')) === undefined)
  t.match(failed[0], { ids: { arrival: 7, chunk: undefined }, error: { code: 'CONFIG' } })
  t.notMatch(String(failed[0]?.error), /A1,S1/)
  t.same(givenUp, [], 'the ledger is not changed: the sweep queues the step again')
  await queues.add('reconcile', { v: 1, arrival: 7 })
  await until(() => done.length > 0)
  t.equal(failed.length, 1)
})

t.test('what comes round is of this format also where another release set it going', async (t) => {
  const { options, queues } = newQueues(t)
  const raw = ofName(queues, 'sweep')
  const everyMs = 300
  await raw.upsertJobScheduler('sweep', { every: everyMs }, { name: 'sweep', data: { v: 0 } })
  await queues.repeat('sweep', { v: 1 }, { every: everyMs })
  const done: unknown[] = []
  const run = async (data: unknown) => void done.push(data)
  consume(t, { ...options, name: 'sweep', run })
  await until(() => done.length > 1)
  t.same(done, [{ v: 1 }, { v: 1 }])
})

t.test('a step can be queued again as soon as it is done', async (t) => {
  const { options, queues } = newQueues(t)
  const done: string[] = []
  const run = async () => void done.push('run')
  consume(t, { ...options, name: 'reconcile', run })
  consume(t, { ...options, name: 'register', run })
  consume(t, { ...options, name: 'receive', run })
  consume(t, { ...options, name: 'settle', run })
  const customer = { clientId: 'C', acctStatus: 'A', meters: [] }
  const idle = async () => {
    const all = Object.values(await queues.counts())
    return all.every((one) => one['active'] === 0 && one['waiting'] === 0)
  }
  for (const turn of [1, 2]) {
    for (const name of ['receive', 'reconcile', 'settle'] as const) {
      await queues.add(name, { v: 1, arrival: 7 })
    }
    await queues.add('register', { v: 1, customers: [customer] })
    await until(async () => done.length >= 4 * turn && (await idle()))
  }
  t.equal(done.length, 8)
})

t.test(
  'the last word on a customer is queued, also if an earlier one that waits is the same',
  async (t) => {
    const { options, queues } = newQueues(t)
    for (const acctStatus of ['A', 'D', 'A']) {
      await queues.add('register', { v: 1, customers: [{ clientId: 'C', acctStatus, meters: [] }] })
    }
    t.match(await queues.counts(), { register: { waiting: 3 } })
    let last = ''
    const run = async ({ customers }: JobData<'register'>) => {
      last = customers[0]?.acctStatus ?? ''
    }
    consume(t, { ...options, name: 'register', run })
    await until(async () => (await queues.counts()).register['waiting'] === 0)
    await until(async () => (await queues.counts()).register['active'] === 0)
    t.equal(last, 'A')
  },
)

t.test('a planned job waits from its time on, a repeated one from its last attempt', async (t) => {
  const { queues } = newQueues(t)
  const connection = createProducerConnection(redis.url)
  t.teardown(() => connection.disconnect())
  const queue = ofName(queues, 'fetch')
  const plannedAt = Date.now() - 3_600_000
  await queue.add('fetch', {}, { jobId: 'planned', timestamp: plannedAt, delay: 3_000_000 })
  await queues.promote()
  t.same(await queues.oldest(), { fetch: plannedAt + 3_000_000 })
  await connection.hset(queue.toKey('planned'), 'processedOn', String(plannedAt + 3_100_000))
  t.same(await queues.oldest(), { fetch: plannedAt + 3_100_000 })
})

t.test('a Redis that answers and takes no writes is reported', async (t) => {
  const { queues } = newQueues(t)
  const connection = createProducerConnection(redis.url)
  t.teardown(() => connection.disconnect())
  t.same(await queues.waits(), [])
  await connection.config('SET', 'maxmemory', '1')
  const refused = { code: 'QUEUE_UNREACHABLE', detail: /^Redis command failed \(OOM .*maxmemory/ }
  await t.rejects(queues.waits(), refused)
  await t.rejects(queues.tryWriting(), refused)
  await connection.config('SET', 'maxmemory', '0')
  t.same(await queues.waits(), [])
})
