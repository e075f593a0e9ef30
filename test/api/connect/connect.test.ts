import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { judge, mistakes } from '../../pipeline/green-button/assertions.js'
import { isThere, schemaErrors, suites } from '../../pipeline/green-button/judge.js'
import { feedOf, january } from '../../pipeline/green-button/rig.js'
import { createFolder } from '../../rig/folder.js'
import { someOf } from '../../rig/sample.js'
import { people } from '../rig.js'
import { application, createConnectRig, scopes } from './rig.js'

const rig = await createConnectRig(t)
const { provider, get } = rig
const tokenOf = async (scope: string, login: string = people.active) =>
  (await provider.signIn(login, scope)).accessToken

const token = await tokenOf(scopes.all)
const hrefsOf = (xml: string, rel: string) =>
  [...xml.matchAll(/<link rel="(\w+)" href="\/espi\/1_1\/resource\/([^"]+)"\/>/g)].flatMap(
    ([, of, href]) => (of === rel ? [href as string] : []),
  )
const bodyOf = async (path: string, who = token) => {
  const answer = await get(path, who)
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`)
  return text
}
const [, own = ''] = hrefsOf(await bodyOf('Subscription'), 'self')
const id = own.split('/').at(-1) ?? ''
const batch = `Batch/Subscription/${id}`
const feed = await bodyOf(batch)
const registration = hrefsOf(await bodyOf(own), 'related').at(-1) ?? ''

/** The resources of a feed in their order, without those of time. */
const contentsOf = (xml: string) =>
  [...xml.matchAll(/<content>(.*?)<\/content>/gs)]
    .map(([, content = '']) => content)
    .filter((content) => !content.includes('LocalTimeParameters'))
/** With the first reading of each block: to judge all of them by the rules takes minutes. */
const thinned = (xml: string) =>
  xml.replace(/(?<=<\/IntervalReading>).*?(?=<\/IntervalBlock>)/gs, '')
const namesOf = (xml: string) =>
  new Set(contentsOf(xml).map((content) => /<(\w+)/.exec(content)?.[1] ?? ''))

t.test('a third party finds its subscription, and from there the usage points', async (t) => {
  const entry = await bodyOf(own)
  t.match(entry, /^<\?xml [^>]*>\n?<entry xmlns="http:\/\/www.w3.org\/2005\/Atom">/)
  t.same(hrefsOf(entry, 'self'), [own])
  t.same(hrefsOf(entry, 'related'), [`${own}/UsagePoint`, batch, registration])
  const feed = await bodyOf(`${own}/UsagePoint`)
  t.equal(contentsOf(feed).length, 3)
  const [, ...points] = hrefsOf(feed, 'self')
  for (const [at, point] of points.entries()) {
    t.ok(point.startsWith(`${own}/UsagePoint/`))
    const one = await bodyOf(point)
    t.same(contentsOf(one), [contentsOf(feed)[at]])
    t.same(hrefsOf(one, 'self'), [point])
  }
  t.equal(await bodyOf('Subscription'), await bodyOf('Subscription'), 'its address stays')
})

t.test('the batch has what the customer would download, under its own addresses', async (t) => {
  const download = await feedOf(rig.store, { ...january, clientId: people.active })
  t.same(contentsOf(feed), contentsOf(download))
  t.match(feed, '<cost>')
  t.same(hrefsOf(feed, 'self')[0], batch)
  t.notMatch(feed, /RetailCustomer|HOUSE|ACCOUNT-1|7000000001/)
  const compressed = await fetch(`${rig.url}/espi/1_1/resource/${batch}`, {
    headers: { Authorization: `Bearer ${token}`, 'Accept-Encoding': 'gzip' },
  })
  t.equal(compressed.headers.get('content-encoding'), 'gzip')
  t.same(contentsOf(await compressed.text()), contentsOf(feed))
  t.match(rig.entries.at(-1), { route: 'espi batch', status: 200, pseudonym: String })
})

t.test('each answer is valid by the schema, and the batch by the rules', async (t) => {
  if (!isThere) {
    t.pass('the published schema and rules are not here')
    return
  }
  const folder = createFolder(t)
  const [, point = ''] = hrefsOf(await bodyOf(`${own}/UsagePoint`), 'self')
  const registered = await bodyOf(registration)
  const partial = await bodyOf(batch, await tokenOf(scopes.bills))
  const bodies = [registered, partial, feed]
  for (const path of ['Subscription', own, `${own}/UsagePoint`, point]) {
    bodies.push(await bodyOf(path))
  }
  for (const body of bodies) t.equal(schemaErrors(folder, body), '', body.slice(0, 300))
  const file = join(folder, 'batch.xml')
  writeFileSync(file, thinned(feed))
  t.same(mistakes(judge(file, someOf(suites, 3))), [])
})

t.test('a scope decides what there is', async (t) => {
  const of = async (scope: string) => {
    const who = await tokenOf(scope)
    const feed = await bodyOf(batch, who)
    const points = contentsOf(await bodyOf(`${own}/UsagePoint`, who)).length
    return { feed, points, names: [...namesOf(feed)].sort() }
  }
  const intervals = ['IntervalBlock', 'MeterReading', 'ReadingType', 'UsagePoint']
  const gas = await of(scopes.gas)
  t.match(gas, { points: 1, names: intervals })
  const costs = await of(scopes.costs)
  t.match(costs, { points: 3, names: intervals })
  t.match(costs.feed, '<cost>')
  t.notMatch(costs.feed, '/UsageSummary"')
  t.notMatch((await of(scopes.billed)).feed, '<cost>', 'a function block of its own')
  const daily = await of(scopes.daily)
  t.match(daily, { points: 3, names: intervals })
  t.same([...new Set(daily.feed.match(/<intervalLength>\d+/g))], ['<intervalLength>86400'])
  const bills = await of(scopes.bills)
  t.match(bills, { points: 3, names: ['UsagePoint', 'UsageSummary'] })
  t.match(bills.feed, '<overallConsumptionLastPeriod>')
  t.notMatch(bills.feed, /billLastPeriod|costAdditional/, 'without dollars')
  t.match(await of(scopes.recent), { points: 0, names: [] }, 'without history')
})

t.test('bounds of publication are those of the entries', async (t) => {
  const blocks = [...feed.matchAll(/<entry>(?:(?!<\/entry>).)*<IntervalBlock.*?<\/entry>/gs)]
  const instants = blocks.map(([text]) => Date.parse(/<updated>(.*?)</.exec(text)?.[1] ?? ''))
  const newest = Math.max(...instants)
  const at = (ms: number) => encodeURIComponent(new Date(ms).toISOString())
  const count = (xml: string) => xml.match(/<IntervalBlock /g)?.length ?? 0
  const updated = instants.filter((one) => one === newest).length
  t.equal(count(await bodyOf(`${batch}?updated-min=${at(newest)}`)), updated, 'included')
  t.equal(
    count(await bodyOf(`${batch}?updated-max=${at(newest - 1_000)}`)),
    instants.length - updated,
  )
  t.equal(count(await bodyOf(`${batch}?published-max=${at(newest)}`)), instants.length)
  t.same(contentsOf(await bodyOf(`${batch}?published-max=1999-01-01T00:00:00Z`)), [], 'nothing')
  const points = `${own}/UsagePoint`
  t.equal(contentsOf(await bodyOf(`${points}?updated-max=${at(newest)}`)).length, 3)
  t.same(contentsOf(await bodyOf(`${points}?published-max=1999-01-01T00:00:00Z`)), [])
  const later = await bodyOf(`${batch}?updated-min=${at(newest + 3_600_000)}`)
  t.same(contentsOf(later), [], 'nothing is new')
  t.match(later, /<\/feed>\n$/)
  for (const wrong of ['published-min=yesterday', 'color=red', 'max-results=1']) {
    t.equal((await get(`${batch}?${wrong}`, token)).status, 400, wrong)
  }
  t.equal((await get(`${own}?published-min=2026-01-01T00:00:00Z`, token)).status, 400)
})

t.test('a refusal is that of RFC 6750', async (t) => {
  const of = async (path: string, who?: string) => {
    const answer = await get(path, who)
    return [answer.status, answer.headers.get('www-authenticate'), await answer.text()]
  }
  const forbidden = [403, 'Bearer error="insufficient_scope"', '']
  t.same(await of(batch), [401, 'Bearer', ''])
  t.same(await of(batch, 'nonsense'), [401, 'Bearer error="invalid_token"', ''])
  const plain = await tokenOf('customer')
  const others = [plain, await tokenOf(scopes.wrong), await tokenOf(`${scopes.gas} ${scopes.all}`)]
  for (const who of others) t.same(await of(batch, who), forbidden)
  t.match(rig.entries.at(-1), { route: 'espi batch', status: 403, reason: 'scope' })
  for (const login of [people.closed, people.locked, people.unknown]) {
    t.same(await of('Subscription', await tokenOf(scopes.all, login)), [403, forbidden[1], ''])
  }
  t.same(await of(batch, await provider.clientToken(scopes.all)), [
    401,
    'Bearer error="invalid_token"',
    '',
  ])
  t.equal((await fetch(`${rig.url}/espi/1_1/resource/${batch}`, { method: 'POST' })).status, 405)
})

t.test('a subscription of somebody else does not exist, as any other', async (t) => {
  const stranger = await tokenOf(scopes.all, '7000000002')
  const [, theirs = ''] = hrefsOf(await bodyOf('Subscription', stranger), 'self')
  t.not(theirs, own)
  const [, point = ''] = hrefsOf(await bodyOf(`${own}/UsagePoint`), 'self')
  const shape = async (path: string, who: string) => {
    const answer = await get(path, who)
    return [answer.status, await answer.text()]
  }
  const hostile = ['*', '%2e%2e', "'%20OR%201=1", '%00', 'a'.repeat(2_000), '%3Cscript%3E', '1']
  const paths = [
    ...[own, `${own}/UsagePoint`, point, batch],
    ...hostile.flatMap((one) => [
      ...[`Subscription/${one}`, `Subscription/${one}/UsagePoint`, `Batch/Subscription/${one}`],
      `${theirs}/UsagePoint/${one}`,
      `ApplicationInformation/${one}`,
    ]),
    ...[`${theirs}/`, `${theirs}/UsagePoint/`, `${theirs}/UsagePoint/x/y`, 'Batch', ''],
  ]
  for (const path of paths) t.same(await shape(path, stranger), [404, ''], path)
  const foreign = `${theirs}/UsagePoint/${point.split('/').at(-1)}`
  t.same(await shape(foreign, stranger), [404, ''], 'the usage point of another')
  t.match(await shape(`Batch/${theirs}`, stranger), [200, /<\/feed>\n$/])
  t.same(contentsOf(await bodyOf(`Batch/${theirs}`, stranger)), [], 'he has no reads')
})

t.test('the token of a third party opens nothing else', async (t) => {
  const days = 'from=2026-01-01&to=2026-01-31'
  for (const who of [token, await tokenOf('customer')]) {
    for (const path of ['login', 'customer']) {
      t.equal((await rig.ask(path, who)).status, 401, path)
      t.match(rig.entries.at(-1), { reason: 'token of a third party' })
    }
    for (const path of [`usage?meterId=HOUSE&${days}`, `bills?${days}`, `green-button?${days}`]) {
      const headers = { Authorization: `Bearer ${who}` }
      t.equal((await fetch(`${rig.url}/v1/gateway/${path}`, { headers })).status, 401, path)
    }
  }
  const { accessToken } = await provider.signIn(people.active, 'customer', 'platform')
  t.equal((await rig.ask('login', accessToken)).status, 200)
})

t.test('an application reads what is known of it, and no secret', async (t) => {
  const text = await bodyOf(registration)
  t.match(text, '<client_name>Kilowatts &amp; &lt;Co&gt;</client_name>')
  t.match(text, '<client_secret/>')
  t.match(text, `<redirect_uri>${application.redirectUris[1]}</redirect_uri>`)
  const ofAnother = await provider.clientToken(scopes.registration)
  t.equal((await get(registration, ofAnother)).status, 404, 'of another application')
  t.equal((await get(registration, await tokenOf('customer'))).status, 403)
  t.equal((await get(registration)).status, 401)
})
