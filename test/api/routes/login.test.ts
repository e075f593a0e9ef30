import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { countRequest } from '../../../infra/metrics/gateway.js'
import { createRegistry } from '../../../infra/metrics/registry.js'
import { parseScrape } from '../../infra/metrics/scrape.js'
import { createFolder } from '../../rig/folder.js'
import {
  type AssertionParts,
  acsUrl,
  assertionOf,
  createSamlSigner,
  encode,
  entityId,
  responseOf,
  signXml,
} from '../identity/saml-provider.js'
import { createRig, people, post } from '../rig.js'

/** For the tests that lock nobody and need no settings of their own. */
const rig = await createRig(t)

const wrong = (errorCode: number) => JSON.stringify({ errorCode })

t.test('login answers each account status with its errorCode: 1, 4, 86', async (t) => {
  const login = async (clientId: string) => rig.ask('login', await rig.token(clientId))
  const good = await login(people.active)
  t.match(good, { status: 200, text: JSON.stringify({ clientId: people.active }) })
  t.equal(good.headers.get('content-type'), 'application/json')
  t.match(good.headers.get('x-request-id'), /^[a-z0-9-]+$/)
  t.match(await login(people.unknown), { status: 401, text: wrong(1) })
  t.match(await login(people.locked), { status: 401, text: wrong(4) })
  t.match(await login(people.closed), { status: 401, text: wrong(86) })
  t.match(await rig.ask('login'), { status: 401, text: wrong(1) })
  t.match(await rig.ask('login', 'not.a.token'), { status: 401, text: wrong(1) })
  t.match(await rig.ask('logout', 'x'), { status: 404, text: '' })
  const got = await fetch(`${rig.url}/v1/gateway/login`)
  t.match({ status: got.status, allow: got.headers.get('allow') }, { status: 405, allow: 'POST' })
})

t.test('a warm token is answered again; an outage of the CIS is a 503 without body', async (t) => {
  const rig = await createRig(t, { cis: { statusSeconds: 0, timeoutMs: 300 } })
  const token = await rig.token(people.active)
  t.match(await rig.ask('login', token), { status: 200 })
  t.match(await rig.ask('login', token), { status: 200 })
  for (const kind of ['down', 'hang', 'garbage', 'html', 'huge', 'empty', 'refuse']) {
    await post(`${rig.cis.url}/faults`, { kind })
    t.match(await rig.ask('login', token), { status: 503, text: '' }, kind)
    t.match(await rig.ask('customer', token), { status: 503, text: '' }, kind)
  }
})

t.test('failed attempts of a customer are counted once each, however many at once', async (t) => {
  const rig = await createRig(t)
  const attack = async (clientId: string, urls: readonly string[]) => {
    const tokens = Array.from({ length: 200 }, () => rig.revoked(clientId))
    const asked = tokens.map(async (token, at) => {
      const headers = { Authorization: `Bearer ${token}` }
      const url = `${urls[at % urls.length]}/v1/gateway/login`
      const answer = await fetch(url, { method: 'POST', headers })
      return ((await answer.json()) as { errorCode: number }).errorCode
    })
    const counts = new Map<number, number>()
    for (const code of await Promise.all(asked)) counts.set(code, (counts.get(code) ?? 0) + 1)
    return [...counts].sort(([one], [other]) => one - other)
  }
  const once = [
    [2, 1],
    [3, 1],
    [4, 198],
  ]
  t.same(await attack(people.active, [rig.url]), once)
  const good = await rig.token(people.active)
  t.match(await rig.ask('login', good), { status: 401, text: wrong(4) })
  t.same(await attack('7000000002', [rig.url, await rig.another()]), once, 'over two processes')
})

t.test('a token is taken from one Authorization field and from nowhere else', async (t) => {
  const good = await rig.token(people.active)
  const login = async (headers: object, more: { query?: string; body?: string } = {}) => {
    const url = `${rig.url}/v1/gateway/login${more.query ?? ''}`
    const { body } = more
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers },
      ...(body && { body }),
    })
    return [answer.status, await answer.text()]
  }
  const field = (Authorization: string) => login({ Authorization })
  t.same(await field(`bearer ${good}`), [200, JSON.stringify({ clientId: people.active })])
  const wrongs: Readonly<Record<string, Promise<unknown[]>>> = {
    'no field': login({}),
    'an empty field': field(''),
    'a scheme without a token': field('Bearer'),
    'no scheme': field(good),
    'another scheme': field(`Basic ${Buffer.from(`platform:${good}`).toString('base64')}`),
    'a scheme that begins alike': field(`BearerX ${good}`),
    'two tokens': field(`Bearer ${good}, Bearer ${good}`),
    'a token and one more': field(`Bearer ${good} ${good}`),
    'another field': login({ 'X-Authorization': `Bearer ${good}`, Cookie: `access_token=${good}` }),
    'the query': login({}, { query: `?access_token=${good}` }),
    'the body': login(
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      { body: `access_token=${good}` },
    ),
    'a long one': field(`Bearer ${'a'.repeat(15_000)}`),
  }
  for (const [name, answer] of Object.entries(wrongs)) t.same(await answer, [401, wrong(1)], name)
  t.same(await field(`Bearer ${'a'.repeat(20_000)}`), [431, ''], 'one of 20,000 characters')
  t.same(await rig.store.rows({ sql: 'SELECT 1 FROM login_attempt' }), [], 'nobody is blamed')
  t.same(await login({ Authorization: `Bearer ${good}` }, { body: '{"a":' }), [
    200,
    JSON.stringify({ clientId: people.active }),
  ])
})

t.test('the customer endpoint passes the whole customer through and hands it over', async (t) => {
  const answer = await rig.ask('customer', await rig.token(people.active))
  t.equal(answer.status, 200)
  const customer = JSON.parse(answer.text)
  t.match(customer, { clientId: people.active, customerSites: [{ isPrimary: true }] })
  t.notOk('locked' in customer, 'what is not of the specification stays behind')
  const registers = rig.queues.each.find(({ name }) => name === 'register')
  let handed: readonly unknown[] = []
  for (let look = 0; look < 3_000 && handed.length === 0; look++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const jobs = (await registers?.getJobs(['wait'])) ?? []
    handed = jobs.flatMap((job) => job.data.customers)
  }
  t.match(handed, [{ clientId: people.active, meters: [{ meterId: /./ }] }])
  t.equal(handed.length, 1, 'the closed account of another test is not among them')
})

t.test('a SAML response is answered as any other token is', async (t) => {
  const signer = createSamlSigner()
  const certFile = join(createFolder(t), 'idp.pem')
  writeFileSync(certFile, signer.publicKey)
  const identity = {
    kind: 'saml',
    issuer: entityId,
    audience: 'tieline',
    recipient: acsUrl,
    certFiles: [certFile],
  }
  const rig = await createRig(t, { profile: { identity } })
  const token = (clientId: string, parts: AssertionParts = {}) => {
    const nameId = `<saml:NameID>${clientId}</saml:NameID>`
    return encode(signXml(responseOf(assertionOf({ nameId, ...parts })), signer))
  }
  const failed = (id: string) => {
    const nameId = `<saml:NameID>${people.active}</saml:NameID>`
    const code = 'urn:oasis:names:tc:SAML:2.0:status:AuthnFailed'
    const status = `<samlp:Status><samlp:StatusCode Value="${code}"/></samlp:Status>`
    const assertion = signXml(responseOf(assertionOf({ nameId, id }), { status }), signer)
    return encode(signXml(assertion, signer, { element: 'Response' }))
  }
  const good = token(people.active)
  const clientId = { clientId: people.active }
  t.match(await rig.ask('login', good), { status: 200, text: JSON.stringify(clientId) })
  t.match(JSON.parse((await rig.ask('customer', good)).text), clientId)
  const codes: readonly (readonly [string, number])[] = [
    [encode(responseOf(assertionOf())), 1],
    [token(people.unknown), 1],
    [token(people.locked), 4],
    [token(people.closed), 86],
    [token(people.active, { audience: 'other-1' }), 1],
    [token(people.active, { audience: 'other-2' }), 1],
    [failed('_a1'), 2],
    [failed('_a2'), 3],
    [failed('_a3'), 4],
    [good, 4],
  ]
  for (const [one, code] of codes) {
    t.match(await rig.ask('login', one), { status: 401, text: wrong(code) })
  }
  const logged = JSON.stringify([rig.entries, rig.failures.map(String)])
  t.notMatch(logged, people.active, 'no identifier is logged')
  const foreign = rig.entries.filter(({ reason }) => reason === 'audience')
  t.match(
    foreign,
    [{ reasonDetail: /other-1/ }, { reasonDetail: /other-2/ }],
    'one reason for both',
  )
  const metrics = createRegistry('gateway')
  for (const entry of rig.entries) countRequest(metrics, entry)
  const series = [...parseScrape(await metrics.text())]
  const refused = new Map(series.filter(([name]) => name.startsWith('tieline_tokens_refused')))
  t.equal(refused.get('tieline_tokens_refused_total{reason="audience"}'), 2)
  t.notMatch([...refused.keys()].join(), /other-/, 'a client cannot add series')
})
