import t from 'tap'
import { joinsRegistrations } from '../../../pipeline/queues/register-turns.js'
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
    t.match([first, second], [{ turn: 1 }, { turn: 2 }])
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
