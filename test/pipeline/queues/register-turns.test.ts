import t from 'tap'
import { createProducerConnection } from '../../../pipeline/queues/redis.js'
import { joinsRegistrations, passesRegistrations } from '../../../pipeline/queues/register-turns.js'
import { until } from '../../story/rig/stack.js'
import { consume, createBroker } from './broker.js'

const { newQueues } = await createBroker(t)
const seen = (...clientIds: readonly string[]) => ({
  v: 1 as const,
  customers: clientIds.map((clientId) => ({ clientId, acctStatus: 'A', meters: [] })),
})
const closing = (...closed: string[]) => ({ v: 1 as const, customers: [], closed })

t.test(
  'what is tried again says nothing more of a client of whom a later job was done',
  async (t) => {
    const { options, queues } = newQueues(t)
    const jobs: unknown[] = []
    consume(t, { ...options, name: 'register', run: async (job) => void jobs.push(job) })
    for (const job of [seen('C', 'D'), closing('C')]) await queues.add('register', job)
    await until(() => jobs.length === 2)
    const [first, second] = jobs as [ReturnType<typeof seen>, ReturnType<typeof closing>]
    const { turns } = queues
    t.same(await turns.current([first, second]), [first, second])
    await turns.record([second])
    t.match(await turns.current([first]), [{ customers: [{ clientId: 'D' }] }])
    await turns.record([first])
    t.same(await turns.current([second]), [second], 'it may be repeated itself')
    t.match(
      await turns.current([first]),
      [{ customers: [{ clientId: 'D' }] }],
      'and stays the latest',
    )
    const unnumbered = { ...seen('C'), turn: undefined }
    t.same(await turns.current([unnumbered]), [unnumbered], 'what another release queued counts')
  },
)

t.test(
  'a job that ran while Redis was emptied does not outdate those that come after',
  async (t) => {
    const { options, queues } = newQueues(t)
    const { turns } = queues
    const jobs = []
    for (let turn = 0; turn < 3; turn++) jobs.push(await turns.take(seen('C')))
    const redis = createProducerConnection(options.redisUrl)
    t.teardown(() => redis.disconnect())
    await redis.flushall()
    await turns.record(jobs)
    const next = await turns.take(closing('C'))
    t.same(await turns.current([next]), [next])
  },
)

t.test('turns go up where the clock of Redis was set back', async (t) => {
  const { options, queues } = newQueues(t)
  const redis = createProducerConnection(options.redisUrl)
  t.teardown(() => redis.disconnect())
  const hourAhead = Date.now() * 1_000 + 3_600_000_000
  await redis.set(`${options.prefix}:turn`, hourAhead)
  const taken = [await queues.turns.take(seen('C')), await queues.turns.take(seen('C'))]
  t.match(taken, [{ turn: hourAhead + 1 }, { turn: hourAhead + 2 }])
})

t.test(
  'of one client one process runs at a time, and one that died holds it for 30 s',
  async (t) => {
    const { options, queues } = newQueues(t)
    const redis = createProducerConnection(options.redisUrl)
    t.teardown(() => redis.disconnect())
    const steps: string[] = []
    const first = queues.turns.alone([seen('C', 'D')], async () => {
      steps.push('begins')
      await until(() => steps.includes('other'))
      steps.push('ends')
    })
    await until(() => steps.length === 1)
    const [key] = await redis.keys(`${options.prefix}:turn:*`)
    const leftMs = await redis.pttl(key as string)
    t.ok(leftMs > 0 && leftMs <= 30_000, 'what its process does not release, Redis does')
    const second = queues.turns.alone([closing('D')], async () => void steps.push('next'))
    await queues.turns.alone([seen('E')], async () => void steps.push('other'))
    await Promise.all([first, second])
    t.same(steps, ['begins', 'other', 'ends', 'next'])
    const failing = async () => Promise.reject(new Error('no'))
    await t.rejects(queues.turns.alone([seen('C')], failing), { message: 'no' })
    t.same(await redis.keys(`${options.prefix}:turn:*`), [], 'a failed run releases its clients')
  },
)

t.test('a Redis that is away is a fault that passes', async (t) => {
  const { redis, newQueues } = await createBroker(t)
  const { turns } = newQueues(t).queues
  await redis.close()
  const job = { ...seen('C'), turn: 1 }
  const passing = { code: 'QUEUE_UNREACHABLE', retry: true }
  await t.rejects(turns.current([job]), passing)
  await t.rejects(turns.record([job]), passing)
})

t.test('an earlier job that closes what a later one names runs by itself', async (t) => {
  const before = [{ ...seen('C'), turn: 2 }]
  t.notOk(joinsRegistrations(before, { ...closing('C'), turn: 1 }))
  t.ok(joinsRegistrations(before, { ...closing('C'), turn: 3 }))
  t.ok(joinsRegistrations(before, { ...closing('D'), turn: 1 }))
  t.notOk(joinsRegistrations(before, { ...seen('C'), turn: 3 }))
})

t.test('a job waits for those that run on and name one of its clients', async (t) => {
  const underWay = [seen('C', 'D'), closing('E')]
  for (const job of [closing('C'), seen('F', 'D'), seen('E')]) {
    t.notOk(passesRegistrations(underWay, job))
  }
  t.ok(passesRegistrations(underWay, seen('F')))
})
