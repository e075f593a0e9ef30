/**
 * # 12.3 Operations are alerted
 *
 * What: Alerts are signed, sent until they are delivered, and never sent twice.
 * Why: An outage that is not reported lasts until the customers call.
 * Try: Set `alerts.url` and run `tieline probe alert`.
 */
import t from 'tap'
import { readOpenNotifications } from '../../../infra/alerts/notifications.js'
import { askRedis } from '../../../infra/redis/ask.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { createReceiver } from '../../infra/alerts/receiver.js'
import { customerAt } from '../../pipeline/customers/registering.js'
import { createStory, header, until } from '../rig/stack.js'

const receiver = await createReceiver()
const alerts = {
  url: receiver.url,
  secret: { env: 'ALERTS_SECRET' },
  lookSeconds: 1,
  timeoutMs: 500,
  failingMinutes: 0,
  freeDiskBytesMin: '100 TB',
  expected: [{ company: 'DEMO', feed: 'Gas', by: '00:00' }],
}
const elsewhere = { kind: 'folder', name: 'elsewhere', path: 'elsewhere', pollSeconds: 1 }
const inbox = { kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1 }
const mdm = { ingestion: 'backfill', backfill: { url: 'http://127.0.0.1:1/usage' } }
const story = await createStory({
  profile: { alerts, ...mdm, sources: [inbox, elsewhere] },
  stack: { secret: () => receiver.secret },
})
const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
t.teardown(async () => {
  await queues.close()
  await story.close()
  await receiver.close()
})

const person = '77310055221'
const good = `${header}\n${person},S-1,M-1,3/4/2024 0:00,0.25\n`
/** The alert key of the latest arrival, or of a later one. */
const keyOf = async (ahead: number) => {
  const [row] = await story.store.rows<{ arrival: number }>({
    sql: 'SELECT toUInt32(max(arrival)) AS arrival FROM arrival',
  })
  return `quarantined:${Number(row?.arrival) + ahead}`
}
const nameOf = (number: number) => `DEMO_05032024_Electric_${number}.csv`
/** Loads a file that is quarantined; returns its alert key. */
const quarantine = async (number: number) => {
  const { status } = await story.loadBytes(nameOf(number), `${good}${person},S-1,M-1`)
  t.equal(status, 'quarantined')
  return keyOf(0)
}
const of = (key: string) => receiver.messages.filter((message) => message.key === key)
/** Each failed attempt doubles the pause before the next. */
const hasCome = (key: string, times = 1) => until(() => of(key).length >= times)
const outcomeOf = async (key: string) =>
  (await readOpenNotifications(story.store)).find((one) => one.key === key)

t.test('problems are notified and signed, without personal data', async (t) => {
  const at = { accountNumber: person, externalSiteId: 'S-1', meterId: 'M-1' }
  await queues.add('register', { v: 1, customers: [customerAt({ clientId: '700', ...at })] })
  await hasCome('run:backfill')
  await story.loadBytes('DEMO_04032024_Electric.csv', good)
  const key = await quarantine(1)
  const disk = () => receiver.messages.find(({ about }) => about.kind === 'disk')
  await until(() => disk() !== undefined)
  for (const one of [key, 'late:DEMO:Electric', 'missing:DEMO:Gas', 'source:elsewhere']) {
    await hasCome(one)
  }
  t.match(of(key), [
    { state: 'raised', sequence: 1, database: 'story', about: { code: 'TRUNCATED' } },
  ])
  t.match(of('run:backfill'), [{ about: { code: 'MDM_UNREACHABLE', jobs: 1 } }])
  t.match(of('missing:DEMO:Gas'), [{ about: { kind: 'missing', files: 31 } }])
  t.notMatch(JSON.stringify(receiver.messages), /77310055221|S-1|M-1|csv/)
})

t.test(
  'no problem is notified twice, even if queues are emptied and the worker killed',
  async (t) => {
    await askRedis(story.stack.redisUrl, 'FLUSHALL')
    story.stack.worker.kill()
    await hasCome(await quarantine(2))
    const lasting = receiver.messages.filter(({ about }) => about.kind !== 'run')
    const ids = new Map(lasting.map(({ id, key }) => [id, key]))
    const keys = [...ids.values()]
    t.same(keys.length, new Set(keys).size, `${keys.join(' ')}; a repeated attempt has the same id`)
  },
)

t.test('a notification is retried until it is delivered, unchanged each time', async (t) => {
  const answers = [
    () => 503,
    () => {
      story.stack.worker.kill()
      return undefined
    },
    () => 429,
  ]
  const key = await keyOf(1)
  receiver.answer = (message) => (message.key === key ? (answers.shift() ?? (() => 204))() : 204)
  t.equal(await quarantine(3), key)
  await hasCome(key, 4)
  await until(async () => (await outcomeOf(key))?.outcome === 'delivered')
  t.equal(new Set(of(key).map(({ id }) => id)).size, 1)
  t.match(await outcomeOf(key), { attempts: 4, sequence: 1, status: 204 })
  t.match(story.logs(), /ALERT_UNREACHABLE.*answered 503; the notification is retried/)
})

t.test('a refused notification is not retried, and its outcome is shown', async (t) => {
  const key = await keyOf(1)
  receiver.answer = (message) => (message.key === key ? 400 : 204)
  t.equal(await quarantine(4), key)
  await until(async () => (await outcomeOf(key))?.outcome === 'refused')
  receiver.answer = () => 204
  await hasCome(await quarantine(5))
  t.equal(of(key).length, 1)
  t.match(await outcomeOf(key), { attempts: 1, status: 400 })
  t.equal(story.logs().match(/answered 400; the notification is not retried/g)?.length, 1)
})

t.test('a resolution is notified once', async (t) => {
  const [key] = receiver.messages.flatMap(({ key }) => (/^quarantined/.test(key) ? [key] : []))
  t.match(await story.loadBytes(nameOf(1), good.replace('0:00', '1:00')), { status: 'published' })
  await hasCome(String(key), 2)
  await hasCome(await quarantine(6))
  t.match(of(String(key)), [{ state: 'raised' }, { state: 'resolved', sequence: 2 }])
  t.equal(await outcomeOf(String(key)), undefined)
  t.notMatch(story.logs(), receiver.secret)
})
