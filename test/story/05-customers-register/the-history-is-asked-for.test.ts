/**
 * # 5.3 The history is requested
 *
 * What: At the first registration the history of the meters is requested from the MDM and loaded
 * like a file.
 * Why: With `ingestion: backfill` nothing was stored before; the request must survive crashes
 * and outages.
 * Try: Set `backfill.url`, register a customer and look at `tieline status`.
 */
import t from 'tap'
import { createDemoMdm } from '../../../infra/demo/back-office/mdm.js'
import { demoCustomers } from '../../../infra/demo/customers.js'
import { askRedis } from '../../../infra/redis/ask.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { post } from '../../api/rig.js'
import { createStory, until } from '../rig/stack.js'

const office = { seed: 20_251_102, count: 20 }
const people = demoCustomers(office.seed, office.count).filter(({ meters }) => meters.length === 2)
const mdm = await createDemoMdm({ port: 0, ...office })
const url = `${mdm.url}/usage`
const story = await createStory({ profile: { ingestion: 'backfill', backfill: { url } } })
const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
t.teardown(async () => {
  await queues.close()
  await story.close()
  await mdm.close()
})

/** As the gateway hands a customer over. */
const register = async (index: number) => {
  const { clientId, acctStatus, externalSiteId, meters } = people[index] ?? people[0] ?? never()
  const registered = meters.map((meter) => ({ isAMI: true, ...meter, externalSiteId }))
  await queues.add('register', { v: 1, customers: [{ clientId, acctStatus, meters: registered }] })
}
const never = () => {
  throw new Error('nobody')
}
const asked = async (index: number) => {
  const { asked } = (await (await fetch(`${mdm.url}/asked`)).json()) as { asked: string[] }
  return asked.filter((one) => people[index]?.meters.some(({ meterId }) => meterId === one)).length
}
/** Reads of a customer that a data engineer sees: 72 electric ones and 3 days of gas. */
const reads = async (index: number) => {
  const [row] = await story.reader.rows<{ reads: string }>({
    sql: 'SELECT toString(count()) AS reads FROM registered_usage WHERE has(client_ids, {id:String})',
    parameters: { id: people[index]?.clientId },
  })
  return Number(row?.reads)
}
const hasAll = (index: number) => async () => (await reads(index).catch(() => 0)) === 75

t.test('the first registration of a customer brings the history of the meters', async (t) => {
  await register(0)
  await until(hasAll(0))
  t.equal(await asked(0), 2, 'each meter once')
  await register(0)
  await register(1)
  await until(hasAll(1))
  t.equal(await asked(0), 2, 'and not again')
})

t.test('it comes although worker and queues are lost while the MDM is silent', async (t) => {
  await post(`${mdm.url}/faults`, { kind: 'slow', ms: 60_000 })
  await register(2)
  await until(async () => {
    const open = "SELECT 1 FROM history_request FINAL WHERE state = 'open'"
    return (await story.store.rows({ sql: open })).length === 2
  })
  story.stack.worker.kill()
  await askRedis(story.stack.redisUrl, 'FLUSHALL')
  await post(`${mdm.url}/faults`, { kind: 'none' })
  await until(hasAll(2))
  t.pass()
})

t.test('it comes when an MDM that was away is back, and nothing says whose it is', async (t) => {
  await post(`${mdm.url}/faults`, { kind: 'down' })
  await register(3)
  await until(() => /MDM_UNREACHABLE/.test(story.logs()))
  await post(`${mdm.url}/faults`, { kind: 'none' })
  await until(hasAll(3))
  const ids = people.slice(0, 4).flatMap(({ meters }) => meters.map(({ meterId }) => meterId))
  for (const id of ids) t.notMatch(story.logs(), id, 'no meter is logged')
})
