import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { t } from 'tap'
import { ExclusiveCanonicalization } from 'xml-crypto'
import { createPseudonymizer } from '../../../api/access/pseudonym.js'
import { createSaml } from '../../../api/identity/saml.js'
import { createAuthority } from '../../../infra/demo/x509.js'
import { identitySettings, type SamlSettings } from '../../../schemas/settings/gateway-identity.js'
import { createFolder } from '../../rig/folder.js'
import {
  type AssertionParts,
  acsUrl,
  assertionOf,
  createSamlSigner,
  encode,
  entityId,
  instant,
  responseOf,
  signXml,
} from './saml-provider.js'
import { bombs, other, signed, signer, wrapped, wrong } from './saml-responses.js'

const open = (t: Test, more: object = {}, elapsed = () => 0) => {
  const file = join(createFolder(t), 'idp.pem')
  writeFileSync(file, signer.publicKey)
  const settings = identitySettings.parse({
    kind: 'saml',
    issuer: entityId,
    audience: 'tieline',
    recipient: acsUrl,
    certFiles: [file],
    ...more,
  }) as SamlSettings
  let clock = Date.now()
  const identity = createSaml({
    settings,
    pseudonymize: createPseudonymizer('key'),
    tokensCachedMax: 100,
    now: () => clock,
    elapsed,
    onFailure: (fault) => t.fail(fault.message),
    report: () => undefined,
  })
  t.teardown(identity.close)
  return { identity, file, pass: (seconds: number) => (clock += seconds * 1_000) }
}

const good = { kind: 'customer', clientId: 'C-1' }

t.test('a signed assertion names its customer until it expires', async (t) => {
  const { identity, pass } = open(t)
  const token = encode(signed())
  t.match(await identity.identify(token), good)
  t.match(await identity.identify(token), good, 'login and customer send the same one')
  const both = signXml(signed(), signer, { element: 'Response' })
  t.match(await identity.identify(encode(both)), good, 'the response signed too')
  t.match(
    await identity.identify(encode(`<?xml version="1.0" encoding="UTF-8"?>\r\n${signed()}`)),
    good,
  )
  const answered = `<saml:SubjectConfirmationData InResponseTo="_q" Recipient="${acsUrl}" NotOnOrAfter="${instant(Date.now() + 60_000)}"/>`
  const answer = { attributes: 'InResponseTo="_q"' }
  const parts = { assertion: { confirmationData: answered }, response: answer }
  t.match(await identity.identify(encode(signed(parts))), good, 'in response to one request')
  pass(329)
  t.match(await identity.identify(token), good, 'within the tolerance')
  pass(2)
  t.match(await identity.identify(token), {
    kind: 'refused',
    reason: 'expired',
    detail: /^3[01] s ago$/,
  })
  await identity.ready()
})

t.test('the customer is the NameID or one value of an attribute', async (t) => {
  const value = (text: string) => `<saml:AttributeValue>${text}</saml:AttributeValue>`
  const attributes = (...values: string[]) =>
    `<saml:AttributeStatement><saml:Attribute Name="partner">${values.map(value).join('')}</saml:Attribute></saml:AttributeStatement>`
  const { identity } = open(t, { claim: 'partner' })
  const named = (assertion: AssertionParts) => identity.identify(encode(signed({ assertion })))
  t.match(await named({ attributes: attributes('C-7') }), { kind: 'customer', clientId: 'C-7' })
  const nobody = { kind: 'refused', reason: 'no customer claim' }
  t.match(await named({ attributes: attributes('C-7', 'C-8') }), nobody, 'two')
  t.match(await named({}), nobody)
  t.match(await named({ attributes: attributes('<b>C-7</b>') }), nobody)
})

t.test(
  'a response of 300 groups, kept namespaces and a chain of certificates is read',
  async (t) => {
    const values = '<saml:AttributeValue>group</saml:AttributeValue>'.repeat(300)
    const attributes = `<saml:AttributeStatement><saml:Attribute Name="groups">${values}</saml:Attribute></saml:AttributeStatement>`
    const { identity } = open(t)
    const text = signed({ assertion: { attributes }, signing: { prefixes: ['saml', 'xs'] } })
    const chain = '<X509Certificate>MIIB</X509Certificate>'.repeat(4)
    const key = `<KeyInfo><X509Data>${chain}</X509Data></KeyInfo>`
    const sent = text.replace('</SignatureValue>', `</SignatureValue>${key}`)
    t.match(await identity.identify(encode(sent)), good)
  },
)

t.test('a comment cannot cut a name short', async (t) => {
  const { identity } = open(t)
  const nameId = '<saml:NameID>C-1.evil</saml:NameID>'
  const text = signed({ assertion: { nameId } })
  t.match(await identity.identify(encode(text)), { clientId: 'C-1.evil' })
  const cut = text.replace('C-1.evil', 'C-1<!-- -->.evil')
  t.match(await identity.identify(encode(cut)), { kind: 'refused', reason: 'malformed token' })
})

t.test('no wrapping makes a signature speak for another assertion', async (t) => {
  const { identity } = open(t)
  for (const [name, text] of Object.entries(wrapped())) {
    t.match(await identity.identify(encode(text)), { kind: 'refused' }, name)
  }
})

t.test('a response that proves nothing is refused, and counts against nobody', async (t) => {
  const { identity } = open(t)
  for (const [name, [text, reason]] of Object.entries(wrong)) {
    t.hasStrict(await identity.identify(encode(text)), { kind: 'refused', reason }, name)
  }
  const malformed = { kind: 'refused', reason: 'malformed token' }
  const plain = Buffer.from(signed()).toString('base64')
  t.same(await identity.identify(`${plain.replaceAll('=', '')}+`), malformed, 'base64')
  t.same(await identity.identify(`${encode(signed())}=`), malformed, 'padding')
  t.same(await identity.identify('a.b.c'), malformed, 'a JWT')
  const latin = Buffer.from(signed().replace('ID="_r1"', 'ID="_r1" Consent="Ü"'), 'latin1')
  t.same(await identity.identify(latin.toString('base64url')), malformed, 'no UTF-8')
})

t.test('an assertion for somebody else is refused and never counted', async (t) => {
  const { identity } = open(t)
  const text = signed({ assertion: { audience: 'other' } })
  t.same(await identity.identify(encode(text)), {
    kind: 'refused',
    reason: 'audience',
    detail: 'the token has other, the profile wants tieline',
  })
})

t.test('a signed failure is one attempt, however it is written down', async (t) => {
  const { identity } = open(t)
  const failed =
    '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/></samlp:Status>'
  const unsigned = signed({ response: { status: failed } })
  t.same(await identity.identify(encode(unsigned)), { kind: 'refused', reason: 'status' })
  const text = signXml(unsigned, signer, { element: 'Response' })
  const first = await identity.identify(encode(text))
  t.match(first, { kind: 'counted', clientId: 'C-1', reason: 'status' })
  t.same(await identity.identify(encode(text.replace('<samlp:Status>', '<samlp:Status >'))), first)
  const forged = text.replace('status:Responder', 'status:Success')
  t.same(await identity.identify(encode(forged)), { kind: 'refused', reason: 'signature' })
  const assertion = { audience: 'other' }
  const elsewhere = signXml(signed({ assertion, response: { status: failed } }), signer, {
    element: 'Response',
  })
  t.hasStrict(await identity.identify(encode(elsewhere)), { kind: 'refused', reason: 'audience' })
})

t.test('a certificate is exchanged without a restart; what it proved is forgotten', async (t) => {
  const { identity, file } = open(t, { certificateSeconds: 1 })
  const [old, young] = [encode(signed()), encode(signXml(responseOf(assertionOf()), other))]
  const kind = async (token: string) => (await identity.identify(token)).kind
  t.same([await kind(old), await kind(young)], ['customer', 'refused'])
  writeFileSync(file, other.publicKey)
  for (let look = 0; look < 6_000 && (await kind(young)) === 'refused'; look++) await sleep(20)
  t.same([await kind(old), await kind(young)], ['refused', 'customer'])
})

t.test('certificates that cannot be trusted are reported at the start', async (t) => {
  const folder = createFolder(t)
  const weak = join(folder, 'weak.pem')
  const curve = join(folder, 'curve.pem')
  writeFileSync(weak, createSamlSigner(1_024).publicKey)
  writeFileSync(curve, createAuthority('idp').cert)
  const cases: readonly (readonly [string, RegExp])[] = [
    [join(folder, 'none.pem'), /none.pem cannot be read/],
    [weak, /weak.pem holds a key that is not RSA of at least 2048 bits/],
    [curve, /curve.pem holds a key that is not RSA/],
  ]
  for (const [file, detail] of cases) {
    t.throws(() => open(t, { certFiles: [file] }), { code: 'PROFILE', detail })
  }
})

t.test('what no provider signed is never canonicalized, and what one signed once', async (t) => {
  const [text, texts] = [signed(), Object.entries(bombs())]
  let count = 0
  const { process } = ExclusiveCanonicalization.prototype
  ExclusiveCanonicalization.prototype.process = function (node, options) {
    if (node.nodeType === 1 && (node as Element).localName === 'Assertion') count++
    return process.call(this, node, options)
  }
  t.teardown(() => {
    ExclusiveCanonicalization.prototype.process = process
  })
  const { identity } = open(t)
  for (const [name, text] of texts) {
    const judged = await identity.identify(encode(text))
    t.same(judged, { kind: 'refused', reason: 'signature' }, name)
  }
  t.equal(count, 0)
  t.match(await identity.identify(encode(text)), good)
  t.equal(count, 1)
})

t.test(
  'a flood of refused responses costs no more than its budget, and is then an outage',
  async (t) => {
    let elapsed = 0
    const { identity } = open(t, {}, () => (elapsed += 10))
    const forged = encode(signed().replace('C-1', 'C-2'))
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async () => identity.identify(forged)).map((one) =>
        one.then(
          ({ kind }) => kind,
          ({ code }) => code,
        ),
      ),
    )
    const refused = outcomes.filter((one) => one === 'refused').length
    t.ok(refused >= 10 && refused < 190, `${refused} of 200 are judged`)
    t.equal(outcomes.filter((one) => one === 'OVERLOAD').length, 200 - refused)
  },
)

t.test(
  'honest responses are accepted right after a start, whatever the first ones cost',
  async (t) => {
    let [elapsed, cost] = [0, 150]
    const { identity } = open(t, {}, () => (elapsed += cost))
    const forged = encode(signed().replace('C-1', 'C-2'))
    t.match(await identity.identify(encode(signed())), good)
    t.match(await identity.identify(forged), { kind: 'refused' })
    cost = 0
    const ids = Array.from({ length: 20 }, (_, at) =>
      encode(signed({ assertion: { id: `_n${at}` } })),
    )
    const judged = await Promise.all(ids.map(async (token) => identity.identify(token)))
    t.equal(judged.filter(({ kind }) => kind === 'customer').length, ids.length)
  },
)
