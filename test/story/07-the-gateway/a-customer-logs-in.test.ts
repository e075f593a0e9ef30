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

t.test(
  '1. a customer who is answered is registered, and costs no write when nothing changed',
  async (t) => {
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
    await t.test('the metrics show all this, and a file', (t) => readMetrics(t, gateway))
  },
)

t.test(
  '2. a lock is durable, whatever is killed or emptied, until a person takes it away',
  async (t) => {
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
    const written = "SELECT via, act FROM audit_log WHERE act = 'unlock' AND who != ''"
    t.match(await gateway.story.store.rows({ sql: written }), [{ via: 'command' }])
    await until(async () => (await gateway.ask('login', good)).status === 200)
    t.pass('and is let in again')
  },
)

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
