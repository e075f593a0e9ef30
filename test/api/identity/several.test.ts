import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { createPseudonymizer } from '../../../api/access/pseudonym.js'
import { createIdentity } from '../../../api/identity/drivers.js'
import type { Identity } from '../../../api/identity/identity.js'
import { createDemoIdp } from '../../../infra/demo/back-office/idp.js'
import { identitySettings } from '../../../schemas/settings/gateway-identity.js'
import { createFolder } from '../../rig/folder.js'
import { post } from '../rig.js'
import { createIssuer, createSigner, type Signer } from './issuer.js'
import { createRevoker } from './revoker.js'
import { acsUrl, assertionOf, encode, entityId, responseOf, signXml } from './saml-provider.js'
import { other, signed, signer } from './saml-responses.js'

const oidc = (issuer: string) => ({
  kind: 'oidc',
  claim: 'sub',
  issuers: [{ issuer, audience: 'tieline' }],
})

/** The identity of several providers, opened together. */
function open(
  t: Test,
  providers: readonly object[],
  more: { readonly elapsed?: () => number } = {},
): Identity {
  return createIdentity(identitySettings.parse({ kind: 'several', providers }), {
    pseudonymize: createPseudonymizer('key'),
    tokensCachedMax: 10,
    secret: () => 'secret',
    now: Date.now,
    onFailure: (fault) => t.fail(fault.message),
    report: () => undefined,
    ...more,
  })
}

t.test('each token goes to the provider that it is made for', async (t) => {
  const [one, two, foreign] = [
    await createDemoIdp(0),
    await createDemoIdp(0),
    await createDemoIdp(0),
  ]
  const revoker = await createRevoker()
  const certFile = join(createFolder(t), 'idp.pem')
  writeFileSync(certFile, signer.publicKey)
  const saml = {
    kind: 'saml',
    issuer: entityId,
    audience: 'tieline',
    recipient: acsUrl,
    certFiles: [certFile],
  }
  const identity = open(t, [oidc(one.url), saml, oidc(two.url), revoker.settings])
  const withoutOpaque = open(t, [saml, oidc(one.url)])
  t.teardown(async () => {
    await Promise.all([identity.close(), withoutOpaque.close()])
    await Promise.all([one.close(), two.close(), foreign.close(), revoker.close()])
  })
  await withoutOpaque.ready()
  const tokenOf = async ({ url }: { url: string }, clientId: string) =>
    String((await post(`${url}/token`, { clientId }))['access_token'])
  t.match(await identity.identify(await tokenOf(one, 'A')), { kind: 'customer', clientId: 'A' })
  t.match(await identity.identify(await tokenOf(two, 'B')), { kind: 'customer', clientId: 'B' })
  t.match(await identity.identify(encode(signed())), { kind: 'customer', clientId: 'C-1' })
  t.match(await identity.identify(revoker.token('D')), { kind: 'counted', clientId: 'D' })
  const forged = `${await tokenOf(one, 'A')}A`
  t.match(await identity.identify(forged), { kind: 'refused' })
  t.equal(revoker.asked(), 1, 'a token of a known issuer is not introspected')
  t.match(await identity.identify(await tokenOf(foreign, 'E')), { reason: 'inactive' })
  t.equal(revoker.asked(), 2, 'one of another issuer is')
  const elsewhere = await tokenOf(foreign, 'E')
  t.match(await withoutOpaque.identify(elsewhere), {
    kind: 'refused',
    reason: 'issuer',
    detail: /^the token has http:\S+, the profile wants http:/,
  })
  const malformed = { kind: 'refused', reason: 'malformed token' }
  t.same(await withoutOpaque.identify(revoker.token('D')), malformed)
  t.equal(identity.figures().keys.length, 2)
  await identity.ready()
})

t.test('a token is for its issuer, whatever its key id says', async (t) => {
  const keys = [createSigner(), createSigner()] as const
  for (const kid of [undefined, 'same']) {
    const issuers = [await createIssuer(keys[0]), await createIssuer(keys[1])] as const
    for (const [at, issuer] of issuers.entries()) issuer.keys = [{ ...keys[at]?.jwk, kid }]
    const identity = open(
      t,
      issuers.map(({ url }) => oidc(url)),
    )
    t.teardown(() => Promise.all([identity.close(), ...issuers.map((one) => one.close())]))
    const header = { kid }
    for (let round = 0; round < 2; round++) {
      for (const [at, issuer] of issuers.entries()) {
        const claims = { sub: `C-${at}` }
        const token = issuer.token({ header, claims })
        t.match(await identity.identify(token), { kind: 'customer', clientId: `C-${at}` })
        const by = keys[1 - at] as Signer
        const forged = issuer.token({ header, claims, by })
        t.match(await identity.identify(forged), { kind: 'refused', reason: 'signature' })
        const foreign = issuer.token({ header, claims: { iss: 'https://other.example' }, by })
        t.match(await identity.identify(foreign), { kind: 'refused', reason: 'issuer' })
      }
    }
  }
})

t.test('a provider says nothing of tokens of another issuer', async (t) => {
  const signer = createSigner()
  const [one, two] = [await createIssuer(signer), await createIssuer(signer)]
  const revoker = await createRevoker()
  const strict = { ...oidc(one.url), algorithms: ['RS256'], tokenType: 'accessToken' }
  const identity = open(t, [strict, oidc(two.url), revoker.settings])
  t.teardown(async () => {
    await Promise.all([identity.close(), one.close(), two.close(), revoker.close()])
  })
  const token = two.token({ claims: { sub: 'B' } })
  t.match(await identity.identify(token), { kind: 'customer', clientId: 'B' })
  t.match(await identity.identify(one.token({ claims: { sub: 'B' } })), { kind: 'refused' })
  t.equal(revoker.asked(), 0)
  const [, body, signature] = token.split('.')
  const header = Buffer.from('{"alg":"HS256"}').toString('base64url')
  const foreign = Buffer.from('{"iss":"https://opaque.example"}').toString('base64url')
  t.match(await identity.identify([header, body, signature].join('.')), { reason: 'algorithm' })
  await identity.identify([header, foreign, signature].join('.'))
  t.equal(revoker.asked(), 1, 'a JWT of nobody else is introspected')
})

const first = 'https://first.example'

/** Two SAML providers, `first` and `entityId`; each look at the clock of the budget is `step` later. */
const openTwo = (t: Test, step: () => number) => {
  const folder = createFolder(t)
  const providers = [first, entityId].map((issuer, at) => {
    const certFile = join(folder, `${at}.pem`)
    writeFileSync(certFile, (at === 0 ? other : signer).publicKey)
    const recipient = at === 0 ? `${first}/acs` : acsUrl
    return { kind: 'saml', issuer, audience: 'tieline', recipient, certFiles: [certFile] }
  })
  let ms = 0
  const elapsed = () => {
    ms += step()
    return ms
  }
  const identity = open(t, providers, { elapsed })
  t.teardown(() => identity.close())
  return identity
}

const customer = { kind: 'customer', clientId: 'C-1' }

t.test('two SAML providers have recipients, keys and budgets of their own', async (t) => {
  let step = 5
  const identity = openTwo(t, () => step)
  const unnamed = signed({ response: { issuer: '' } })
  t.match(await identity.identify(encode(unnamed)), customer, 'without an issuer of the response')
  const again = encode(signed())
  t.match(await identity.identify(again), customer)
  const foreign = responseOf(assertionOf({ issuer: first }), { attributes: '', issuer: '' })
  const refused = encode(signXml(foreign, signer))
  const flood = async () => {
    for (;;) t.match(await identity.identify(refused), { reason: 'signature' })
  }
  await t.rejects(flood(), { code: 'OVERLOAD' })
  step = 0
  await t.rejects(async () => identity.identify(refused), { code: 'OVERLOAD' })
  t.match(await identity.identify(again), customer, 'remembered, whatever others send')
})

t.test('honest responses of one SAML provider cost no other provider its budget', async (t) => {
  const identity = openTwo(t, () => 10)
  for (let count = 0; count < 60; count++) {
    const issuer = count % 2 ? '' : undefined
    const response = issuer === undefined ? {} : { issuer }
    const token = encode(signed({ assertion: { id: `_n${count}` }, response }))
    t.match(await identity.identify(token), customer)
  }
})

t.test('one provider of opaque tokens is enough', async (t) => {
  const revoker = await createRevoker()
  t.teardown(revoker.close)
  const providers = [revoker.settings, revoker.settings]
  t.throws(() => identitySettings.parse({ kind: 'several', providers }), /does not name its/)
})
