import { t } from 'tap'
import { createPseudonymizer } from '../../../api/access/pseudonym.js'
import { createOidc } from '../../../api/identity/oidc.js'
import type { Fault } from '../../../schemas/fault.js'
import { identitySettings } from '../../../schemas/settings/gateway-identity.js'
import { createProvider } from './provider.js'

const oidc = (issuer: string, more: object = {}) => {
  const failures: Fault[] = []
  let clock = Date.now()
  const settings = identitySettings.parse({
    kind: 'oidc',
    claim: ['utility', 'partner'],
    issuers: [{ issuer, audience: 'tieline' }],
    timeoutMs: 2_000,
    ...more,
  })
  if (settings.kind !== 'oidc') throw new Error('oidc')
  const identity = createOidc({
    settings,
    pseudonymize: createPseudonymizer('key'),
    tokensCachedMax: 100,
    now: () => clock,
    onFailure: (fault) => failures.push(fault),
    report: () => undefined,
  })
  return { identity, failures, pass: (seconds: number) => (clock += seconds * 1_000) }
}

t.test('a token of a real provider names its customer, until its key is gone', async (t) => {
  const provider = await createProvider()
  t.teardown(provider.stop)
  const { accessToken, idToken } = await provider.signIn('7000000001')
  const { identity, pass } = oidc(provider.issuer)
  t.teardown(identity.close)
  const good = { kind: 'customer', clientId: '7000000001' }
  t.match(await identity.identify(accessToken), good)
  t.match(identity.identify(accessToken), good, 'at once the second time')
  t.match(
    await identity.identify(idToken),
    { kind: 'refused' },
    'an ID token is not an access token',
  )

  await provider.stop()
  pass(3_000)
  t.match(identity.identify(accessToken), good, 'the provider is away for 50 minutes')
  await provider.restart({ newKeys: true })
  const { accessToken: newer } = await provider.signIn('7000000002')
  const { identity: other } = oidc(provider.issuer)
  t.teardown(other.close)
  t.match(await other.identify(newer), { kind: 'customer', clientId: '7000000002' })
  pass(60)
  t.match(await identity.identify(newer), { clientId: '7000000002' }, 'a new key is fetched')
  t.match(await identity.identify(accessToken), { kind: 'refused', reason: 'unknown key' })
})

t.test('without keys nobody is refused: it is an outage', async (t) => {
  const provider = await createProvider()
  const { accessToken } = await provider.signIn('7000000001')
  await provider.stop()
  const { identity, failures, pass } = oidc(provider.issuer, { staleSeconds: 7_000 })
  t.teardown(identity.close)
  const outage = { code: 'IDENTITY_UNREACHABLE' }
  await t.rejects(Promise.resolve(identity.identify(accessToken)), outage)
  const tried = failures.length
  await t.rejects(Promise.resolve(identity.identify(accessToken)), outage)
  t.equal(failures.length, tried, 'it is not asked again at once')
  await provider.restart()
  t.teardown(provider.stop)
  pass(2)
  t.match(await identity.identify(accessToken), { kind: 'customer' })
  await provider.stop()
  pass(8_000)
  await t.rejects(
    Promise.resolve(identity.identify(accessToken)),
    outage,
    'keys are trusted for a bounded time only',
  )
})

t.test('a clock that is set back delays neither a new key nor the next attempt', async (t) => {
  const provider = await createProvider()
  t.teardown(() => provider.stop())
  const { accessToken } = await provider.signIn('7000000001')
  const { identity, pass } = oidc(provider.issuer)
  t.teardown(identity.close)
  await identity.identify(accessToken)
  await provider.stop()
  await provider.restart({ newKeys: true })
  const { accessToken: newer } = await provider.signIn('7000000002')
  pass(-3_600)
  t.match(await identity.identify(newer), { clientId: '7000000002' })

  await provider.stop()
  const { identity: other, pass: passOther } = oidc(provider.issuer)
  t.teardown(other.close)
  await t.rejects(Promise.resolve(other.identify(newer)), { code: 'IDENTITY_UNREACHABLE' })
  await provider.restart()
  passOther(-3_600)
  t.match(await other.identify(newer), { clientId: '7000000002' })
})
