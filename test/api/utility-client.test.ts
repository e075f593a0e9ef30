import { once } from 'node:events'
import { copyFileSync, readFileSync } from 'node:fs'
import { createServer as createPlainServer, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { t } from 'tap'
import { createRestCis } from '../../api/cis/rest.js'
import { callMsMax, createUtilityClient } from '../../api/utility-client.js'
import { demoCertificates } from '../../infra/demo/certificates.js'
import { cisSettings, type RestCisSettings } from '../../schemas/settings/gateway-cis.js'
import { createFolder } from '../rig/folder.js'
import { customer } from './cis/conformance.js'
import { createProvider } from './identity/provider.js'

const provider = await createProvider()
t.teardown(provider.stop)
const folder = createFolder(t)
const own = demoCertificates(join(folder, 'own'))
const other = demoCertificates(join(folder, 'other'))

const serve = async (answer: RequestListener, tls?: object) => {
  const server = tls ? createServer(tls, answer) : createPlainServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as { port: number }
  return `${tls ? 'https' : 'http'}://localhost:${port}`
}
const secrets: Readonly<Record<string, string>> = { RIGHT: 'a secret: 100 % & more', WRONG: 'no' }
const secret = (reference: object) => secrets[(reference as { env: string }).env] ?? ''
const settingsOf = (more: object) =>
  cisSettings.parse({ kind: 'rest', timeoutMs: 20_000, ...more }) as RestCisSettings
const connect = (more: object) => {
  const cis = createRestCis(settingsOf(more), secret)
  t.teardown(cis.close)
  return cis
}
const limits = { timeoutMs: 20_000, connectionsMax: 10, answerBytesMax: 100_000 }
const oauth = {
  tokenUrl: `${provider.issuer}/token`,
  clientId: 'gateway',
  clientSecret: { env: 'RIGHT' },
  scope: 'customer',
}

t.test('a CIS that asks for a token of an OpenID provider', async (t) => {
  const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`))
  const seen: string[] = []
  const refused = new Set<string>()
  const url = await serve(async ({ headers }, response) => {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    seen.push(token)
    const options = { issuer: provider.issuer, audience: 'tieline' }
    const isGood = await jwtVerify(token, keys, options).then(
      ({ payload }) => payload['scope'] === 'customer' && !refused.has(token),
      () => false,
    )
    response.writeHead(isGood ? 200 : 401).end(JSON.stringify(isGood ? customer : {}))
  })
  const cis = connect({ url, oauth })
  const found = await Promise.all([1, 2, 3].map(() => cis.fetch('C-1')))
  t.match(found[2], { record: { clientId: 'C-1' } })
  t.equal(new Set(seen).size, 1, 'requests at one time share one token')
  refused.add(seen[0] as string)
  t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } }, 'a revoked token is replaced')
  t.equal(new Set(seen).size, 2)
  const wrong = connect({ url, oauth: { ...oauth, clientSecret: { env: 'WRONG' } } })
  const before = seen.length
  const fault = await wrong.fetch('C-1').catch((error: Error) => error)
  t.match(fault, { code: 'CIS_UNREACHABLE' })
  t.match(String(fault), /\/token gave no token for the CIS \(.+\): check oauth/)
  t.equal(seen.length, before, 'without a token the CIS is not asked')
  const away = connect({ url, oauth: { ...oauth, tokenUrl: 'http://127.0.0.1:1/token' } })
  await t.rejects(away.fetch('C-1'), {
    code: 'CIS_UNREACHABLE',
    message: /no response from the OAuth server of the CIS at http:\/\/127\.0\.0\.1:1 /,
  })
  const none = await connect({ url })
    .fetch('C-1')
    .catch((error: Error) => error)
  t.match(none, { code: 'CIS_UNREACHABLE', message: /status 401/ })
})

t.test(
  'a token is asked for again before it expires, and whoever gives none is named',
  async (t) => {
    const bodies: string[] = []
    let answer: object = { access_token: 'T', token_type: 'Bearer', expires_in: 1 }
    let status = 200
    const tokenUrl = await serve(async (request, response) => {
      let body = ''
      for await (const piece of request) body += piece
      bodies.push(body)
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
    })
    const url = await serve((_, response) => response.end(JSON.stringify(customer)))
    const cis = connect({ url, oauth: { ...oauth, tokenUrl, secretIn: 'body', audience: 'cis' } })
    await cis.fetch('C-1')
    const form = new URLSearchParams(bodies[0])
    t.same(Object.fromEntries(form), {
      grant_type: 'client_credentials',
      client_id: 'gateway',
      client_secret: secrets['RIGHT'],
      scope: 'customer',
      audience: 'cis',
    })
    const until = Date.now() + 1_000
    while (Date.now() < until) await cis.fetch('C-1')
    t.ok(bodies.length > 1, 'the token of one second was replaced')
    const failures: readonly (readonly [number, object, RegExp])[] = [
      [400, { error: 'invalid_scope', error_description: 'secret words' }, /\(invalid_scope\)/],
      [200, { access_token: 'T' }, /gave no token for the CIS/],
      [503, {}, /gave no token for the CIS/],
    ]
    for (const [code, body, message] of failures) {
      ;[status, answer] = [code, body]
      const failing = connect({ url, oauth: { ...oauth, tokenUrl } })
      const fault = await failing.fetch('C-1').catch((error: Error) => error)
      t.match(fault, { code: 'CIS_UNREACHABLE', message })
      t.notMatch(String(fault), /secret/)
    }
  },
)

t.test(
  'a call with a token takes longer than one request, but not longer than stated',
  async (t) => {
    const lateMs = 500
    const late = (status: number, body: object) =>
      serve(async (_, response) => {
        await sleep(lateMs)
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
      })
    const tokenUrl = await late(200, { access_token: 'T', token_type: 'Bearer', expires_in: 60 })
    const settings = settingsOf({ url: await late(401, {}), oauth: { ...oauth, tokenUrl } })
    const options = { fault: 'CIS_UNREACHABLE', name: 'the CIS', secret } as const
    const client = createUtilityClient(settings, options)
    t.teardown(client.close)
    const begun = performance.now()
    t.match(await client.send({ method: 'GET', url: settings.url }), { status: 401 })
    const requests = Math.floor((performance.now() - begun + 10) / lateMs)
    t.ok(requests >= 4, 'a token, the call, and both again')
    t.equal(callMsMax({ ...settings, timeoutMs: lateMs }), 4 * lateMs)
    t.equal(callMsMax({ timeoutMs: lateMs, oauth: undefined }), lateMs)
  },
)

t.test('a server that asks for a client certificate', async (t) => {
  const tls = {
    cert: readFileSync(own.certFile),
    key: readFileSync(own.keyFile),
    ca: readFileSync(own.caFile),
    requestCert: true,
    rejectUnauthorized: true,
  }
  const shown: string[] = []
  const url = await serve((request, response) => {
    shown.push((request.socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? '')
    response.setHeader('Connection', 'close')
    response.setHeader('Content-Type', 'application/json')
    const token = { access_token: 'T', token_type: 'Bearer' }
    response.end(JSON.stringify(request.url === '/token' ? token : customer))
  }, tls)
  const [certFile, keyFile] = [join(folder, 'client.pem'), join(folder, 'client.key')]
  const use = (files: typeof own) => {
    copyFileSync(files.clientCertFile, certFile)
    copyFileSync(files.clientKeyFile, keyFile)
  }
  use(own)
  const clientCertificate = { certFile, keyFile }
  const server = { url, caFile: own.caFile }
  const cis = connect({ ...server, clientCertificate })
  t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } })
  copyFileSync(other.clientKeyFile, keyFile)
  t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } }, 'half a renewal changes nothing')
  use(other)
  await t.rejects(cis.fetch('C-1'), { code: 'CIS_UNREACHABLE' }, 'renewed files are in use at once')
  use(own)
  const { clientSecret: _, ...byCertificate } = { ...oauth, tokenUrl: `${url}/token` }
  t.ok(await connect({ ...server, clientCertificate, oauth: byCertificate }).fetch('C-1'))
  t.equal(new Set(shown).size, 1)
  await t.rejects(connect(server).fetch('C-1'), { code: 'CIS_UNREACHABLE' }, 'none is refused')
  const files = { certFile: own.clientCertFile, keyFile: other.clientKeyFile }
  const unusable = { fault: 'AMI_UNREACHABLE', name: 'the head-end', secret } as const
  t.throws(
    () => {
      const settings = { ...settingsOf({ ...server, clientCertificate: files }), ...limits }
      createUtilityClient(settings, unusable)
    },
    { code: 'PROFILE', message: /clientCertificate: .* are not usable/ },
  )
})

t.test('settings that contradict each other are refused by name', async (t) => {
  const url = 'https://cis.example.com'
  const problems = (more: object) =>
    cisSettings
      .safeParse({ kind: 'rest', url, ...more })
      .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  t.same(problems({ oauth, headers: { authorization: 'Basic x' } }), [
    'headers.authorization: leave it out, or leave out oauth',
  ])
  t.same(problems({ oauth: { ...oauth, clientSecret: undefined } }), [
    'oauth.clientSecret: missing; add it, or a clientCertificate',
  ])
  t.same(problems({ oauth: { ...oauth, tokenUrl: 'http://idp.example.com/token' } }), [
    'oauth.tokenUrl: use https, or http on loopback',
  ])
  t.match(problems({ oauth: { ...oauth, clientSecret: 'plain' } }), [/not the secret itself/])
})
