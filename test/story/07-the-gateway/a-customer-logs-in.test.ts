/**
 * # 7.1 A customer logs in
 *
 * What: Login, customer and bind over the whole stack, with locks and binds that survive a
 * crash.
 * Why: A lock that is lost lets an attacker in; a bind that is sent twice changes a radio
 * network.
 * Try: Start the demo and repeat the `curl` lines that it prints.
 */
import { t } from 'tap'
import { askRedis } from '../../../infra/redis/ask.js'
import { callMutual, people, post } from '../../api/rig.js'
import { tieline } from '../../infra/command-line.js'
import { createGatewayStory, type GatewayStory } from '../rig/gateway.js'
import { readMetrics } from '../rig/metrics.js'
import { until } from '../rig/stack.js'

const hub = {
  hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
  accountSlid: 'SLID-5113000000',
  macAddress: '00:11:22:AA:BB:CC',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
}
const gateway = await createGatewayStory(t)
const bind = (gateway: GatewayStory) => callMutual(gateway, 'bind', { body: JSON.stringify(hub) })

t.test('1. a customer who is answered is registered; again costs no write', async (t) => {
  const { store } = gateway.story
  const rows = async (sql: string) => store.rows<Record<string, string>>({ sql })
  const facts = async () =>
    Number((await rows('SELECT count() AS n FROM registration_fact'))[0]?.['n'])
  const token = await gateway.token(people.active)
  t.equal((await gateway.ask('customer', token)).status, 200)
  await until(async () => (await rows('SELECT 1 FROM registration')).length > 0)
  const before = await facts()
  t.match(await rows('SELECT DISTINCT client_id FROM registration'), [{ client_id: people.active }])
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
  await post(`${gateway.cis.url}/faults`, { kind: 'missing', field: 'rateCode' })
  t.equal((await gateway.ask('customer', token)).status, 503)
  await post(`${gateway.cis.url}/faults`, { kind: 'none' })
  await t.test('the metrics show all this, and a file', (t) => readMetrics(t, gateway))
})

t.test(
  'an account that is closed ends the registration; a client can be unregistered',
  async (t) => {
    const { home, store } = gateway.story
    const url = (clientId: string) => `${gateway.cis.url}/customers/${clientId}`
    const openOf = async (clientId: string) =>
      store.rows({
        sql: `SELECT read_under FROM registration_fact WHERE client_id = '${clientId}' AND kind = 'seen' AND notEmpty(read_under)`,
      })
    const hasEnd = (clientId: string, kind: string) => async () => {
      const facts = `SELECT 1 FROM registration_fact WHERE client_id = '${clientId}' AND kind = '${kind}'`
      return (await store.rows({ sql: facts })).length > 0
    }
    const landlord = '7000000005'
    const record = await (await fetch(url(landlord))).json()
    for (const meter of (record as { customerSites: { meters: object[] }[] }).customerSites[0]
      ?.meters ?? []) {
      Object.assign(meter, { readUnder: [{ accountNumber: 5_550_001, from: '2026-01-01' }] })
    }
    await fetch(url(landlord), { method: 'PUT', body: JSON.stringify(record) })
    const token = await gateway.token(landlord)
    const answer = await gateway.ask('customer', token)
    t.equal(answer.status, 200)
    t.notMatch(answer.text, /readUnder|5550001/, 'the platform does not see it')
    await until(async () => (await openOf(landlord)).length > 0)
    t.match(JSON.stringify(await openOf(landlord)), '5550001', 'the pipeline does')

    await fetch(url(landlord), {
      method: 'PUT',
      body: JSON.stringify({ ...(record as object), AcctStatus: 'F' }),
    })
    await until(async () => (await gateway.ask('login', token)).text === '{"errorCode":86}')
    await until(hasEnd(landlord, 'closed'))
    t.pass('the closed account is known to the pipeline')

    const leaver = '7000000006'
    await gateway.ask('customer', await gateway.token(leaver))
    await until(hasEnd(leaver, 'seen'))
    const left = await tieline('unregister', leaver, '7999999998', '--home', home.path)
    t.match(left, { code: 0, stdout: /^1 of 2 clients/ })
    t.ok(await hasEnd(leaver, 'left')())
    const written = "SELECT subject FROM audit_log WHERE act = 'unregister' ORDER BY number"
    t.same(await store.rows({ sql: written }), [{ subject: leaver }, { subject: '7999999998' }])
  },
)

t.test('2. a lock survives kills and emptied queues until a person removes it', async (t) => {
  const { stack, home } = gateway.story
  const good = await gateway.token(people.active)
  t.equal((await gateway.ask('login', good)).status, 200)
  const codes: string[] = []
  const wrong = () => gateway.revoked(people.active)
  const first = wrong()
  for (const token of [first, first, wrong(), wrong(), good]) {
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
  await until(async () => (await gateway.ask('login', good).catch(() => undefined))?.status === 401)
  t.same(JSON.parse((await gateway.ask('login', good)).text), { errorCode: 4 })
  const unlocked = await tieline('unlock', people.active, '--home', home.path)
  t.match(unlocked, { code: 0, stdout: /is unlocked/ })
  const written = "SELECT via, act FROM audit_log WHERE act = 'unlock' AND who != ''"
  t.match(await gateway.story.store.rows({ sql: written }), [{ via: 'command' }])
  await until(async () => (await gateway.ask('login', good)).status === 200)
  t.pass('and is let in again')
})

t.test('a wrong audience locks nobody, and one command ends all locks', async (t) => {
  const { home, store } = gateway.story
  const victims = ['7000000003', '7000000004']
  const codeOf = async (token: string) => {
    const { status, text } = await gateway.ask('login', token)
    return status === 200 ? 200 : JSON.parse(text).errorCode
  }
  const elsewhere = () => gateway.token('7000000003', { audience: 'another service' })
  for (let again = 0; again < 4; again++) t.equal(await codeOf(await elsewhere()), 1)
  t.equal(await codeOf(await gateway.token('7000000003')), 200)
  for (const victim of victims) {
    for (const code of [2, 3, 4]) t.equal(await codeOf(gateway.revoked(victim)), code)
  }
  const later = new Date(Date.now() + 60_000).toISOString()
  const none = await tieline('unlock', '--all', '--since', later, '--home', home.path)
  t.match(none, { code: 0, stdout: /^0 customers are unlocked/ })
  const all = await tieline('unlock', '--all', '--home', home.path)
  t.match(all, { code: 0, stdout: /^2 customers are unlocked/ })
  t.same(await store.rows({ sql: 'SELECT client_id FROM login_lock' }), [])
  for (const victim of victims) {
    const good = await gateway.token(victim)
    await until(async () => (await codeOf(good)) === 200)
  }
  for (const wrong of [[], ['x', '--all'], ['x', '--since', later], ['--all', '--since', 'now']]) {
    t.match(await tieline('unlock', ...wrong, '--home', home.path), { code: 1 })
  }
})

t.test('3. a gateway that dies in the middle of a bind sends nothing twice', async (t) => {
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

t.test('4. a gateway that is asked to end answers what it has begun', async (t) => {
  const { stack } = gateway.story
  const begun = async () =>
    ((await (await fetch(`${gateway.ami.url}/actions`)).json()) as { actions: string[] }).actions
  await post(`${gateway.ami.url}/faults`, { kind: 'late', ms: 1_500 })
  const unbind = { body: JSON.stringify({ ...hub, actionCode: 0 }) }
  const pending = callMutual(gateway, 'bind', unbind).catch(() => ({ status: 0, text: 'cut off' }))
  await until(async () => (await begun()).length === 2)
  const before = stack.gateway?.pid() ?? 0
  process.kill(before, 'SIGTERM')
  t.match(await pending, { status: 200, text: /success/ })
  await until(() => stack.gateway?.pid() !== undefined && stack.gateway.pid() !== before)
  const good = await gateway.token('7000000004')
  await until(async () => (await gateway.ask('login', good).catch(() => undefined))?.status === 200)
  t.match(gateway.story.logs(), /the gateway ended \(exit code 0\); restarting it/)
})
