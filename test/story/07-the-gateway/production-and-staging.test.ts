/**
 * # 7.3 Production and staging
 *
 * What: Two profiles run side by side on one machine and share nothing.
 * Why: A test customer must never reach production.
 * Try: Start two profiles with two `--home` folders.
 */
import t from 'tap'
import { createProducerConnection } from '../../../pipeline/queues/redis.js'
import { callMutual, people } from '../../api/rig.js'
import { tieline } from '../../infra/command-line.js'
import { createGatewayStory, type GatewayStory } from '../rig/gateway.js'
import { header, until } from '../rig/stack.js'

/** Two profiles at once; staging is even given the servers of production, and its own database there. */
const production = await createGatewayStory(t)
const { stack } = production.story
const withUser = ({ url, username, password }: typeof stack.store) =>
  url.replace('://', `://${username}:${password}@`)
const staging = await createGatewayStory(t, {
  profile: { database: 'staging' },
  stack: {
    external: {
      clickhouseUrl: withUser(stack.store),
      redisUrl: stack.redisUrl,
    },
  },
})
const both = [production, staging]

const hub = {
  hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
  accountSlid: 'SLID-5113000000',
  macAddress: '00:11:22:AA:BB:CC',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
}
const codeOf = async (gateway: GatewayStory, token: string) => {
  const { status, text } = await gateway.ask('login', token)
  return status === 200 ? 200 : (JSON.parse(text).errorCode as number)
}
const fail = async (gateway: GatewayStory) => codeOf(gateway, gateway.revoked(people.active))
const succeed = async (gateway: GatewayStory) => codeOf(gateway, await gateway.token(people.active))
const outcomeOf = async (gateway: GatewayStory) =>
  (await callMutual(gateway, `bind/${hub.macAddress}`, { method: 'GET' })).status

t.test('they listen apart, and neither takes what the other one trusts', async (t) => {
  const places = both.flatMap(({ story }) => {
    const { addresses, operations } = story.stack.gateway?.detail() ?? never()
    return [...addresses, operations, story.home.path, story.stack.store.database]
  })
  t.equal(new Set(places).size, 10, places.join())
  t.equal(await codeOf(staging, await production.token(people.active)), 1, "the other's token")
  const { clientCertFile: cert, clientKeyFile: key } = production.certificates
  await t.rejects(callMutual(staging, 'login', { client: { cert, key } }), "the other's client")
})

t.test('attempts and locks of one are nothing to the other', async (t) => {
  for (const code of [2, 3, 4, 4]) t.equal(await fail(production), code)
  t.equal(await succeed(production), 4)
  t.equal(await succeed(staging), 200)
  t.equal(await fail(staging), 2)
  const unlocked = await tieline('unlock', people.active, '--home', production.story.home.path)
  t.match(unlocked, { code: 0, stdout: /is unlocked/ })
  await until(async () => (await succeed(production)) === 200)
  t.same([await fail(staging), await fail(production)], [3, 2], 'each counts on by itself')
})

t.test('a hub that is bound in one is unknown in the other', async (t) => {
  const bind = (gateway: GatewayStory) => callMutual(gateway, 'bind', { body: JSON.stringify(hub) })
  t.match(await bind(production), { status: 200, text: /"success"/ })
  t.same([await outcomeOf(production), await outcomeOf(staging)], [200, 404])
  t.match(await bind(staging), { status: 200, text: /"success"/ })
  for (const { ami } of both) {
    const { actions } = (await (await fetch(`${ami.url}/actions`)).json()) as { actions: string[] }
    t.equal(actions.length, 1, 'each head-end has heard of its own')
  }
})

t.test('customers and files go into the database of the profile that they came by', async (t) => {
  const clients = ['7000000002', '7000000003']
  for (const [index, gateway] of both.entries()) {
    const answer = await gateway.ask('customer', await gateway.token(clients[index] ?? ''))
    t.equal(answer.status, 200)
  }
  for (const [index, { story }] of both.entries()) {
    const sql = 'SELECT DISTINCT client_id FROM registration'
    await until(async () => (await story.store.rows({ sql })).length > 0)
    t.same(await story.store.rows({ sql }), [{ client_id: clients[index] }])
  }
  const name = 'DEMO_02032024_Electric.csv'
  const text = (quantity: number) => `${header}\nA,S,M,3/1/2024 0:00,${quantity}\n`
  const loads = both.map(({ story }, index) => story.loadBytes(name, text(index + 1)))
  t.match(await Promise.all(loads), [
    { status: 'published', quantity: { accepted: '1' } },
    { status: 'published', quantity: { accepted: '2' } },
  ])
  for (const [index, { story }] of both.entries()) {
    const seen = await story.reader.rows({ sql: 'SELECT toFloat64(quantity) AS q FROM usage' })
    t.same(seen, [{ q: index + 1 }])
  }
  const redis = createProducerConnection(stack.redisUrl)
  const prefixes = new Set((await redis.keys('*')).map((key) => key.split(':')[0]))
  await redis.quit()
  t.same([...prefixes].sort(), ['staging', 'story'], 'each has queues of its own')
})

t.test('one goes on when the other ends', async (t) => {
  await staging.story.stack.close()
  t.equal(await succeed(production), 200)
  await t.rejects(staging.ask('login', ''))
})

function never(): never {
  throw new Error('no gateway')
}
