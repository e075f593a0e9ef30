import t from 'tap'
import { createDemoIdp } from '../../../infra/demo/back-office/idp.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { callMutual, people, post } from '../../api/rig.js'
import { customerAt } from '../../pipeline/customers/registering.js'
import { createBrowser } from '../../rig/chromium.js'
import { openPage, panelText, shows } from '../../story/rig/browser-page.js'
import { createGatewayStory } from '../../story/rig/gateway.js'
import { until } from '../../story/rig/stack.js'
import { createReceiver } from '../alerts/receiver.js'
import { tieline } from '../command-line.js'

const receiver = await createReceiver()
const idp = await createDemoIdp(0)
t.teardown(idp.close)
const issuers = [{ issuer: idp.url, audience: 'tieline' }]
const gateway = await createGatewayStory(t, {
  profile: {
    identity: { kind: 'oidc', claim: 'sub', issuers, unknownKeySeconds: 1 },
    ingestion: 'backfill',
    backfill: { url: 'http://127.0.0.1:1/usage' },
    alerts: {
      url: receiver.url,
      secret: { env: 'ALERTS_SECRET' },
      lookSeconds: 1,
      failingMinutes: 0,
    },
  },
  stack: { secret: () => receiver.secret },
})
t.teardown(receiver.close)
const { story, cis, ami } = gateway
const tokenOf = async (clientId: string) =>
  String((await post(`${idp.url}/token`, { clientId }))['access_token'])
const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
t.teardown(queues.close)
const operations = story.stack.gateway?.detail().operations ?? ''
const browser = await createBrowser(t)
const { page } = await openPage(browser, `${story.stack.worker.detail().operations}/`)

/** A token with a key that the gateway does not know yet: it asks the provider. */
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unknownKey = [
  part({ alg: 'RS256', kid: 'another', typ: 'at+jwt' }),
  part({ iss: idp.url }),
  part({}),
].join('.')
const hub = {
  hemProfileId: 'P',
  accountSlid: 'S-1',
  macAddress: '00:11:22:AA:BB:CC',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
}
const bind = () => callMutual(gateway, 'bind', { body: JSON.stringify(hub) })
const spoil = (kind: string) =>
  Promise.all([cis, ami, idp].map(({ url }) => post(`${url}/faults`, { kind })))
const expected = ['ami', 'cis', `identity ${idp.url}`, 'mdm']
const readStatus = async () => {
  const { stdout } = await tieline('status', '--json', '--home', story.home.path)
  return JSON.parse(stdout) as {
    systems: { system: string; failures: number; since: string }[]
    healed: { name: string }[]
  }
}

t.test('a system that fails is shown on the page, in status, health and alerts', async (t) => {
  const tokens = await Promise.all([1, 2].map((one) => tokenOf(`700000000${one}`)))
  const at = { accountNumber: 'A-1', externalSiteId: 'S-1', meterId: 'M-1' }
  await queues.add('register', { v: 1, customers: [customerAt({ clientId: '700', ...at })] })
  await spoil('down')
  for (const token of tokens) t.equal((await gateway.ask('customer', token)).status, 503)
  await until(async () => (await gateway.ask('login', unknownKey)).status === 503)
  t.equal((await bind()).status, 503)
  await shows(page, 'attention', /CIS, 2 failed requests\s*CIS_UNREACHABLE: .* Since \d{4}-/)
  await shows(page, 'attention', /AMI head-end, 1 failed request\s*AMI_UNREACHABLE/)
  await shows(page, 'attention', /identity provider http:\S+, \d+ failed requests?\s*IDENTITY_/)
  await shows(page, 'attention', /MDM, \d+ failed requests?\s*MDM_UNREACHABLE/)
  const { systems } = await readStatus()
  t.same(systems.map(({ system }) => system).sort(), expected)
  t.match(systems, [{}, { system: 'cis', failures: 2, since: /^\d{4}-/ }])
  const { stdout } = await tieline('status', '--home', story.home.path)
  t.match(stdout, /system +failing since +failed requests +reason/)
  t.match(stdout, /CIS: no response from the CIS/)
  const ready = await fetch(`${operations}/health/ready`)
  t.match(
    [ready.status, await ready.json()],
    [200, { status: 'ready', failing: [{ system: 'ami' }, { system: 'cis', failures: 2 }] }],
    'it is ready: other requests can be answered',
  )
  await until(() => {
    const raised = receiver.messages.filter(({ about }) => about.kind === 'system')
    return expected.every((system) => raised.some(({ key }) => key === `system:${system}`))
  })
})

t.test('a system and its alert are dismissed, until it fails again', async (t) => {
  const at = ['--home', story.home.path]
  const done = await tieline('dismiss', 'ami', '--because', 'replaced this week', ...at)
  t.match(done, { code: 0, stdout: /1 problem of ami dismissed/ })
  await until(() =>
    receiver.messages.some(({ key, state }) => key === 'system:ami' && state === 'resolved'),
  )
  await until(async () => !/head-end/.test(await panelText(page, 'attention')))
  t.match(await panelText(page, 'attention'), /CIS_UNREACHABLE/, 'another system stays')
})

t.test('an outage keeps its beginning when the gateway starts again', async (t) => {
  const before = await readStatus()
  await story.stack.gateway?.kill()
  await until(async () => {
    const answer = await fetch(`${operations}/health/ready`).catch(() => undefined)
    const body = answer && ((await answer.json()) as { failing?: { system: string }[] })
    return body?.failing?.some(({ system }) => system === 'cis') ?? false
  })
  const since = (systems: typeof before.systems) =>
    systems.find(({ system }) => system === 'cis')?.since
  t.equal(since((await readStatus()).systems), since(before.systems))
})

t.test('a good answer ends it', async (t) => {
  await spoil('none')
  const token = await tokenOf(people.active)
  await until(async () => (await gateway.ask('customer', token)).status === 200)
  await bind()
  const left = async () => (await readStatus()).systems.map(({ system }) => system)
  await until(async () => (await left()).join() === 'mdm')
  await until(async () => !/CIS|head-end/.test(await panelText(page, 'attention')))
  await until(() =>
    receiver.messages.some(({ key, state }) => key === 'system:cis' && state === 'resolved'),
  )
  await shows(page, 'healed', /CISresponds again\d{4}-/)
  await shows(page, 'healed', /gatewayrestarted\d{4}-.*1SIGKILL/)
  const { healed } = await readStatus()
  const names = healed.map(({ name }) => name).sort()
  t.same(names, ['AMI head-end', 'CIS', 'gateway', `identity provider ${idp.url}`])
  const mdm = receiver.messages.filter(({ key }) => key === 'system:mdm')
  t.match(mdm, [{ state: 'raised', about: { code: 'MDM_UNREACHABLE' } }], 'the MDM still fails')
})
