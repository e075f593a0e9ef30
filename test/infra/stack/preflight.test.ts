import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { t } from 'tap'
import { preflight } from '../../../infra/stack/preflight.js'
import { createSecretReader } from '../../../infra/stack/secrets.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { tieline } from '../command-line.js'

const least = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
const pem = { certFile: 'cert.pem', keyFile: 'key.pem' }

t.test('a start that would fail starts nothing, and doctor finds the same', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const folder = createFolder(t)
  const profile = join(folder, 'profile.yaml')
  const home = join(folder, 'data')
  const sections = {
    ...least,
    worker: { operations: { port, tls: pem } },
    alerts: { url: 'http://127.0.0.1:1', secret: { env: 'TIELINE_TEST_NO_SUCH_SECRET' } },
  }
  writeFileSync(profile, JSON.stringify(sections))
  const at = ['--home', home, '--profile', profile]
  const started = await tieline('up', ...at)
  const doctor = await tieline('doctor', ...at)
  t.match([started.code, doctor.code], [1, 1])
  for (const text of [started.stderr, doctor.stdout]) {
    t.match(text, /secret env:TIELINE_TEST_NO_SUCH_SECRET, referenced in the profile, is not set/)
    t.match(text, /the certificate files of worker\.operations\.tls are not usable: ENOENT/)
    t.match(text, `worker.operations: another program listens on 127.0.0.1:${port}`)
  }
  t.match(doctor.stdout, /✗ start +/)
  t.notMatch(started.stdout, /✓/, 'no server was started')
  const made = ['clickhouse', 'redis'].flatMap((name) => {
    return existsSync(join(home, name)) ? readdirSync(join(home, name)) : []
  })
  t.same(made, [])
})

t.test('a command without listeners needs neither their ports nor their secrets', async (t) => {
  const profile = parseProfile({
    ...least,
    worker: { operations: { port: 1, tls: pem } },
    cis: { kind: 'rest', url: 'https://127.0.0.1:1', headers: {} },
  })
  const secret = () => 'known'
  t.same(await preflight(profile, { secret, stays: false }), [])
  t.match(await preflight(profile, { secret }), [{ code: 'LISTENER' }])
})

t.test('customers read with a user who can only read', async (t) => {
  const profile = {
    ...parseProfile(least),
    gateway: { operations: { host: '127.0.0.1', port: 0 } },
    reads: {},
  } as Parameters<typeof preflight>[0]
  const secret = () => 'known'
  const external = { clickhouseUrl: 'http://u:p@127.0.0.1:1' }
  t.match(await preflight(profile, { secret, external }), [
    { code: 'CONFIG', detail: /CLICKHOUSE_READER_URL/ },
  ])
  const both = { ...external, clickhouseReaderUrl: 'http://r:p@127.0.0.1:1' }
  t.same(await preflight(profile, { secret, external: both }), [])
  t.same(await preflight(profile, { secret }), [], 'the embedded engine has one')
})

t.test('certificates that the profile trusts or shows are read before a start', async (t) => {
  const folder = createFolder(t)
  const empty = join(folder, 'empty.pem')
  writeFileSync(empty, '')
  const absent = { certFile: join(folder, 'own.pem'), keyFile: join(folder, 'own.key') }
  const profile = {
    ...parseProfile(least),
    cis: { kind: 'rest', url: 'https://cis', caFile: empty, clientCertificate: absent },
    identity: [{ kind: 'saml', certFiles: [empty] }],
  } as unknown as Parameters<typeof preflight>[0]
  const found = await preflight(profile, { secret: () => 'known' })
  t.match(
    found.map(({ message }) => message),
    [
      /^PROFILE: caFile: .*empty\.pem does not contain a certificate/,
      /^PROFILE: clientCertificate: .*own\.pem and .*own\.key are not usable: ENOENT/,
      /^PROFILE: identity\.certFiles: .*empty\.pem holds no certificate/,
    ],
  )
})

t.test(
  'a secret that no header can carry is reported by its name, and a BOM is none of it',
  async (t) => {
    const folder = createFolder(t)
    const [file, marked] = [join(folder, 'token'), join(folder, 'marked')]
    writeFileSync(file, 'hush\nhush\n')
    writeFileSync(marked, '\uFEFFhush\r\n')
    const secret = createSecretReader({ TIELINE_TEST_TOKEN: 'hush–hush' })
    const headers = {
      'X-File': { file },
      'X-Variable': { env: 'TIELINE_TEST_TOKEN' },
      'X-Text': 'hush\u0000',
      'X-Good': { file: marked },
    }
    t.equal(secret({ file: marked }), 'hush')
    const found = async (own: object) => {
      const cis = { kind: 'rest', url: 'https://cis', headers: own }
      const faults = await preflight({ ...parseProfile(least), cis } as never, { secret })
      return faults.map(({ message }) => message)
    }
    for (const [name, what] of Object.entries({
      'X-File': `the secret file:${file}`,
      'X-Variable': 'the secret env:TIELINE_TEST_TOKEN',
      'X-Text': 'the text',
    })) {
      const [message = '', ...more] = await found({ [name]: headers[name as 'X-File'] })
      t.match(message, `CONFIG: ${what} in the header ${name} `)
      t.notMatch(message, /hush/)
      t.same(more, [])
    }
    t.same(await found({ 'X-Good': headers['X-Good'] }), [])
    t.match(await found({ 'X-Absent': { file: '/absent' } }), [/cannot read the secret file/])
  },
)

t.test('two listeners of one profile need two ports', async (t) => {
  const of = (host: string) =>
    parseProfile({ ...least, worker: { operations: { host, port: 18_443 } } })
  const gateway = { operations: { host: '127.0.0.1', port: 18_443 } }
  const profile = { ...of('127.0.0.1'), gateway } as Parameters<typeof preflight>[0]
  t.match(await preflight(profile, { secret: () => 'known' }), [
    {
      code: 'PROFILE',
      detail: /gateway\.operations and worker\.operations both listen on port 18443/,
    },
  ])
})

t.test('a wanted port of a server is not one that the profile names', async (t) => {
  const operations = { host: 'localhost', port: 18_444 }
  const profile = parseProfile({ ...least, worker: { operations } })
  const secret = () => 'known'
  const find = (ports: object, external = {}) =>
    preflight(profile, { secret, ports, external } as Parameters<typeof preflight>[1])
  t.match(await find({ redis: 18_444 }), [
    { code: 'CONFIG', detail: 'worker.operations and --redis-port both listen on port 18444' },
  ])
  t.match(await find({ clickhouse: 18_445, redis: 18_445 }), [
    { code: 'CONFIG', detail: '--clickhouse-port and --redis-port both listen on port 18445' },
  ])
  t.same(await find({ clickhouse: 18_445, redis: 18_446 }), [])
  t.same(await find({ redis: 18_444 }, { redisUrl: 'redis://127.0.0.1:1' }), [], 'it starts none')
})

const withSocket = (socket: string) => {
  const gateway = { listen: { host: '127.0.0.1', port: 8_443, socket, allow: [] } }
  return { ...parseProfile(least), gateway } as unknown as Parameters<typeof preflight>[0]
}

t.test('a socket that cannot be had is reported before a start', async (t) => {
  const folder = createFolder(t)
  const secret = () => 'known'
  const socket = join(folder, 'notes.txt')
  writeFileSync(socket, 'keep')
  t.match(await preflight(withSocket(socket), { secret }), [
    { code: 'LISTENER', detail: `gateway.listen.socket: ${socket} exists and is not a socket` },
  ])
  t.same(await preflight(withSocket(socket), { secret, stays: false }), [])
  const taken = join(folder, 'taken.sock')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(taken, resolve))
  t.teardown(() => server.close())
  t.match(await preflight(withSocket(taken), { secret }), [
    { code: 'PORT_TAKEN', detail: `another program listens on ${taken}` },
  ])
  const absent = join(folder, 'absent/gateway.sock')
  t.match(await preflight(withSocket(absent), { secret }), [
    { code: 'LISTENER', detail: `no socket can be created in ${folder}/absent (ENOENT)` },
  ])
})
