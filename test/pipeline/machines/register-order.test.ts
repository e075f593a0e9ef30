import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { openHome } from '../../../infra/stack/home.js'
import { optionsOf } from '../../../pipeline/queues/jobs.js'
import { createWorker } from '../../../pipeline/worker.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'
import { customerAt, migratedStore, profile } from '../customers/registering.js'
import { createBroker, ofName } from '../queues/broker.js'

const store = await migratedStore(t)
const { redis, newQueues } = await createBroker(t)

t.test('a registration that was put off does not open again what a later one closed', async (t) => {
  const { machine, ...folders } = openHome(join(createFolder(t), 'home'))
  const worker = await createWorker({
    profile,
    folders,
    machine,
    store: store.address,
    redisUrl: redis.url,
    secret: () => '',
    log: pino({ level: 'silent' }),
  })
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
