import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { t } from 'tap'
import { createDemoMdm } from '../../../infra/demo/back-office/mdm.js'
import { demoCustomers } from '../../../infra/demo/customers.js'
import { openHome } from '../../../infra/stack/home.js'
import { createPostgres } from '../../api/cis/postgres.js'
import { post } from '../../api/rig.js'
import { createSshd } from '../../pipeline/sources/servers/sshd.js'
import { createFolder } from '../../rig/folder.js'
import { createReceiver } from '../alerts/receiver.js'
import { program, tieline } from '../command-line.js'

t.test('doctor says what is not good and what to do, and starts nothing', async (t) => {
  const folder = t.testdir({ 'profile.yaml': 'companyCodes: [ACME]\n' })
  const home = join(folder, 'data')
  const good = await tieline('doctor', '--home', home)
  t.equal(good.code, 0, good.stdout)
  t.match(good.stdout, /✓ profile .*DEMO/)
  const bad = await tieline('doctor', '--home', home, '--profile', join(folder, 'profile.yaml'))
  t.equal(bad.code, 1)
  t.match(bad.stdout, /✗ profile .*profile\.yaml is not valid:\n {15}timeZone: missing/)
  t.match(bad.stdout, /→ /)
  t.notOk(existsSync(home), 'the data folder is not made')
})

t.test('doctor marks what it did not check, and a zone of one offset is a problem', async (t) => {
  const folder = t.testdir({ 'profile.yaml': 'companyCodes: [ACME]\ntimeZone: EST\n' })
  const at = ['--home', join(folder, 'data'), '--profile', join(folder, 'profile.yaml')]
  const { code, stdout } = await tieline('doctor', ...at)
  t.equal(code, 1, stdout)
  t.match(
    stdout,
    /^✗ profile .*\n +timeZone \(line 2.*EST has no daylight time all year; use America/m,
  )
  t.match(stdout, /^- CIS +not checked: the profile is not valid$/m)
  t.match(stdout, /^- disk +not checked: the profile is not valid; .* free at \//m)
  t.notMatch(stdout, /✓.*not checked/)
  t.match(stdout, /1 problem found/)
})

t.test('doctor finds rows that were acknowledged and that nothing submits', async (t) => {
  const home = join(createFolder(t), 'data')
  const before = await tieline('doctor', '--home', home)
  t.match(before, { code: 0, stdout: /^- intake +not checked: the profile has no section/m })
  const { pushed, uploads } = openHome(home)
  writeFileSync(join(pushed, '0123456789abcdef-DEMO_02072025_Electric_1.csv'), '')
  writeFileSync(join(uploads, 'x.0123abcd.part'), '')
  const { code, stdout } = await tieline('doctor', '--home', home)
  t.equal(code, 1, stdout)
  t.match(
    stdout,
    /✗ intake +1 files of pushed rows and uploads are not loaded, such as 0123.*\n.*→ set intake/,
  )
})

t.test('doctor says why the identity provider gives no keys, and that no file fits', async (t) => {
  const issuer = 'http://127.0.0.1:1/realms/x'
  const folder = t.testdir({
    'profile.yaml': JSON.stringify({
      companyCodes: ['ACME'],
      timeZone: 'America/Detroit',
      gateway: { listen: { host: '127.0.0.1', port: 8443 } },
      identity: { kind: 'oidc', claim: 'sub', issuers: [{ issuer, audience: 'tieline' }] },
      cis: { kind: 'rest', url: 'http://127.0.0.1:1' },
      limits: { freeDiskBytesMin: '100 TB' },
    }),
  })
  const at = ['--home', join(folder, 'data'), '--profile', join(folder, 'profile.yaml')]
  const { stdout } = await tieline('doctor', ...at)
  t.match(stdout, /^! disk .* free at \/.*, less than limits\.freeDiskBytesMin \(/m)
  t.match(stdout, /✗ identity .*no keys yet, 1 failed attempt: .*ECONNREFUSED/)
})

t.test('doctor names the variable of a file that is missing', async (t) => {
  const url = 'https://127.0.0.1:1'
  const env = { ...process.env, CLICKHOUSE_URL: url, CLICKHOUSE_CA_FILE: '/gone.pem' }
  const child = spawn(process.execPath, [program, 'doctor'], { cwd: createFolder(t), env })
  const said = await text(child.stdout)
  t.match(said, /✗ ClickHouse +CONFIG: CLICKHOUSE_CA_FILE \/gone\.pem cannot be read; fix/)
  t.match(said, /ports +6379 (is free|in use)/, 'the port of its own ClickHouse is not asked about')
})

t.test('doctor asks the MDM of a profile, and so does its probe', async (t) => {
  const mdm = await createDemoMdm({ port: 0, seed: 20_251_102, count: 20 })
  t.teardown(mdm.close)
  const folder = createFolder(t)
  const profile = join(folder, 'profile.yaml')
  const lines = ['companyCodes: [DEMO]', 'timeZone: America/Detroit', 'ingestion: backfill']
  writeFileSync(profile, [...lines, `backfill: { url: "${mdm.url}/usage" }`].join('\n'))
  const at = ['--home', join(folder, 'data'), '--profile', profile]
  const good = await tieline('doctor', ...at)
  t.match(good, { code: 0, stdout: /✓ MDM +http:\S+ OK: no reads of this meter/ })
  const [customer] = demoCustomers(20_251_102, 1)
  const probed = await tieline('probe', 'backfill', customer?.meters[0]?.meterId ?? '', ...at)
  t.match(probed, { code: 0, stdout: /✓ MDM +\d+ ms +OK: 72 rows/ })
  await post(`${mdm.url}/faults`, { kind: 'html' })
  const bad = await tieline('doctor', ...at)
  t.match(bad, { code: 1, stdout: /✗ MDM +MDM_ANSWER: .* neither CSV nor NDJSON\n +→ / })
  t.match(await tieline('probe', 'backfill', 'M', ...at), { code: 1, stdout: /✗ MDM .*MDM_ANSWER/ })
})

t.test(
  'doctor asks CIS, identity provider and head-end; a wrong password is a problem',
  async (t) => {
    const right = 'Basic right'
    const server = createServer((request, response) => {
      const { authorization } = request.headers
      const isIntrospection = request.url === '/introspect'
      const known = isIntrospection ? `Basic ${btoa('tieline:right')}` : right
      if (authorization !== known) return response.writeHead(401).end()
      if (isIntrospection) return response.end(JSON.stringify({ active: false }))
      return response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const folder = createFolder(t)
    const doctor = (password: string) => {
      const headers = { Authorization: `Basic ${password}` }
      writeFileSync(join(folder, 'secret'), password)
      const sections = {
        companyCodes: ['DEMO'],
        timeZone: 'America/Detroit',
        cis: { kind: 'rest', url, headers },
        ami: { kind: 'rest', url, headers },
        identity: {
          kind: 'introspection',
          claim: 'sub',
          url: `${url}/introspect`,
          clientId: 'tieline',
          clientSecret: { file: join(folder, 'secret') },
        },
      }
      const profile = join(folder, 'profile.yaml')
      writeFileSync(profile, JSON.stringify(sections))
      return tieline('doctor', '--home', join(folder, 'data'), '--profile', profile)
    }
    const good = await doctor('right')
    t.equal(good.code, 0, good.stdout)
    t.match(good.stdout, /✓ identity +introspection OK\n✓ CIS +rest OK\n✓ head-end +rest OK/)
    const wrong = await doctor('wrong')
    t.equal(wrong.code, 1)
    t.match(wrong.stdout, /✗ identity +IDENTITY_UNREACHABLE: .*status 401: check .* clientSecret/)
    t.match(wrong.stdout, /✗ CIS +CIS_UNREACHABLE: .*status 401/)
    t.match(wrong.stdout, /✗ head-end +AMI_UNREACHABLE: .*status 401/)
    t.match(wrong.stdout, /3 problems found/)
  },
)

t.test('a wrong password of the MDM is a problem', async (t) => {
  const server = createServer(({ headers }, response) => {
    response.writeHead(headers.authorization === 'Basic right' ? 404 : 401).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folder = createFolder(t)
  const doctor = (password: string) => {
    const headers = { Authorization: `Basic ${password}` }
    const least = { companyCodes: ['DEMO'], timeZone: 'America/Detroit', ingestion: 'backfill' }
    const profile = join(folder, 'profile.yaml')
    writeFileSync(profile, JSON.stringify({ ...least, backfill: { url, headers } }))
    return tieline('doctor', '--home', join(folder, 'data'), '--profile', profile)
  }
  t.match(await doctor('right'), { code: 0, stdout: /✓ MDM +http:\S+ OK/ })
  t.match(await doctor('wrong'), { code: 1, stdout: /✗ MDM +MDM_\w+: .*status 401/ })
})

t.test('a wrong password of a CIS that is a database is a problem', async (t) => {
  const server = await createPostgres()
  t.teardown(server.close)
  const folder = createFolder(t)
  const password = join(folder, 'secret')
  const columns = ['client_id', 'first_name', 'last_name', 'acct_status']
  const customer = `SELECT ${columns.map((name) => `'' AS ${name}`).join(', ')} WHERE $1 = 'nobody'`
  const queries = { customer, sites: customer, meters: customer }
  const cis = { kind: 'sql', host: '127.0.0.1', port: server.port, database: 'postgres' }
  const login = { user: 'gateway', password: { file: password }, tls: 'off' }
  const least = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
  const profile = join(folder, 'profile.yaml')
  writeFileSync(profile, JSON.stringify({ ...least, cis: { ...cis, ...login, queries } }))
  await server.run(`CREATE ROLE gateway LOGIN PASSWORD 'right'`)
  await server.askPassword('gateway')
  const doctor = (secret: string) => {
    writeFileSync(password, secret)
    return tieline('doctor', '--home', join(folder, 'data'), '--profile', profile)
  }
  t.match(await doctor('right'), { code: 0, stdout: /✓ CIS +sql OK/ })
  t.match(await doctor('wrong'), { code: 1, stdout: /✗ CIS +CIS_\w+: .*SQLSTATE 28P01/ })
})

t.test('probe alert sends a signed test to the receiver and says what it answers', async (t) => {
  const receiver = await createReceiver()
  t.teardown(receiver.close)
  const folder = createFolder(t)
  const profile = join(folder, 'profile.yaml')
  const write = (secret: string) => {
    writeFileSync(join(folder, 'secret'), secret)
    const section = { url: receiver.url, secret: { file: join(folder, 'secret') } }
    const lines = ['companyCodes: [DEMO]', 'timeZone: America/Detroit']
    writeFileSync(profile, [...lines, `alerts: ${JSON.stringify(section)}`].join('\n'))
  }
  const probe = () => tieline('probe', 'alert', '--home', folder, '--profile', profile)
  write(receiver.secret)
  const sent = await probe()
  t.match(sent, { code: 0, stdout: /✓ alert receiver +\d+ ms +OK: status 204 for message / })
  t.match(receiver.messages, [{ about: { kind: 'test' } }])
  write('another of sixteen')
  t.match(await probe(), { code: 1, stdout: /✗ .* ALERT_REFUSED: .*answered 401/ })
  write('short')
  t.match(await probe(), { code: 1, stderr: /CONFIG: alerts.secret has 5 characters; use/ })
})

t.test('doctor logs in to each source on another machine and says what is wrong', async (t) => {
  const folder = createFolder(t)
  const sshd = await createSshd(createFolder(t))
  t.teardown(() => sshd.close())
  const outgoing = createFolder(t)
  writeFileSync(join(outgoing, 'DEMO_05032024_Gas.csv'), 'rows')
  const host = '127.0.0.1'
  const { port, user, login } = sshd
  const secret = login.key
  const mdm = { kind: 'sftp', name: 'mdm', host, port, ...login, path: outgoing }
  const closed = 1
  const others = [
    { ...mdm, name: 'moved', path: join(outgoing, 'elsewhere') },
    { ...mdm, name: 'closed', path: '/sys' },
    { ...mdm, name: 'foreign', hostKeys: [`SHA256:${'A'.repeat(43)}`] },
    { ...mdm, name: 'locked', key: { file: sshd.otherKeyPath } },
    { ...mdm, name: 'nameless', key: { env: 'TIELINE_TEST_NO_SUCH_SECRET' } },
    { kind: 'ftp', name: 'old', host, port: closed, user, password: secret, path: '/' },
    {
      kind: 's3',
      name: 'lake',
      bucket: 'drop',
      endpoint: `http://${host}:${closed}`,
      ...keys(secret),
    },
  ]
  const doctor = (sources: readonly object[]) => {
    const profile = join(folder, 'profile.yaml')
    const least = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
    writeFileSync(profile, JSON.stringify({ ...least, sources }))
    return tieline('doctor', '--home', join(folder, 'data'), '--profile', profile)
  }
  const good = await doctor([mdm])
  t.match(good, { code: 0, stdout: /✓ sources +mdm: sftp OK, 1 files to take, receipts can/ })
  t.same(readdirSync(outgoing), ['DEMO_05032024_Gas.csv'])
  const { code, stdout } = await doctor([mdm, ...others])
  t.equal(code, 1)
  for (const line of [
    /✗ sources +mdm: sftp OK/,
    /moved: SOURCE_REFUSED: 127.0.0.1 .*elsewhere/,
    /closed: (PERMISSION|SOURCE_REFUSED): .*tieline-doctor\.tmp/,
    /foreign: SOURCE_IDENTITY: 127.0.0.1:\d+ shows the key SHA256:/,
    /locked: SOURCE_LOGIN: 127.0.0.1:\d+ refused /,
    /nameless: CONFIG: secret env:TIELINE_TEST_NO_SUCH_SECRET, referenced in the profile, is not set/,
    /old: SOURCE_UNREACHABLE: 127.0.0.1:1/,
    /lake: SOURCE_UNREACHABLE: bucket drop/,
    /→ .*Fix the user, key or password of the source/,
  ]) {
    t.match(stdout, line)
  }
  t.notOk(existsSync(join(folder, 'data')), 'the data folder is not made')
})

function keys(secret: object) {
  return { accessKeyId: secret, secretAccessKey: secret }
}

t.test('doctor writes where receipts go and says where it cannot', async (t) => {
  const folder = createFolder(t)
  const home = join(folder, 'data')
  const inbox = join(folder, 'inbox')
  const source = { kind: 'folder', name: 'drop', path: inbox, receipts: true }
  const profile = join(folder, 'profile.yaml')
  const least = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
  writeFileSync(profile, JSON.stringify({ ...least, sources: [source] }))
  for (const path of [home, inbox, join(home, 'outbox')]) mkdirSync(path)
  const doctor = () => tieline('doctor', '--home', home, '--profile', profile)
  const good = await doctor()
  t.match(good.stdout, `✓ receipts     can be written to ${join(home, 'outbox')}, ${inbox}\n`)
  t.same([readdirSync(join(home, 'outbox')), readdirSync(inbox)], [[], []])
  writeFileSync(profile, JSON.stringify({ ...least, sources: [{ ...source, path: '/sys' }] }))
  const bad = await doctor()
  t.match(bad, { code: 1, stdout: /✗ receipts +PERMISSION: \/sys\/tieline-doctor\.tmp: access/ })
})
