import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createGatewayStory } from '../../story/rig/gateway.js'
import { header, until } from '../../story/rig/stack.js'
import { people } from '../rig.js'
import type { UsageAnswer } from './rig.js'

const gateway = await createGatewayStory(t, { profile: { reads: { pageMax: 100 } } })
const { story } = gateway
const [bearerUrl = ''] = story.stack.gateway?.detail().addresses ?? []
const stranger = '7000000002'
const tokens = {
  own: await gateway.token(people.active),
  stranger: await gateway.token(stranger),
}

/** Sends a request line as it is: `fetch` would correct it. */
async function raw(line: string, fields: readonly string[] = [], token = tokens.own) {
  const { hostname, port } = new URL(bearerUrl)
  const socket = connect({ host: hostname, port: Number(port) })
  const all = [`${line} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`, ...fields]
  socket.write(`${all.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  const answer = await text(socket)
  const [head = '', ...body] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, body: body.join('\r\n\r\n') }
}

interface Site {
  readonly externalSiteId: string
  readonly meters: readonly { readonly accountNumber: string; readonly meterId: string }[]
}
const siteOf = async (token: string) => {
  const record = JSON.parse((await gateway.ask('customer', token)).text)
  const [site] = record.customerSites as readonly Site[]
  const [meter] = site?.meters ?? []
  return {
    ...meter,
    accountNumber: meter?.accountNumber ?? '',
    meterId: meter?.meterId ?? '',
    site: site?.externalSiteId ?? '',
  }
}
const own = await siteOf(tokens.own)
const theirs = await siteOf(tokens.stranger)
const usage = '/v1/gateway/usage'
const days = 'from=2026-03-01&to=2026-03-31'
const query = `meterId=${own.meterId}&${days}`

t.before(async () => {
  const rows = [own, theirs].flatMap(({ accountNumber, site, meterId }, of) =>
    Array.from({ length: 480 }, (_, at) => {
      const [day, hour] = [Math.floor(at / 24) + 2, at % 24]
      return `${accountNumber},${site},${meterId},3/${day}/2026 ${hour}:00,${of === 0 ? 1 : 77}`
    }),
  )
  await story.loadBytes('DEMO_25032026_Electric.csv', [header, ...rows, ''].join('\n'))
  await until(async () => {
    const found = await story.reader.rows({
      sql: 'SELECT client_id FROM registered_usage ARRAY JOIN client_ids AS client_id GROUP BY client_id',
    })
    return found.length === 2
  })
})

t.test('a cursor or tag of somebody else gives nothing', async (t) => {
  const hours = `${query}&granularity=hour`
  const first = await raw(`GET ${usage}?${hours}`)
  t.equal(first.status, 200)
  const { cursor } = JSON.parse(first.body) as UsageAnswer
  t.ok(cursor)
  const [etag = ''] = /(?<=ETag: ).*/i.exec(first.head) ?? []
  t.ok(etag)
  const foreign = `meterId=${theirs.meterId}&${days}&granularity=hour`
  const tried: readonly (readonly [string, number, string?, string?])[] = [
    [`${foreign}&cursor=${cursor}`, 400],
    [`${hours}&cursor=${cursor}`, 404, tokens.stranger],
    [hours, 404, tokens.stranger, etag.trim()],
    [hours, 404, tokens.stranger, '*'],
    [foreign, 404, tokens.own, '*'],
    [`${foreign}&since=0`, 404],
    [`${query}&granularity=day&cursor=${cursor}`, 400],
  ]
  for (const [asked, status, token, tag] of tried) {
    const fields = tag === undefined ? [] : [`If-None-Match: ${tag}`]
    const answer = await raw(`GET ${usage}?${asked}`, fields, token)
    t.equal(answer.status, status, asked)
    t.notMatch(answer.body, /"points"|77/)
  }
})

t.test('a forged cursor stays within the days and the reads of its customer', async (t) => {
  const mark = createHash('sha256')
    .update(JSON.stringify([own.meterId, '2026-03-01', '2026-03-31', 'hour', '']))
    .digest('base64url')
    .slice(0, 8)
  const forged = (at: string) => Buffer.from(`${at}.1.${mark}`).toString('base64url')
  for (const at of ['0', '1', '999999999999999', '1772600000', '1775016000', '4294967295']) {
    const answer = await raw(`GET ${usage}?${query}&granularity=hour&cursor=${forged(at)}`)
    t.ok([200, 400].includes(answer.status), `${at}: ${answer.status}`)
    if (answer.status !== 200) continue
    const { points } = JSON.parse(answer.body) as UsageAnswer
    t.ok(
      points.every(
        ({ start, end }) => start >= '2026-03-01T05:00:00Z' && end <= '2026-04-01T04:00:00Z',
      ),
      at,
    )
    t.ok(
      points.every(({ quantity }) => quantity === null || quantity === 1),
      at,
    )
  }
})

t.test('the ends of time and of numbers are answered', async (t) => {
  for (const granularity of ['interval', 'hour', 'day', 'month', 'billingPeriod']) {
    for (const range of [
      'from=1970-01-02&to=1970-01-02',
      'from=1970-01-02&to=1972-12-31',
      'from=2104-01-01&to=2105-12-31',
      'from=2105-12-31&to=2105-12-31',
    ]) {
      for (const since of ['', '&since=0', '&since=999999999999999']) {
        const asked = `meterId=${own.meterId}&${range}&granularity=${granularity}${since}`
        const answer = await raw(`GET ${usage}?${asked}`)
        t.equal(answer.status, 200, asked)
        t.ok((JSON.parse(answer.body) as UsageAnswer).points, asked)
      }
    }
  }
  const future = await raw(`GET ${usage}?${query}&since=999999999999999`)
  t.match(JSON.parse(future.body), { changed: [], points: [], cursor: null })
})

t.test('other methods, paths and spellings read nothing', async (t) => {
  const long = 'x'.repeat(6_000)
  const tried: readonly (readonly [line: string, ...statuses: number[]])[] = [
    [`HEAD ${usage}?${query}`, 405],
    [`OPTIONS ${usage}?${query}`, 405],
    [`POST ${usage}?${query}`, 405, 411],
    [`DELETE ${usage}?${query}`, 405],
    [`GET ${usage}/?${query}`, 404],
    [`GET /${usage}?${query}`, 404],
    [`GET /v1/x/../gateway/usage?${query}`, 404],
    [`GET /v1/gateway/usag%65?${query}`, 404],
    [`GET ${usage}%3f${query}`, 404],
    [`GET ${usage}?${query}&meterId=${theirs.meterId}`, 400],
    [`GET ${usage}?${query}&meterI%64=${theirs.meterId}`, 400],
    [`GET ${usage}?meterId[]=${own.meterId}&${days}`, 400],
    [`GET ${usage}?meterId=%00&${days}`, 400, 404],
    [`GET ${usage}?meterId=%ff%fe&${days}`, 400, 404],
    [`GET ${usage}?meterId=%&${days}`, 400, 404],
    [`GET ${usage}?meterId=%27%20OR%201%3D1--&${days}`, 400, 404],
    [`GET ${usage}?meterId=%5C%27%7Bx%3AString%7D&${days}`, 400, 404],
    [`GET ${usage}?meterId=${long}&${days}`, 400, 404],
    [`GET ${usage}?${query}&cursor=${long}`, 400],
    [`GET ${usage}?${query}&from=2026-03-02`, 400],
    [`GET ${usage}?${query}&__proto__=1`, 400],
    [`GET ${usage}?${query}&since=1e3`, 400],
    [`GET ${usage}?${query}&since=01`, 400],
    [`GET ${usage}?${query}&since=%D9%A1`, 400],
    [`GET ${usage}?meterId=${own.meterId}&from=2026-03-1&to=2026-03-31`, 400],
    [`GET ${usage}?meterId=${own.meterId}&from=2026-02-30&to=2026-03-31`, 400],
  ]
  for (const [line, ...statuses] of tried) {
    const { status, body } = await raw(line)
    t.ok(statuses.includes(status), `${line.slice(0, 100)}: ${status}`)
    t.notMatch(body, /"points"|77/)
  }
  const spelled = own.meterId.replace(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`)
  const encoded = await raw(`GET ${usage}?meterId=${spelled}&${days}`)
  t.match(encoded, { status: 200 }, 'an encoded id is the same meter')
})

t.test('two tokens, none, or that of somebody else see nothing', async (t) => {
  const asked = `GET ${usage}?${query}`
  t.match(await raw(asked, [`Authorization: Bearer ${tokens.stranger}`]), { status: /400|401/ })
  t.match(await raw(asked, [], ''), { status: 401 })
  t.match(await raw(asked, [], tokens.stranger), { status: 404, body: '' })
  t.match(await raw(`GET ${usage}?${query}&access_token=${tokens.own}`, [], 'x'), { status: 401 })
  t.match(await raw(`GET /v1/gateway/changes?since=0`), { status: 404 }, 'changes are not here')
})
