import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { askRedis } from '../../infra/redis/ask.js'
import { callMutual, people, post } from '../api/rig.js'
import { tieline } from '../infra/command-line.js'
import { createGatewayStory, type GatewayStory } from './07-gateway.js'
import { until } from './stack.js'

const hub = {
  hemProfileId: 'canary-profile-77aa',
  accountSlid: 'SLID-5113000000',
  macAddress: '00:11:22:AA:BB:CC',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
}
const bind = (gateway: GatewayStory) => callMutual(gateway, 'bind', { body: JSON.stringify(hub) })

t.test(
  '1. a customer who is answered is registered, and costs no write when nothing changed',
  async (t) => {
    const gateway = await createGatewayStory(t)
    const { store } = gateway.story
    const rows = async (sql: string) => store.rows<Record<string, string>>({ sql })
    const facts = async () =>
      Number((await rows('SELECT count() AS n FROM registration_fact'))[0]?.['n'])
    const token = await gateway.token(people.active)
    t.equal((await gateway.ask('customer', token)).status, 200)
    await until(async () => (await rows('SELECT 1 FROM registration')).length > 0)
    const before = await facts()
    t.match(await rows('SELECT DISTINCT client_id FROM registration'), [
      { client_id: people.active },
    ])
    for (let again = 0; again < 5; again++)
      t.equal((await gateway.ask('customer', token)).status, 200)
    await gateway.ask('customer', await gateway.token('7000000002'))
    await until(async () => (await facts()) > before)
    const own = await rows(
      `SELECT count() AS n FROM registration_fact WHERE client_id = '${people.active}'`,
    )
    t.equal(Number(own[0]?.['n']), before, 'the same customer was written once')

    const moved = JSON.parse((await gateway.ask('customer', token)).text)
    for (const meter of moved.customerSites[0].meters) meter.accountNumber = '910099999999'
    const mover = { ...moved, clientId: '7000000999' }
    await fetch(`${gateway.cis.url}/customers/7000000999`, {
      method: 'PUT',
      body: JSON.stringify(mover),
    })
    t.equal((await gateway.ask('customer', await gateway.token('7000000999'))).status, 200)
    await until(
      async () => (await rows("SELECT 1 FROM tenancy_event WHERE kind = 'move'")).length > 0,
    )
    t.pass('the next tenant is seen to have moved in')
  },
)

t.test(
  '2. a lock is durable, whatever is killed or emptied, until a person takes it away',
  async (t) => {
    const gateway = await createGatewayStory(t)
    const { stack, home } = gateway.story
    const good = await gateway.token(people.active)
    t.equal((await gateway.ask('login', good)).status, 200)
    const codes: string[] = []
    const wrong = () => gateway.token(people.active, { audience: 'somebody else' })
    const first = await wrong()
    for (const token of [first, first, await wrong(), await wrong(), good]) {
      codes.push((await gateway.ask('login', token)).text)
    }
    t.same(
      codes.map((text) => JSON.parse(text).errorCode),
      [2, 2, 3, 4, 4],
      'the same token counts once, and a lock wins over a good one',
    )
    await askRedis(stack.redisUrl, 'FLUSHALL')
    const before = stack.gateway?.pid()
    stack.gateway?.kill()
    await until(() => stack.gateway?.pid() !== undefined && stack.gateway.pid() !== before)
    await until(
      async () => (await gateway.ask('login', good).catch(() => undefined))?.status === 401,
    )
    t.same(JSON.parse((await gateway.ask('login', good)).text), { errorCode: 4 })
    const unlocked = await tieline('unlock', people.active, '--home', home.path)
    t.match(unlocked, { code: 0, stdout: /is unlocked/ })
    await until(async () => (await gateway.ask('login', good)).status === 200)
    t.pass('and is let in again')
  },
)

t.test('3. a gateway that dies in the middle of a bind sends nothing twice', async (t) => {
  const gateway = await createGatewayStory(t)
  const { stack } = gateway.story
  const actions = async () => {
    const answer = await fetch(`${gateway.ami.url}/actions`)
    return ((await answer.json()) as { actions: string[] }).actions
  }
  await post(`${gateway.ami.url}/faults`, { kind: 'late', ms: 1_500 })
  const lost = bind(gateway).then(
    ({ status }) => status,
    () => 'cut off',
  )
  await until(async () => (await actions()).length === 1)
  const before = stack.gateway?.pid()
  stack.gateway?.kill()
  t.equal(await lost, 'cut off')
  await until(() => stack.gateway?.pid() !== undefined && stack.gateway.pid() !== before)
  const answers: string[] = []
  await until(async () => {
    const answer = await bind(gateway).catch(() => undefined)
    if (answer !== undefined) answers.push(`${answer.status} ${JSON.parse(answer.text).status}`)
    return answers.at(-1) === '200 success'
  })
  t.ok(
    answers.every((answer) => ['200 pending', '200 success'].includes(answer)),
    answers.join(),
  )
  t.equal((await actions()).length, 1, 'the head-end was asked once')
  const outcome = await callMutual(gateway, `bind/${hub.macAddress}`, { method: 'GET' })
  t.match(JSON.parse(outcome.text), { state: 'success', actionCode: 1 })
})

t.test('4. nothing of a person and no token stays anywhere', async (t) => {
  const gateway = await createGatewayStory(t)
  const { home, store } = gateway.story
  const canary = (name: string) => `canary${name}7f3a`
  const person = JSON.parse(
    (await gateway.ask('customer', await gateway.token(people.active))).text,
  )
  const names = { firstName: canary('first'), lastName: canary('last') }
  const site = { ...names, address1: canary('street'), city: canary('city') }
  Object.assign(person, { ...names, businessName: canary('business'), AcctStatus: 'A' })
  Object.assign(person.customerSites[0], site)
  const put = (body: object) =>
    fetch(`${gateway.cis.url}/customers/${people.active}`, {
      method: 'PUT',
      body: JSON.stringify(body),
    })
  await put(person)
  const token = await gateway.token(people.active)
  const wrong = await gateway.token(people.active, { audience: canary('audience') })
  const seen: string[] = []
  t.match((await gateway.ask('customer', token)).text, /canarystreet/, 'it did pass through')
  await gateway.ask('login', token)
  for (const one of [wrong, `${token}x`, `${canary('token')}.a.b`, canary('token')]) {
    seen.push((await gateway.ask('login', one)).text, (await gateway.ask('customer', one)).text)
  }
  await put({
    ...person,
    customerSites: [{ ...person.customerSites[0], postalCode: canary('code') }],
  })
  seen.push((await gateway.ask('customer', token)).text)
  await bind(gateway)
  for (const field of ['hemProfileId', 'accountSlid', 'macAddress', 'installCode', 'meterId']) {
    const body = JSON.stringify({ ...hub, [field]: `${canary(field)} ` })
    seen.push((await callMutual(gateway, 'bind', { body })).text)
  }
  const auth = `Basic ${Buffer.from(`${canary('user')}:${canary('password')}`).toString('base64')}`
  seen.push((await callMutual(gateway, 'bind', { headers: { authorization: auth } })).text)
  await until(async () => (await store.rows({ sql: 'SELECT 1 FROM registration_fact' })).length > 0)
  const tables = await store.rows<{ name: string }>({
    sql: "SELECT name FROM system.tables WHERE database = 'story' AND engine LIKE '%MergeTree'",
  })
  for (const { name } of tables)
    seen.push(JSON.stringify(await store.rows({ sql: `SELECT * FROM ${name}` })))
  await gateway.story.stack.gateway?.kill()
  const kept = ['logs', 'redis', 'clickhouse', 'inbox', 'outbox'].map((folder) =>
    readTree(join(home.path, folder)),
  )
  const secrets = [
    /canary/i,
    token,
    wrong,
    token.split('.')[2] ?? '',
    hub.installCode,
    'a password',
  ]
  for (const [place, text] of Object.entries({
    answersAndTables: seen.join(),
    files: kept.join(),
  })) {
    for (const secret of secrets) {
      const found = typeof secret === 'string' ? text.includes(secret) : secret.exec(text)
      const around = found ? text.slice(text.search(secret) - 80, text.search(secret) + 80) : ''
      t.notOk(found, `${place}: ${String(secret).slice(0, 20)} ${around}`)
    }
  }
  const log = readFileSync(join(home.logs, 'requests.log'), 'utf8')
  t.notMatch(log, people.active, 'identifiers stand in the log as hashes only')
})

function readTree(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}
