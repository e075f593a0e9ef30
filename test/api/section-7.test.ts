import { t } from 'tap'
import { until } from '../story/rig/stack.js'
import { type Asked, callMutual, createRig, people, post, type Rig } from './rig.js'

const hub = {
  hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
  accountSlid: 'SLID-5113000000',
  macAddress: '00:11:22:AA:BB:CC',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
}

/** Status and body; of a customer only the identifier. */
const shown = ({ status, text }: Asked) =>
  status === 200 ? `200 ${JSON.parse(text).clientId}` : `${status} ${text}`.trim()

/**
 * Every row of the specification's table of errors (section 7: 401 with 1, 2, 3, 4 or 86) as login or
 * customer answers it; `victim` ends up locked.
 */
async function askAll(rig: Rig, path: 'login' | 'customer', victim: string) {
  const { active, unknown, locked, closed } = people
  const ask = async (clientId: string, more?: object) =>
    shown(await rig.ask(path, await rig.token(clientId, more)))
  const failed = async () => shown(await rig.ask(path, rig.revoked(victim)))
  const elsewhere = () => ask(victim, { audience: 'another service' })
  const answers = {
    'a customer': await ask(active),
    'no token': shown(await rig.ask(path)),
    'a forged token': shown(await rig.ask(path, `${await rig.token(active)}A`)),
    'an expired token': await ask(active, { seconds: -600 }),
    'no account': await ask(unknown),
    'for another service': [await elsewhere(), await elsewhere(), await elsewhere()].join(),
    'still a customer': await ask(victim),
    'first failure': await failed(),
    'second failure': await failed(),
    'third failure': await failed(),
    'locked by failures': await ask(victim),
    'locked by the CIS': await ask(locked),
    closed: await ask(closed),
  }
  await post(`${rig.cis.url}/faults`, { kind: 'down' })
  const outage = await ask(active)
  await post(`${rig.cis.url}/faults`, { kind: 'none' })
  return { ...answers, outage }
}

/** The same for bind, on the head-end's side. */
async function bindAll(rig: Rig) {
  const bind = async (more: object, headers = {}) => {
    const { status, text } = await callMutual(rig, 'bind', {
      body: JSON.stringify({ ...hub, ...more }),
      headers,
    })
    return `${status} ${status === 200 ? JSON.parse(text).status : text}`.trim()
  }
  const answers = {
    'a hub': await bind({}),
    'wrong credentials': await bind({}, { authorization: 'Basic eDp5' }),
    'a wrong body': await bind({ hemProfileId: undefined }),
    'an unknown account': await bind({ accountSlid: 'SLID-0' }),
  }
  await post(`${rig.ami.url}/faults`, { kind: 'down' })
  return { ...answers, outage: await bind({ macAddress: '00:11:22:AA:BB:DD' }) }
}

/** The identity provider goes away, and a token names a key that is not known yet. */
async function loseProvider(rig: Rig) {
  await post(`${rig.idp.url}/rotate`, {})
  const token = await rig.token(people.active)
  await post(`${rig.idp.url}/faults`, { kind: 'down' })
  // A key that is not in a set of this second is unknown; after that it is undecidable.
  await until(async () => shown(await rig.ask('login', token)) === '503')
  return shown(await rig.ask('customer', token))
}

const settings = { cis: { statusSeconds: 0 }, identity: { unknownKeySeconds: 1 } }

const byTable = (victim: string) => ({
  'still a customer': `200 ${victim}`,
  'a customer': '200 7000000001',
  'no token': '401 {"errorCode":1}',
  'a forged token': '401 {"errorCode":1}',
  'an expired token': '401 {"errorCode":1}',
  'no account': '401 {"errorCode":1}',
  'for another service': '401 {"errorCode":1},401 {"errorCode":1},401 {"errorCode":1}',
  'first failure': '401 {"errorCode":2}',
  'second failure': '401 {"errorCode":3}',
  'third failure': '401 {"errorCode":4}',
  'locked by failures': '401 {"errorCode":4}',
  'locked by the CIS': '401 {"errorCode":4}',
  closed: '401 {"errorCode":86}',
  outage: '503',
})

t.test('errorStyle table answers every failure with its code', async (t) => {
  const rig = await createRig(t, settings)
  t.same(await askAll(rig, 'login', '7000000002'), byTable('7000000002'))
  t.same(await askAll(rig, 'customer', '7000000003'), byTable('7000000003'))
  t.same(await bindAll(rig), {
    'a hub': '200 success',
    'wrong credentials': '401 {"errorCode":1}',
    'a wrong body': '400 {"detail":"hemProfileId is missing"}',
    'an unknown account': '400 {"detail":"accountSlid is not known to the head-end"}',
    outage: '503',
  })
  t.equal(await loseProvider(rig), '503')
})

t.test('errorStyle status answers customer and bind with the status alone', async (t) => {
  const profile = { errorStyle: 'status', login: { unknown: 404 }, reads: {} }
  const rig = await createRig(t, { ...settings, profile })
  const headers = { authorization: `Bearer ${await rig.token(people.active)}` }
  const wrong = await fetch(`${rig.url}/v1/gateway/usage?from=today`, { headers })
  t.match([wrong.status, await wrong.text()], [400, /^{"detail":/], 'what is our own says why')
  const login = { ...byTable('7000000002'), 'no account': '404 {"errorCode":1}' }
  t.same(await askAll(rig, 'login', '7000000002'), login, 'login keeps its code')
  t.same(await askAll(rig, 'customer', '7000000003'), {
    'a customer': '200 7000000001',
    'no token': '401',
    'a forged token': '401',
    'an expired token': '401',
    'no account': '404',
    'for another service': '401,401,401',
    'still a customer': '200 7000000003',
    'first failure': '401',
    'second failure': '401',
    'third failure': '403',
    'locked by failures': '403',
    'locked by the CIS': '403',
    closed: '403',
    outage: '503',
  })
  t.same(await bindAll(rig), {
    'a hub': '200 success',
    'wrong credentials': '401',
    'a wrong body': '400',
    'an unknown account': '400',
    outage: '503',
  })
  t.equal(await loseProvider(rig), '503')
})
