import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createChangeNotice } from '../../../infra/alerts/change-notice.js'
import type { Fault } from '../../../schemas/fault.js'
import { noticeSchema, readsSettings } from '../../../schemas/gateway/reads-settings.js'
import { createLineByHand } from '../../pipeline/by-hand.js'
import { publishFile } from '../../pipeline/customers/registering.js'

const line = await createLineByHand(t)
const key = 'a secret of forty characters and no more'
const seen: number[] = []
let statuses: number[] = []

const server = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += piece
  const [, at, v1] = /^t=(\d+),v1=(\w+)$/.exec(String(request.headers['tieline-signature'])) ?? []
  const right = createHmac('sha256', key).update(`${at}.${body}`).digest('hex')
  const status = v1 === right ? (statuses.shift() ?? 204) : 401
  if (status === 204) seen.push(noticeSchema.parse(JSON.parse(body)).publishedSeq)
  response.writeHead(status).end()
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())

const faults: Fault[] = []
const { notify: settings } = readsSettings.parse({
  notify: {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/changes`,
    secret: { env: 'NOTICE_SECRET' },
    lookSeconds: 1,
  },
})
if (settings === undefined) throw new Error('the section was not read')
const options = {
  database: 'acme',
  settings,
  store: line.context.store.address,
  secret: () => key,
  onFailure: (fault: Fault) => void faults.push(fault),
}
const until = async (isDone: () => boolean) => {
  while (!isDone()) await sleep(50)
}
const newest = async () => {
  const [row] = await line.context.store.rows<{ newest: number }>({
    sql: 'SELECT toUInt32(max(published_seq)) AS newest FROM publication',
  })
  return row?.newest ?? 0
}
const publish = (arrival: number) => publishFile(line.context.store, { arrival, feed: 'Electric' })

t.test(
  'the platform learns the number up to which it can pull, and again after a restart',
  async (t) => {
    const first = createChangeNotice(options)
    await until(() => seen.length === 1)
    t.same(seen, [await newest()], 'where it begins')
    statuses = [503, 401]
    await publish(1)
    await until(() => seen.length === 2)
    t.equal(seen.at(-1), await newest())
    t.same(
      faults.map(({ code }) => code),
      ['NOTICE_UNREACHABLE', 'NOTICE_UNREACHABLE'],
    )
    t.match(faults[0]?.detail, /answered 503/)
    await first.close()
    await publish(2)
    const second = createChangeNotice(options)
    await until(() => seen.length === 3)
    t.equal(seen.at(-1), await newest(), 'nothing is missed while no gateway runs')
    await second.close()
  },
)

t.test('a short secret is refused at the start, with its setting', (t) => {
  t.throws(() => createChangeNotice({ ...options, secret: () => 'short' }), {
    code: 'CONFIG',
    message: /reads\.notify\.secret has 5 characters/,
  })
  t.end()
})
