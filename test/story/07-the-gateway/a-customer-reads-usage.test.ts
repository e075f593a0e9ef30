/**
 * # 7.4 A customer reads usage
 *
 * What: With the token of the login, a customer gets his own reads of a meter by hour, day or month,
 * and later only what has changed.
 * Why: A platform shows usage, and must never show that of another customer.
 * Try: Add the section `reads` to a profile and repeat the requests of this chapter with `curl`.
 */
import { t } from 'tap'
import type { UsageAnswer } from '../../api/reads/rig.js'
import { callMutual, passwordHash, people } from '../../api/rig.js'
import { createGatewayStory } from '../rig/gateway.js'
import { header, until } from '../rig/stack.js'

const gateway = await createGatewayStory(t, {
  profile: { reads: { users: [{ name: 'platform', passwordHash }] } },
})
const { story } = gateway
const [bearerUrl] = story.stack.gateway?.detail().addresses ?? []
const token = await gateway.token(people.active)

const get = async (query: string, headers: Readonly<Record<string, string>> = {}) => {
  const authorization = { Authorization: `Bearer ${token}`, ...headers }
  const answer = await fetch(`${bearerUrl}/v1/gateway/usage?${query}`, { headers: authorization })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

interface Site {
  readonly externalSiteId: string
  readonly meters: readonly { readonly accountNumber: string; readonly meterId: string }[]
}
const { customerSites } = JSON.parse((await gateway.ask('customer', token)).text) as {
  readonly customerSites: readonly Site[]
}
const [site] = customerSites
const { accountNumber = '', meterId = '' } = site?.meters[0] ?? {}
const query = `meterId=${meterId}&from=2026-03-01&to=2026-03-31`

const load = async (name: string, hours: number, quantity: string) => {
  const rows = Array.from({ length: hours }, (_, at) => {
    const [day, hour] = [Math.floor(at / 24) + 2, at % 24]
    return `${accountNumber},${site?.externalSiteId},${meterId},3/${day}/2026 ${hour}:00,${quantity}`
  })
  const other = 'OTHER,OTHER,OTHER,3/2/2026 0:00,7'
  await story.loadBytes(name, [header, ...rows, other, ''].join('\n'))
}

t.test('a customer gets the reads of a day with the token of the login', async (t) => {
  await load('DEMO_04032026_Electric.csv', 48, '1.5')
  await until(async () => {
    const seen = await story.reader.rows({ sql: 'SELECT 1 FROM registered_usage LIMIT 1' })
    return seen.length > 0
  })
  const answer = await get(query)
  t.equal(answer.status, 200)
  const { points } = JSON.parse(answer.text) as UsageAnswer
  t.match(points.slice(0, 2), [
    { localStart: '2026-03-02T00:00:00-05:00', quantity: 36, unit: 'kWh', quality: 'asSent' },
    { localStart: '2026-03-03T00:00:00-05:00', quantity: 36, reads: 24 },
  ])
  t.match(points[2], {
    localStart: '2026-03-04T00:00:00-05:00',
    quantity: null,
    quality: 'missing',
  })
})

t.test('an answer is compressed, and not sent again to a client that has it', async (t) => {
  const large = await get(`${query}&granularity=hour`, { 'Accept-Encoding': 'gzip' })
  t.equal(large.headers.get('content-encoding'), 'gzip')
  t.equal(large.headers.get('vary'), 'Authorization, Accept-Encoding')
  const plain = await get(`${query}&granularity=hour`, { 'Accept-Encoding': 'identity' })
  t.equal(plain.headers.get('content-encoding'), null)
  t.equal(plain.text, large.text)
  const etag = plain.headers.get('etag') ?? ''
  t.equal(etag, large.headers.get('etag'))
  const again = await get(`${query}&granularity=hour`, { 'If-None-Match': `"x", ${etag}` })
  t.match(again, { status: 304, text: '' })
})

t.test('a correction is what has changed since', async (t) => {
  const before = JSON.parse((await get(query)).text) as UsageAnswer
  await load('DEMO_05032026_Electric.csv', 1, '2')
  const changed = async () =>
    JSON.parse((await get(`${query}&since=${before.publishedSeq}`)).text) as UsageAnswer
  await until(async () => (await changed()).points.length > 0)
  t.match(await changed(), {
    changed: [{ start: '2026-03-02T05:00:00Z', end: '2026-03-03T05:00:00Z' }],
    points: [{ quantity: 36.5, quality: 'corrected', reads: 24 }],
  })
})

t.test('a meter of somebody else is answered as one that does not exist', async (t) => {
  const shape = async (meter: string) => {
    const { status, text, headers } = await get(`meterId=${meter}&from=2026-03-01&to=2026-03-31`)
    const named = [...headers.keys()].filter((name) => name !== 'date').sort()
    return { status, text, named }
  }
  const stranger = '7000000002'
  const record = await gateway.ask('customer', await gateway.token(stranger))
  const theirs = (JSON.parse(record.text) as { customerSites: readonly Site[] }).customerSites[0]
  await until(async () => {
    const found = `SELECT 1 FROM registration WHERE client_id = '${stranger}'`
    return (await story.reader.rows({ sql: found })).length > 0
  })
  const other = await shape(theirs?.meters[0]?.meterId ?? '')
  t.match(other, { status: 404, text: '' })
  t.same(other, await shape('NONE'))
})

t.test('a wrong request says which parameter to correct, and no value', async (t) => {
  for (const [wrong, detail] of [
    ['', 'meterId: missing'],
    [`${query}&color=red`, 'unknown parameter: use only meterId'],
    [`${query}&to=2026-03-05`, 'give each parameter once'],
    [`${query}&cursor=SECRET`, 'cursor: use the cursor'],
    [`${query}&granularity=year`, 'granularity: use interval or hour'],
    [`${query}&since=-1`, 'since: use the publishedSeq'],
    [`meterId=${meterId}&from=1900-01-01&to=1999-12-31`, 'from: use a day'],
    [`meterId=${meterId}&from=2026-03-31&to=2026-03-01`, 'from: use a day that is not after to'],
    [`meterId=${meterId}&from=1971-01-01&to=2070-12-31`, 'to: use at most 1100 days'],
  ] as const) {
    const answer = await get(wrong)
    t.equal(answer.status, 400, wrong)
    t.match(JSON.parse(answer.text).detail, detail)
    t.notMatch(answer.text, /SECRET|color|1900/)
  }
  t.match(await get(query, { Authorization: 'Bearer nonsense' }), { status: 401, text: /1/ })
  const over = await gateway.token(people.active, { seconds: -120 })
  t.match(await get(query, { Authorization: `Bearer ${over}` }), { status: 401, text: /1/ })
  const closed = await gateway.token(people.closed)
  t.match(await get(query, { Authorization: `Bearer ${closed}` }), { status: 401, text: /86/ })
})

t.test('the platform pulls what has changed, with a certificate and its own account', async (t) => {
  const all = await callMutual(gateway, 'changes?since=0', { method: 'GET' })
  t.equal(all.status, 200)
  const { changes, publishedSeq } = JSON.parse(all.text)
  const read = { cause: 'read', meterId, clientIds: [people.active], firstDay: '2026-03-02' }
  t.match(changes.at(-1), { cause: 'ownership' })
  const own = changes.filter((one: { readonly cause: string }) => one.cause === 'read')
  t.match(own.at(-1), read)
  t.notMatch(all.text, 'OTHER', 'of customers only')
  const none = await callMutual(gateway, `changes?since=${publishedSeq}`, { method: 'GET' })
  t.same(JSON.parse(none.text), { publishedSeq, cursor: null, changes: [] })
  const headers = { authorization: `Bearer ${token}` }
  t.match(await callMutual(gateway, 'changes', { method: 'GET', headers }), { status: 401 })
  const alone = await fetch(`${bearerUrl}/v1/gateway/changes?since=0`, { headers })
  t.equal(alone.status, 404, 'without a certificate there is no such path')
})

t.test('a customer downloads his own reads as a Green Button feed', async (t) => {
  const headers = { Authorization: `Bearer ${token}` }
  const url = `${bearerUrl}/v1/gateway/green-button?from=2026-03-01&to=2026-03-31`
  const answer = await fetch(url, { headers })
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), 'application/atom+xml')
  const feed = await answer.text()
  t.match(feed, /<\/feed>\n$/)
  const values = [...feed.matchAll(/<value>(\d+)<\/value>/g)].map(([, value]) => Number(value))
  t.equal(values.length, 48)
  t.equal(
    values.reduce((sum, one) => sum + one, 0),
    72_500_000,
    'milliwatt hours',
  )
  t.notMatch(feed, meterId)
  t.notMatch(feed, accountNumber)
  t.match(await fetch(url, { headers: { Authorization: 'Bearer nonsense' } }), { status: 401 })
})

t.test('a customer without bills has an empty list', async (t) => {
  const headers = { Authorization: `Bearer ${token}` }
  const url = `${bearerUrl}/v1/gateway/bills?from=2026-03-01&to=2026-03-31`
  const answer = await fetch(url, { headers })
  t.same(await answer.json(), { cursor: null, bills: [] })
})

t.test('logs have neither the meter nor the query', async (t) => {
  const logs = story.logs()
  t.match(logs, '"route":"usage"')
  t.notMatch(logs, meterId)
  t.notMatch(logs, 'SECRET')
})
