import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { optionsOf } from '../../../pipeline/queues/jobs.js'
import { until } from '../../story/rig/stack.js'
import { customerAt, migratedStore, profile } from '../customers/registering.js'
import { createBroker, ofName } from '../queues/broker.js'
import { startWorker } from './worker.js'

const store = await migratedStore(t)
const { redis, newQueues } = await createBroker(t)

t.test('a registration that was put off does not open again what a later one closed', async (t) => {
  const worker = await startWorker(t, { profile, store: store.address, redisUrl: redis.url })
  t.teardown(() => worker.close())
  const { queues } = newQueues(t, profile.database)
  const kinds = async () => {
    const facts = await store.rows<{ kind: string }>({
      sql: `SELECT DISTINCT kind FROM registration_fact WHERE client_id = 'C' ORDER BY at`,
    })
    return facts.map(({ kind }) => kind)
  }
  const customer = customerAt({ clientId: 'C', accountNumber: 'A', meterId: 'M' })
  await queues.add('register', { v: 1, customers: [customer] })
  await until(async () => (await kinds()).length === 1)
  const late = await queues.turns.take({ v: 1, customers: [customer] })
  await queues.add('register', { v: 1, customers: [], closed: ['C'] })
  await until(async () => (await kinds()).length === 2)
  await ofName(queues, 'register').add('register', late, optionsOf('register', late))
  await until(async () => {
    const { waiting, active } = (await queues.counts()).register
    return waiting === 0 && active === 0
  })
  t.same(await kinds(), ['seen', 'closed'])
  const [last] = await store.rows({
    sql: `SELECT kind FROM registration_fact WHERE client_id = 'C' ORDER BY at DESC LIMIT 1`,
  })
  t.same(last, { kind: 'closed' })
})

t.test('a registration waits for the one of its client that another process runs', async (t) => {
  const worker = await startWorker(t, { profile, store: store.address, redisUrl: redis.url })
  t.teardown(() => worker.close())
  const { queues } = newQueues(t, profile.database)
  const isStored = async () => {
    const facts = await store.rows({ sql: `SELECT 1 FROM registration_fact WHERE client_id = 'W'` })
    return facts.length > 0
  }
  const customer = customerAt({ clientId: 'W', accountNumber: 'B', meterId: 'N' })
  const job = { v: 1 as const, customers: [customer] }
  await queues.turns.alone([job], async () => {
    await queues.add('register', job)
    await until(async () => (await queues.counts()).register['active'] === 1)
    await sleep(500)
    t.notOk(await isStored())
  })
  await until(isStored)
  t.pass('and is carried out then')
})
