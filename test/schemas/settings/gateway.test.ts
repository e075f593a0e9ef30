import { t } from 'tap'
import { Fault } from '../../../schemas/fault.js'
import { parseProfile } from '../../../schemas/settings/profile.js'

const least = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
const identity = {
  kind: 'oidc',
  claim: 'sub',
  issuers: [{ issuer: 'https://a.example', audience: 'b' }],
}
const cis = { kind: 'rest', url: 'https://cis.example' }

function problems(sections: object): readonly string[] {
  try {
    parseProfile({ ...least, ...sections })
    return []
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.message.replace('PROFILE: ', '').split('\n')
  }
}

t.test('every problem of the gateway is reported at once, each with its path', async (t) => {
  const found = problems({
    gateway: {
      listen: { host: '0.0.0.0', allow: ['everybody'] },
      limits: { bodyBytesMax: '2 MB' },
      requestsPerSecondMax: 0,
    },
    identity: { ...identity, clockToleranceSeconds: 61, algorithms: ['HS256'] },
    cis: { ...cis, url: 'http://cis.example', customerPath: '/customers', headers: { A: 7 } },
    errorStyle: 'both',
    login: { unknown: 403 },
  })
  const paths = [
    'gateway.listen.allow[0]',
    'gateway.limits.bodyBytesMax',
    'gateway.requestsPerSecondMax',
    'identity.clockToleranceSeconds',
    'identity.algorithms[0]',
    'cis.url',
    'cis.customerPath',
    'cis.headers.A',
    'errorStyle',
    'login.unknown',
  ]
  for (const path of paths)
    t.ok(
      found.some((line) => line.startsWith(`${path}: `)),
      path,
    )
})

t.test('the path of a socket is limited in bytes, not in characters', async (t) => {
  const found = (socket: string) => problems({ gateway: { listen: { socket } }, identity, cis })
  t.same(found(`${'é'.repeat(53)}s`), [])
  t.match(found('é'.repeat(54)), [/^gateway\.listen\.socket: use at most 107 bytes/])
})

t.test('Connect My Data needs tokens with a scope, and applications that are listed', async (t) => {
  const address = 'https://a.example/'
  const application = {
    ...{ clientId: 'a', name: 'A', redirectUris: [address], notifyUri: address, softwareId: 'a' },
    ...{ softwareVersion: '1', issuedOn: '2026-01-01', scope: 'FB=4_16;HistoryLength=0' },
  }
  const connect = {
    ...{ dataCustodianId: 'A', url: address, authorizationEndpoint: address },
    ...{ tokenEndpoint: address, idSecret: { env: 'A' }, applications: [application] },
  }
  const found = (more: object, kind: object = identity) =>
    problems({
      ...{ gateway: { listen: { port: 1 } }, identity: kind, cis },
      reads: { connect: { ...connect, ...more } },
    })
  t.same(found({}), [])
  const saml = { kind: 'saml', issuer: 'a', audience: 'b', recipient: 'c', certFiles: ['d'] }
  t.match(found({}, saml), [/^reads.connect: use identity of kind oidc/])
  t.match(found({ url: 'http://a.example' }), [/^reads.connect.url: use https/])
  t.match(found({ applications: [] }), [/name at least one application/])
  t.match(found({ applications: [application, application] }), [/name each clientId once/])
  t.match(found({ applications: [{ ...application, scope: 'openid' }] }), [/scope of ESPI/])
})

t.test('what one section needs of another is reported', async (t) => {
  const listen = { port: 1 }
  t.match(problems({ gateway: { listen: { host: '0.0.0.0' } }, identity, cis }), [
    /^gateway.listen.tls: /,
  ])
  t.match(problems({ gateway: { listen } }), [/^identity: /, /^cis: /])
  t.match(problems({ gateway: {}, identity, cis }), [/^gateway.listen: /])
  t.match(problems({ gateway: { listen, mutualTls: 'all' }, identity, cis }), [/^gateway.mutual: /])
  const users = [
    { name: 'p', passwordHash: `scrypt$32768$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}` },
  ]
  const bind = problems({ gateway: { listen }, identity, cis, bind: { users } })
  t.match(bind, [/^ami: /, /^gateway.mutual: /])
  t.same(problems({ gateway: { listen }, identity, cis }), [])
})

t.test('a profile holds no secret, and a message never repeats one', async (t) => {
  const password = 'hunter2'
  const found = problems({
    cis: { kind: 'sql', host: 'h', database: 'd', user: 'u', password, queries: {} },
  })
  t.ok(found.some((line) => line.startsWith('cis.password: ')))
  t.notMatch(found.join(), /hunter2/)
  const mistyped = {
    fields: { meter: { meterID: 'id' } },
    values: { metertype: { E: 'Electric' } },
  }
  t.match(problems({ cis: { ...cis, ...mistyped } }), [
    /^cis.fields.meter: unknown meterID: .*known are .*meterId/,
    /^cis.values: unknown metertype: .*known are .*meterType/,
  ])
  t.match(problems({ cis: { ...cis, url: 'https://u:hunter2@cis.example' } }), [
    /^cis.url: leave user/,
  ])
})
