import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { createFolder } from '../folder.js'
import {
  acsUrl,
  assertionOf,
  createSamlSigner,
  encode,
  entityId,
  responseOf,
  signXml,
} from './identity/saml-provider.js'
import { createRig, people, post } from './rig.js'

const wrong = (errorCode: number) => JSON.stringify({ errorCode })

t.test('login answers each standing of a customer as section 7 has it', async (t) => {
  const rig = await createRig(t)
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

t.test(
  'a warm token is answered again, and an outage of the CIS is a 503 without body',
  async (t) => {
    const rig = await createRig(t, { cis: { standingSeconds: 0, timeoutMs: 300 } })
    const token = await rig.token(people.active)
    t.match(await rig.ask('login', token), { status: 200 })
    t.match(await rig.ask('login', token), { status: 200 })
    for (const kind of ['down', 'hang', 'garbage', 'html', 'huge', 'refuse']) {
      await post(`${rig.cis.url}/faults`, { kind })
      t.match(await rig.ask('login', token), { status: 503, text: '' }, kind)
      t.match(await rig.ask('customer', token), { status: 503, text: '' }, kind)
    }
  },
)

t.test(
  'failed attempts of an existing customer are counted once each, however many at once',
  async (t) => {
    const rig = await createRig(t)
    const tokens = await Promise.all(
      Array.from({ length: 60 }, () => rig.token(people.active, { audience: 'other' })),
    )
    const answers = await Promise.all(tokens.map((token) => rig.ask('login', token)))
    const codes = answers.map(({ text }) => JSON.parse(text).errorCode as number)
    const count = (code: number) => codes.filter((one) => one === code).length
    t.same([count(2), count(3), count(4)], [1, 1, 58])
    t.match(await rig.ask('login', await rig.token(people.active)), { status: 401, text: wrong(4) })
  },
)

t.test('the customer endpoint passes the whole customer through and hands it over', async (t) => {
  const rig = await createRig(t)
  const answer = await rig.ask('customer', await rig.token(people.active))
  t.equal(answer.status, 200)
  const customer = JSON.parse(answer.text)
  t.match(customer, { clientId: people.active, customerSites: [{ isPrimary: true }] })
  t.notOk('locked' in customer, 'what is not of the specification stays behind')
  let waiting = 0
  for (let look = 0; look < 100 && waiting === 0; look++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    waiting = (await rig.queues.counts()).register['waiting'] ?? 0
  }
  t.equal(waiting, 1)
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
  const token = (clientId: string, audience = 'tieline') => {
    const nameId = `<saml:NameID>${clientId}</saml:NameID>`
    return encode(signXml(responseOf(assertionOf({ nameId, audience })), signer))
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
    [token(people.active, 'other'), 2],
    [token(people.active, 'another'), 3],
    [token(people.active, 'a third'), 4],
    [good, 4],
  ]
  for (const [one, code] of codes) {
    t.match(await rig.ask('login', one), { status: 401, text: wrong(code) })
  }
  const logged = JSON.stringify([rig.entries, rig.failures.map(String)])
  t.notMatch(logged, people.active, 'no identifier is logged')
})
