import { once } from 'node:events'
import { createServer } from 'node:http'
import { t } from 'tap'
import { createPseudonymizer } from '../../../api/access/pseudonym.js'
import { createIntrospection } from '../../../api/identity/introspection.js'
import {
  type IntrospectionSettings,
  identitySettings,
} from '../../../schemas/settings/gateway-identity.js'

const exp = Math.floor(Date.now() / 1_000) + 600
const answers: Readonly<Record<string, object | string>> = {
  good: { active: true, sub: 'C-1', aud: 'tieline', scope: 'bills', exp },
  other: { active: true, sub: 'C-1', aud: 'other', scope: 'bills', exp },
  narrow: { active: true, sub: 'C-1', aud: 'tieline', exp },
  nobody: { active: true, aud: 'tieline', scope: 'bills', exp },
  expired: { active: true, sub: 'C-1', aud: 'tieline', scope: 'bills', exp: exp - 1_200 },
  revoked: { active: false, sub: 'C-1' },
  unknown: { active: false },
  html: '<html>sign in</html>',
  vague: { sub: 'C-1' },
}

t.test('an opaque token is what its provider says', async (t) => {
  let asked = 0
  let authorization: string | undefined
  const server = createServer(async (request, response) => {
    asked++
    authorization = request.headers.authorization
    let body = ''
    for await (const piece of request) body += piece
    const answer = answers[new URLSearchParams(body).get('token') ?? ''] ?? { active: false }
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const settings = identitySettings.parse({
    kind: 'introspection',
    claim: 'sub',
    url: `http://127.0.0.1:${port}/introspect`,
    clientId: 'tieline',
    clientSecret: { env: 'SECRET' },
    audience: ['tieline'],
    scopes: ['bills'],
    cacheSeconds: 30,
    timeoutMs: 1_000,
  }) as IntrospectionSettings
  let clock = Date.now()
  const identity = createIntrospection({
    settings,
    clientSecret: 'a secret',
    pseudonymize: createPseudonymizer('key'),
    tokensCachedMax: 10,
    now: () => clock,
    report: () => undefined,
  })
  const identify = async (token: string) => identity.identify(token)
  t.match(await identify('good'), { kind: 'customer', clientId: 'C-1' })
  t.equal(authorization, `Basic ${Buffer.from('tieline:a%20secret').toString('base64')}`)
  await identify('good')
  t.equal(asked, 1, 'kept for its seconds')
  clock += 31_000
  await identify('good')
  t.equal(asked, 2)
  t.match(await identify('other'), { kind: 'refused', reason: 'audience', detail: /wants tieline/ })
  t.match(await identify('narrow'), { kind: 'refused', reason: 'scope' })
  t.match(await identify('revoked'), { kind: 'counted', reason: 'revoked', clientId: 'C-1' })
  t.match(await identify('unknown'), { kind: 'refused', reason: 'inactive' })
  t.match(await identify('nobody'), { kind: 'refused', reason: 'no customer claim' })
  t.match(await identify('expired'), { kind: 'refused', reason: 'expired', detail: / ago$/ })
  asked = 0
  const crowd = (token: string) => Promise.all(Array.from({ length: 200 }, () => identify(token)))
  t.equal(new Set((await crowd('crowd')).map(({ kind }) => kind)).size, 1)
  t.equal(asked, 1, 'one token 200 times at once')
  await crowd('crowd')
  t.equal(asked, 1, 'a refused token is remembered')
  clock += 5_001
  await crowd('crowd')
  t.equal(asked, 2, 'for 5 seconds')
  const outage = { code: 'IDENTITY_UNREACHABLE' }
  await t.rejects(identify('html'), outage)
  await t.rejects(identify('vague'), outage)
  await identity.ready()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await t.rejects(identify('good2'), outage)
  await t.rejects(identity.ready(), outage)
  await identity.close()
})
