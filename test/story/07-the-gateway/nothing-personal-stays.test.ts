/**
 * # 7.2 Nothing personal is stored
 *
 * What: Names, addresses and tokens pass through and are found in no table, log, queue, trace or
 * answer.
 * Why: The platform holds no personal data beyond what is synchronised; neither may Tieline.
 * Try: Search the data folder for a name of your test customer.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createOfficeServer } from '../../../infra/demo/back-office/server.js'
import { callMutual, people } from '../../api/rig.js'
import { tieline } from '../../infra/command-line.js'
import { createGatewayStory } from '../rig/gateway.js'
import { header, until } from '../rig/stack.js'
import { createReceiver } from '../rig/traces.js'

/** Canaries are in every field of a person, in every token and in every failure message. */
const canary = (name: string) => `canary${name}7f3a`

/** A head-end that refuses, fails and answers nonsense in turn, with words of its own. */
const outcomes = [409, 500, 200, 503]
const headEnd = await createOfficeServer(0, ({ method, path }) => {
  const meterId = path.split('/').at(-1)
  const said = { message: canary('headend'), state: canary('state') }
  if (method === 'POST') return { status: outcomes.shift() ?? 200, body: said }
  if (path.startsWith('/locations/')) return { status: 200, body: { meterId: 'M-1' } }
  return { status: 200, body: { meterId, isAMI: true, note: canary('meter') } }
})
t.teardown(headEnd.close)
const receiver = await createReceiver(t)
const gateway = await createGatewayStory(t, {
  profile: { ami: { kind: 'rest', url: headEnd.url } },
  stack: { tracing: { url: receiver.url } },
})
const { home, store } = gateway.story

const hub = {
  hemProfileId: canary('profile'),
  accountSlid: canary('slid'),
  macAddress: '00:11:22:AA:BB:CC',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
}
const name = { firstName: canary('first'), lastName: canary('last') }
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callerId = '00f067aa0ba902b7'
const caller = {
  traceparent: `00-${traceId}-${callerId}-01`,
  tracestate: `a=${canary('state')}`,
  baggage: `a=${canary('baggage')}`,
}
const first = await gateway.ask('customer', await gateway.token(people.active), caller)
const whole = JSON.parse(first.text)
const [wholeSite] = whole.customerSites
const site = { ...wholeSite, ...name, address1: canary('street'), city: canary('city') }
const person = { ...whole, ...name, businessName: canary('business'), customerSites: [site] }
const put = (body: unknown) =>
  fetch(`${gateway.cis.url}/customers/${people.active}`, {
    method: 'PUT',
    body: JSON.stringify(body),
  })

const token = await gateway.token(people.active)
const foreign = await gateway.token(people.active, {
  audience: `${canary('audience')}@example.com`,
})
const elsewhere = await gateway.token(people.active, { audience: 'other-api' })
/** What came back and must not hold any of it. */
const seen: string[] = []

t.test('a customer passes through, and registers', async (t) => {
  await put(person)
  t.match((await gateway.ask('customer', token)).text, /canarystreet/)
  t.match(await gateway.ask('login', token), { status: 200 })
  await until(async () => (await store.rows({ sql: 'SELECT 1 FROM registration_fact' })).length > 0)
})

t.test('a refused token is not repeated', async (t) => {
  for (const one of [foreign, elsewhere, `${token}x`, `${canary('token')}.a.b`, canary('token')]) {
    for (const path of ['login', 'customer']) {
      const { status, text } = await gateway.ask(path, one)
      t.equal(status, 401)
      seen.push(text)
    }
  }
})

t.test('an invalid record of the CIS is not quoted', async (t) => {
  const records: readonly unknown[] = [
    { ...person, customerSites: [{ ...site, postalCode: canary('code') }] },
    { ...person, customerSites: [{ ...site, state: canary('state') }] },
    { ...person, firstName: { text: canary('nested') } },
    { ...person, clientId: canary('client') },
    { ...person, customerSites: canary('sites') },
    { ...person, customerSites: [{ ...site, meters: [{ meterId: canary('meter') }] }] },
    { error: canary('error') },
    canary('text'),
    [canary('list')],
  ]
  const profile = join(home.path, 'cis.yaml')
  const sections = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
  writeFileSync(
    profile,
    JSON.stringify({ ...sections, cis: { kind: 'rest', url: gateway.cis.url } }),
  )
  for (const record of records) {
    await put(record)
    const { status, text } = await gateway.ask('customer', token)
    t.equal(status, 503, JSON.stringify(record).slice(0, 60))
    seen.push(text)
  }
  for (const record of [person, records[0]]) {
    await put(record)
    seen.push((await tieline('probe', 'customer', people.active, '--profile', profile)).stdout)
  }
  t.match(seen.at(-1), /postalCode/, 'the field is named')
})

t.test('what the head-end says of a bind stays there', async (t) => {
  const bind = async (more: object, headers = {}) => {
    const body = JSON.stringify({ ...hub, ...more })
    const { status, text } = await callMutual(gateway, 'bind', { body, headers })
    seen.push(text)
    return status
  }
  const expected = [400, 503, 503, 503]
  for (const [at, status] of expected.entries()) {
    t.equal(await bind({ macAddress: `00:11:22:AA:BB:0${at}` }), status)
  }
  for (const field of ['hemProfileId', 'accountSlid', 'macAddress', 'installCode', 'meterId']) {
    t.equal(await bind({ [field]: canary(field).padEnd(200, 'x') }), 400, field)
  }
  const account = Buffer.from(`${canary('user')}:${canary('password')}`).toString('base64')
  t.equal(await bind({}, { authorization: `Basic ${account}` }), 401)
})

t.test('one trace goes from the request over the job to the statement', async (t) => {
  const ofTrace = () => receiver.spans().filter((span) => span.traceId === traceId)
  const find = (name: string) => ofTrace().find((span) => span.name === name)
  await until(
    () => find('INSERT registration_fact') !== undefined && find('process register') !== undefined,
  )
  const way: string[] = []
  let at = find('INSERT registration_fact')
  for (; at !== undefined; at = ofTrace().find(({ spanId }) => spanId === at?.parentSpanId)) {
    way.unshift(at.name)
    if (at.parentSpanId === callerId) way.unshift('caller')
  }
  t.same(way, [
    'caller',
    'POST /v1/gateway/customer',
    'add register.register',
    'process register',
    'INSERT registration_fact',
  ])
  t.match(find('POST /v1/gateway/customer')?.attributes, {
    'http.route': '/v1/gateway/customer',
    'http.response.status_code': 200,
  })
  t.match(find('INSERT registration_fact')?.attributes, {
    'db.operation.name': 'INSERT',
    'db.collection.name': 'registration_fact',
  })
})

t.test('no trace shows a person, an account, a meter, a file or a token', async (t) => {
  const row = '910020000001,5113000001,E-7131,3/4/2024 0:00,1.25'
  const name = 'DEMO_05032024_Electric.csv'
  t.match(await gateway.story.loadBytes(name, `${header}\n${row}\n`), { status: 'published' })
  await callMutual(gateway, `bind/${canary('hub')}`, { method: 'GET' })
  await gateway.ask(canary('path'), token, caller)
  const names = () => new Set(receiver.spans().map((span) => span.name))
  const expected = [
    'process settle',
    'GET /v1/gateway/bind/*',
    '_OTHER none',
    'POST /v1/gateway/bind',
  ]
  await until(() => expected.every((one) => names().has(one)))
  const [, , signature = ''] = token.split('.')
  const meterId = whole.customerSites[0].meters[0].meterId
  const own = [people.active, meterId, ...row.split(',').slice(0, 3), name, 'DEMO_']
  const sent = receiver.text()
  for (const secret of [/canary/i, token, foreign, signature, hub.macAddress, ...own]) {
    const at = sent.search(secret)
    t.equal(at, -1, `${String(secret).slice(0, 20)} ${sent.slice(at - 200, at + 80)}`)
  }
})

t.test('a receiver that is away hinders nothing, and the log says so once', async (t) => {
  await receiver.close()
  const warnings = (part: string) =>
    readFileSync(join(home.logs, `${part}.log`), 'utf8').split('TRACES_UNREACHABLE').length - 1
  await put(person)
  await until(async () => {
    t.equal((await gateway.ask('login', token)).status, 200)
    return warnings('gateway') > 0 && warnings('worker') > 0
  })
  t.equal((await gateway.ask('customer', token)).status, 200)
  t.same([warnings('gateway'), warnings('worker')], [1, 1])
})

t.test('no answer, table, log, queue or file contains any of it', async (t) => {
  const operations = gateway.story.stack.gateway?.detail().operations
  seen.push(await (await fetch(`${operations}/health/ready`)).text())
  const sql = "SELECT name FROM system.tables WHERE database = 'story' AND engine LIKE '%MergeTree'"
  for (const table of await store.rows<{ name: string }>({ sql })) {
    seen.push(JSON.stringify(await store.rows({ sql: `SELECT * FROM ${table.name}` })))
  }
  await gateway.story.stack.gateway?.kill()
  const folders = [
    'logs',
    'redis',
    'clickhouse',
    'inbox',
    'outbox',
    'landing',
    'archive',
    'backfill',
  ]
  const kept = folders.map((folder) => readTree(join(home.path, folder)))
  const [, , signature = ''] = token.split('.')
  const secrets = [/canary/i, token, foreign, signature, hub.installCode, 'a password']
  for (const [place, text] of Object.entries({ seen: seen.join(), kept: kept.join() })) {
    for (const secret of secrets) {
      const at = text.search(secret)
      t.equal(at, -1, `${place}: ${String(secret).slice(0, 20)} ${text.slice(at - 80, at + 80)}`)
    }
  }
  const log = readFileSync(join(home.logs, 'requests.log'), 'utf8')
  t.notMatch(log, people.active, 'the log has identifiers as hashes only')
  t.match(
    log,
    /"audience","reasonDetail":"the token has other-api, the profile wants /,
    'systems are named',
  )
  t.match(log, /"audience","reasonDetail":"the token has \(not a plain name\), the profile wants /)
  t.notMatch(seen.join(), 'other-api', 'for the operator, not for the client')
})

/** All bytes of a folder; what the engine takes away meanwhile is not there. */
function readTree(folder: string): string {
  const unlessGone = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }
  const texts = unlessGone(() => readdirSync(folder, { withFileTypes: true }))?.map((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return readTree(path)
    return entry.isFile() ? unlessGone(() => readFileSync(path, 'latin1')) : ''
  })
  return texts?.join('\n') ?? ''
}
