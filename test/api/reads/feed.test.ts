import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { t } from 'tap'
import type { Answer } from '../../../api/answer.js'
import { cutDownload } from '../../../api/answer.js'
import { createDownloads, createFeedRoute } from '../../../api/reads/feed.js'
import { createReadLanes } from '../../../api/reads/lanes.js'
import type { GatewayRequest } from '../../../api/request.js'
import { createOpenFeed } from '../../../pipeline/green-button/feed.js'
import { createZone } from '../../../schemas/time/zone.js'
import { timeZone } from '../../pipeline/bills/rig.js'
import { createCustomer, feedOf, january } from '../../pipeline/green-button/rig.js'
import { readingOf, usagePage } from './rig.js'

const rig = await createCustomer(t)
const now = () => new Date('2026-04-01T00:00:00Z')
const reading = readingOf(t, rig.store, { now })
const profile = { database: 'tieline' }
const openFeed = createOpenFeed({ profile, zone: createZone(timeZone), now })
const context = { ...reading, openFeed }
const limits = () => ({ daysMax: 1_100, download: createDownloads({ feedsMax: 1, waitMsMax: 10 }) })

const requestOf = (query: string, acceptEncoding?: string): GatewayRequest => ({
  ...{ method: 'GET', path: '/v1/gateway/green-button', query, authorization: undefined },
  ...{ body: '', id: 'a', isMutual: false, startedAt: 0, field: () => acceptEncoding },
})
const days = 'from=2026-01-01&to=2026-01-31'
const threeDays = 'from=2026-01-01&to=2026-01-03'
const allowed = async () => undefined

function streamOf(answer: Answer): Readable {
  if (answer.kind !== 'download') throw new Error(JSON.stringify(answer))
  return answer.stream
}

t.test('the download is the feed of the command, to the byte', async (t) => {
  const route = createFeedRoute({ ...context, ...limits() })
  const answer = await route('anna', requestOf(days), allowed)
  t.match(answer, {
    headers: [
      ['Content-Type', /atom/],
      ['Content-Disposition', /attachment/],
    ],
  })
  t.equal(await text(streamOf(answer)), await feedOf(rig.store, january))
})

t.test(
  'it is compressed for a client that takes gzip, and each says what it varies by',
  async (t) => {
    const route = createFeedRoute({ ...context, ...limits() })
    const plain = await feedOf(rig.store, { ...january, to: '2026-01-03' })
    const vary = ['Vary', 'Authorization, Accept-Encoding']
    const encoding = ['Content-Encoding', 'gzip']
    for (const [taken, isPacked] of [
      ['gzip', true],
      ['br;q=1, gzip;q=0.1', true],
      ['*', true],
      ['gzip;q=0, identity', false],
      ['br', false],
      [undefined, false],
    ] as const) {
      const answer = await route('anna', requestOf(threeDays, taken), allowed)
      const body = await buffer(streamOf(answer))
      const headers = answer.kind === 'download' ? answer.headers : []
      t.same(headers.slice(-2), isPacked ? [vary, encoding] : [headers.at(-2), vary], `${taken}`)
      t.notOk(headers.some(([name]) => name === 'ETag'))
      t.equal(String(isPacked ? gunzipSync(body) : body), plain, `${taken}`)
      t.equal(body.length < plain.length / 8, isPacked, `${body.length} bytes`)
    }
  },
)

t.test('several parts of a series are one series', async (t) => {
  const reads = { meter: 'HOUSE', account: 'ACCOUNT-1', from: '2026-03-20T04:00:00Z' }
  await rig.read({ ...reads, quantities: new Array(96).fill('1') })
  const route = createFeedRoute({ ...context, ...limits() })
  const until = 'from=2026-01-01&to=2026-03-31'
  const feed = await text(streamOf(await route('anna', requestOf(until), allowed)))
  t.equal(feed, await feedOf(rig.store, { ...january, to: '2026-03-31' }))
})

t.test('a client that does not read holds no lane, and others have their answers', async (t) => {
  const lanes = createReadLanes({ lanes: 1, waitMsMax: 60_000 })
  const { source } = context
  const narrow = {
    rows: <T>(statement: Parameters<typeof source.rows>[0]) =>
      lanes(() => source.rows<T>(statement)),
    lines: (statement: Parameters<typeof source.lines>[0]) => lanes(() => source.lines(statement)),
  }
  const route = createFeedRoute({ ...context, ...limits(), source: narrow })
  const stream = streamOf(await route('anna', requestOf(days), allowed))
  const iterator = stream[Symbol.asyncIterator]()
  await iterator.next()
  const query = { from: '2026-01-01', to: '2026-01-31', meterId: 'GAS' }
  const { points } = await usagePage({ ...context, source: narrow }, 'anna', query)
  t.equal(points.length, 31)
  await t.rejects(
    route('anna', requestOf(threeDays), allowed),
    { code: 'OVERLOAD' },
    'one at a time',
  )
  await iterator.return?.()
  const again = await route('anna', requestOf(threeDays), allowed)
  t.equal(again.kind, 'download', 'who has left makes room')
  streamOf(again).destroy()
})

t.test('a token that ends cuts the download', async (t) => {
  let judged = 0
  const route = createFeedRoute({ ...context, ...limits() })
  const expectAccess = async () => {
    judged++
    if (judged % 2 === 0) throw cutDownload('token or account ended')
  }
  const answer = await route('anna', requestOf(threeDays), expectAccess)
  let feed = ''
  const read = async () => {
    for await (const piece of streamOf(answer)) feed += piece
  }
  await t.rejects(read(), { message: 'token or account ended' })
  t.match(feed, '<IntervalBlock')
  t.notMatch(feed, '</feed>')
  const packed = await route('anna', requestOf(threeDays, 'gzip'), expectAccess)
  await t.rejects(buffer(streamOf(packed)), { message: 'token or account ended' })
  t.equal((await route('anna', requestOf(threeDays), allowed)).kind, 'download', 'its turn is free')
})

t.test('who has no reads has no feed, and wrong days are refused', async (t) => {
  const route = createFeedRoute({ ...context, ...limits() })
  const none = { kind: 'bare', status: 404 }
  t.match(await route('nobody', requestOf(threeDays), allowed), none)
  t.match(await route('anna', requestOf('from=2025-01-01&to=2025-01-31'), allowed), none)
  for (const [query, detail] of [
    ['from=2026-01-31&to=2026-01-01', /^from: use a day that is not after/],
    ['from=1971-01-01&to=2070-12-31', /at most 1100 days/],
    ['from=2026-01-01', /^to: /],
    [`${days}&meterId=HOUSE`, /unknown parameter/],
  ] as const) {
    t.match(await route('anna', requestOf(query), allowed), { kind: 'wrong', detail })
  }
})
