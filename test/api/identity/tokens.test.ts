import { t } from 'tap'
import { createPseudonymizer } from '../../../api/access/pseudonym.js'
import { createOidc } from '../../../api/identity/oidc.js'
import { describeExpiry, describeMismatch } from '../../../api/identity/refusal.js'
import type { Fault } from '../../../schemas/fault.js'
import { identitySettings, type OidcSettings } from '../../../schemas/settings/gateway-identity.js'
import { post } from '../rig.js'
import { createIssuer, createSigner, hs256, type Issuer, part } from './issuer.js'

const signer = createSigner()

const oidc = (issuers: readonly object[], more: object = {}) => {
  const failures: Fault[] = []
  let clock = Date.now()
  const settings = identitySettings.parse({
    kind: 'oidc',
    claim: 'sub',
    timeoutMs: 500,
    issuers,
    ...more,
  })
  const identity = createOidc({
    settings: settings as OidcSettings,
    pseudonymize: createPseudonymizer('key'),
    tokensCachedMax: 100,
    now: () => clock,
    onFailure: (fault) => failures.push(fault),
    report: () => undefined,
  })
  t.teardown(identity.close)
  const identify = async (token: string) => identity.identify(token)
  return { identify, failures, pass: (seconds: number) => (clock += seconds * 1_000) }
}

const open = async (more: object = {}) => {
  const issuer = await createIssuer(signer)
  t.teardown(issuer.close)
  const trusted = { issuer: issuer.url, audience: 'tieline', ...more }
  return { issuer, trusted, ...oidc([trusted]) }
}

/** Every way in which a token may prove nothing, and what the log calls it. */
function wrongTokens(issuer: Issuer): Readonly<Record<string, readonly [string, string]>> {
  const good = issuer.token()
  const [head = '', body = '', signature = ''] = good.split('.')
  const now = Math.floor(Date.now() / 1_000)
  const claims = { iss: issuer.url, sub: 'C-1', aud: 'tieline', exp: now + 600 }
  const pem = String(signer.publicKey.export({ type: 'spki', format: 'pem' }))
  const last = signature.slice(-1)
  const stray = String.fromCharCode(last.charCodeAt(0) + 1)
  const other = createSigner()
  return {
    'one part': [head, 'malformed token'],
    'two parts': [`${head}.${body}`, 'malformed token'],
    'four parts': [`${good}.x`, 'malformed token'],
    'no signature': [`${head}.${body}.`, 'malformed token'],
    'two tokens': [`${good}, Bearer ${good}`, 'malformed token'],
    padding: [`${good}==`, 'malformed token'],
    'plain base64': [good.replace(/\.(.)/, '.+'), 'malformed token'],
    'stray bits': [`${head}.${body}.${signature.slice(0, -1)}${stray}`, 'malformed token'],
    'a header that is not JSON': [`bm9uZQ.${body}.${signature}`, 'malformed token'],
    'a critical extension': [issuer.token({ header: { crit: ['exp'] } }), 'malformed token'],
    none: [`${part({ alg: 'none' })}.${body}.${signature}`, 'algorithm'],
    'HS256 with the public key': [hs256({ kid: signer.kid }, claims, pem), 'algorithm'],
    'HS256 called RS256': [hs256({ alg: 'RS256', kid: signer.kid }, claims, pem), 'signature'],
    'another algorithm of the key': [issuer.token({ header: { alg: 'PS256' } }), 'unknown key'],
    'an unknown key': [issuer.token({ by: other }), 'unknown key'],
    'a key under a known name': [issuer.token({ by: { ...other, kid: signer.kid } }), 'signature'],
    'another body': [`${head}.${part({ ...claims, sub: 'C-2' })}.${signature}`, 'signature'],
    'another issuer': [issuer.token({ claims: { iss: 'https://idp.example.com' } }), 'issuer'],
    'no issuer': [issuer.token({ claims: { iss: undefined } }), 'issuer'],
    'an issuer in a list': [issuer.token({ claims: { iss: [issuer.url] } }), 'issuer'],
    expired: [issuer.token({ claims: { exp: now - 61 } }), 'expired'],
    'no expiry': [issuer.token({ claims: { exp: undefined } }), 'claim exp'],
    'an expiry that is none': [issuer.token({ claims: { exp: 'never' } }), 'claim exp'],
    'not yet valid': [issuer.token({ claims: { nbf: now + 120 } }), 'claim nbf'],
    'an ID token of Keycloak': [issuer.token({ claims: { typ: 'ID' } }), 'ID token'],
    'an ID token of Cognito': [issuer.token({ claims: { token_use: 'id' } }), 'ID token'],
    'an ID token with at_hash': [issuer.token({ claims: { at_hash: 'h' } }), 'ID token'],
    'an ID token with c_hash': [issuer.token({ claims: { c_hash: 'h' } }), 'ID token'],
    'an ID token with s_hash': [issuer.token({ claims: { s_hash: 'h' } }), 'ID token'],
    'another type': [issuer.token({ header: { typ: 'logout+jwt' } }), 'token type'],
    'no customer': [issuer.token({ claims: { sub: undefined } }), 'no customer claim'],
    'a customer that is a list': [issuer.token({ claims: { sub: ['C-1'] } }), 'no customer claim'],
    'a customer that is blank': [issuer.token({ claims: { sub: ' ' } }), 'no customer claim'],
  }
}

t.test('a token that proves nothing is refused, and counts against nobody', async (t) => {
  const { issuer, identify } = await open()
  t.match(await identify(issuer.token()), { kind: 'customer', clientId: 'C-1' })
  t.match(await identify(issuer.token({ header: { typ: 'at+jwt' } })), { kind: 'customer' })
  t.match(await identify(issuer.token({ claims: { aud: ['a', 'tieline'] } })), { kind: 'customer' })
  t.match(await identify(issuer.token({ claims: { nonce: 'n' } })), { kind: 'customer' })
  for (const [name, [token, reason]] of Object.entries(wrongTokens(issuer))) {
    t.hasStrict(await identify(token), { kind: 'refused', reason }, name)
  }
})

t.test('a proven token for another audience or scope is refused and never counted', async (t) => {
  const { issuer, trusted } = await open()
  const { identify } = oidc([{ ...trusted, scopes: ['bills', 'meters'] }])
  const wrong = issuer.token({ claims: { aud: 'other', scope: 'bills meters' } })
  t.match(await identify(wrong), { kind: 'refused', reason: 'audience', detail: /wants tieline/ })
  const narrow = issuer.token({ claims: { scope: 'bills' } })
  t.match(await identify(narrow), { kind: 'refused', reason: 'scope' })
  for (const claims of [
    { scope: 'meters bills' },
    { scope: ['meters', 'bills'] },
    { scp: ['meters', 'bills', 7] },
    { scp: 'meters bills' },
    { scope: 'meters', scp: ['bills', 'meters'] },
  ]) {
    t.match(await identify(issuer.token({ claims })), {
      kind: 'customer',
      grant: { scopes: ['meters', 'bills'] },
    })
  }
})

t.test('the application of a token is in the claim of its provider', async (t) => {
  const { issuer, identify } = await open()
  for (const name of ['client_id', 'azp', 'cid', 'appid']) {
    const token = issuer.token({ claims: { [name]: 'app' } })
    t.match(await identify(token), { grant: { applications: ['app'] } }, name)
  }
  const several = issuer.token({ claims: { client_id: 'one', azp: 'two', cid: 'one', appid: 3 } })
  t.same((await identify(several)).grant?.applications, ['one', 'two'])
  t.same((await identify(issuer.token())).grant?.applications, [])
})

t.test('each issuer has its own keys, audience and claim', async (t) => {
  const other = createSigner()
  const [one, two] = [await createIssuer(signer), await createIssuer(other)]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  const { identify } = oidc([
    { issuer: one.url, audience: 'tieline' },
    { issuer: two.url, audience: 'second', claim: ['utility', 'partner'] },
  ])
  t.match(await identify(one.token()), { clientId: 'C-1' })
  const partner = { aud: 'second', utility: { partner: 4_711 } }
  t.match(await identify(two.token({ claims: partner })), { clientId: '4711' })
  const borrowed = two.token({ claims: { iss: one.url } })
  t.match(await identify(borrowed), { kind: 'refused', reason: 'unknown key' })
})

t.test('weak keys and keys for other things are not trusted', async (t) => {
  const weak = createSigner(1_024)
  const { issuer, identify } = await open()
  issuer.keys = [
    weak.jwk,
    { ...createSigner().jwk, kid: 'enc', use: 'enc' },
    { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
    { kty: 'RSA', n: 'AQAB', e: 'AQ', kid: 'none' },
    signer.jwk,
  ]
  t.match(await identify(issuer.token()), { kind: 'customer' })
  t.match(await identify(issuer.token({ by: weak })), { kind: 'refused', reason: 'unknown key' })
})

t.test('a flood of unknown keys causes one fetch, and the known go on', async (t) => {
  const { issuer, identify } = await open()
  await identify(issuer.token())
  const before = issuer.fetches()
  const flood = Array.from({ length: 2_000 }, (_, at) =>
    issuer.token({ header: { kid: `k${at}` } }),
  )
  const answers = await Promise.all(flood.slice(0, 500).map(identify))
  t.ok(answers.every(({ kind }) => kind === 'refused'))
  for (const token of flood.slice(500)) await identify(token)
  t.ok(issuer.fetches() - before <= 1, `${issuer.fetches() - before} fetches`)
  t.match(await identify(issuer.token()), { kind: 'customer' })
})

t.test('garbage, an empty set and silence never replace good keys, nor refuse', async (t) => {
  const { issuer, identify, pass, failures } = await open()
  const late = oidc([{ issuer: issuer.url, audience: 'tieline' }])
  const token = issuer.token({ claims: { exp: Math.floor(Date.now() / 1_000) + 86_400 } })
  t.match(await identify(token), { kind: 'customer' })
  issuer.keys = []
  pass(40)
  const unknown = issuer.token({ header: { kid: 'new' }, claims: { exp: Date.now() } })
  await t.rejects(identify(unknown), { code: 'IDENTITY_UNREACHABLE' }, 'it is unknown')
  t.match(await identify(token), { kind: 'customer' }, 'an empty set')
  for (const kind of ['garbage', 'html', 'huge', 'hang', 'refuse', 'empty']) {
    await post(`${issuer.url}/faults`, { kind })
    pass(120)
    t.match(await identify(token), { kind: 'customer' }, kind)
    await t.rejects(late.identify(token), { code: 'IDENTITY_UNREACHABLE' }, `${kind}, no keys yet`)
    late.pass(120)
  }
  t.ok(failures.length > 0)
})
t.test('a mismatch names what the token has and what the profile wants', async (t) => {
  const wanted = ['https://login.example.com/realms/acme']
  const rows: readonly (readonly [has: unknown, shown: string])[] = [
    ['https://login.example.com/realms/other/', 'https://login.example.com/realms/other/'],
    [['account', 'tieline-test'], 'account, tieline-test'],
    [undefined, 'none'],
    [[], 'none'],
    [['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'a, b, c, d, e and 2 more'],
  ]
  for (const [has, shown] of rows) {
    const said = `the token has ${shown}, the profile wants ${wanted[0]}`
    t.equal(describeMismatch(has, wanted), said)
  }
  t.match(describeMismatch('x', ['a', 'b']), /the profile wants a or b$/)
})

t.test('a value that may be a person, a secret or an attack is left out', async (t) => {
  const shy = [
    'ann@example.com',
    'Ann Example',
    'https://ann:secret@example.com',
    'https://example.com/?name=ann',
    'https://example.com/#ann',
    'a\nb',
    'x'.repeat(201),
    '',
    7,
    null,
    { name: 'ann' },
  ]
  for (const one of shy) {
    const said = describeMismatch(one, ['tieline'])
    t.equal(said, 'the token has (not a plain name), the profile wants tieline')
  }
})

t.test('an expiry is as long ago as a person would say', async (t) => {
  for (const [seconds, said] of [
    [0, '0 s ago'],
    [61.5, '61 s ago'],
    [3_700, '61 min ago'],
    [9_000, '2 h ago'],
    [400_000, '4 days ago'],
    [-5, '0 s ago'],
  ] as const) {
    t.equal(describeExpiry(1_000_000, 1_000_000 + seconds * 1_000), said)
  }
})
