import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { request as ask, createServer, type IncomingMessage } from 'node:http'
import { request as askTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { mock } from 'node:test'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { hashPassword } from '../../../api/access/password.js'
import { type Certificates, demoCertificates } from '../../../infra/demo/certificates.js'
import { createAdmit, createPeople, isOwn } from '../../../infra/operations/access.js'
import type { Admission } from '../../../infra/operations/logins.js'
import { createHealth } from '../../../infra/telemetry/health.js'
import type { Fault } from '../../../schemas/fault.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'

const passwordHash = await hashPassword('a long password')
const users = [{ name: 'ann', passwordHash }]

function operations(settings: object) {
  const profile = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
  return parseProfile({ ...profile, worker: { operations: settings } }).worker.operations
}

function admitOf(settings: object, onFailure: (fault: Fault) => void = () => undefined) {
  const all = operations(settings)
  return createAdmit(all, onFailure, createPeople(all, onFailure))
}

/** A server with `admit`; returns a function that resolves to the admission of a request. */
async function createDoor(t: Test, settings: object) {
  const admit = admitOf(settings)
  const server = createServer((request, response) => {
    void admit(request).then((admission) => {
      response.end(JSON.stringify({ ...admission, isOwn: isOwn(request) }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return async (headers: Readonly<Record<string, string>> = {}) => {
    const request = ask({ port, host: '127.0.0.1', headers })
    request.end()
    const [response] = await once(request, 'response')
    return (await json(response)) as Admission & { isOwn: boolean }
  }
}

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

t.test('on loopback every local user has access, under a loopback host name', async (t) => {
  const knock = await createDoor(t, {})
  t.match(await knock(), { who: 'loopback' })
  t.match(await knock({ host: 'localhost:9465' }), { who: 'loopback' })
  t.match(await knock({ host: 'rebound.example.com' }), { status: 403 })
})

t.test('an address other than loopback requires users or client certificates', async (t) => {
  const knock = await createDoor(t, { host: '0.0.0.0' })
  t.match(await knock(), { status: 403, text: /users or tls.clientCaFile/ })
  const tls = { certFile: 'a', keyFile: 'b', clientCaFile: 'c' }
  const certified = await createDoor(t, { host: '0.0.0.0', tls })
  t.match(await certified(), { status: 403, text: /client certificate/ })
})

t.test('users log in with name and password, on loopback too with profile users', async (t) => {
  for (const host of ['0.0.0.0', '127.0.0.1']) {
    const knock = await createDoor(t, { host, users })
    t.match(await knock(), { status: 401 })
    t.match(await knock(basic('ann', 'another password')), { status: 401 })
    t.match(await knock(basic('bob', 'a long password')), { status: 401 })
    t.match(await knock(basic('ann', 'a long password')), { who: 'ann' })
    t.match(await knock(basic('ann', 'a long password')), { who: 'ann' })
  }
})

t.test('wrong logins are reported together, without password and unknown names', async (t) => {
  const faults: string[] = []
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const admit = admitOf({ users }, (fault) => void faults.push(fault.detail))
  const come = (name: string, password: string) =>
    admit({ headers: basic(name, password) } as IncomingMessage)
  await admit({ headers: {}, socket: {} } as IncomingMessage)
  t.same(faults, [], 'a browser that was not asked yet')
  await come('ann', 'guess 1')
  t.same(faults, ['wrong logins to the operations page: ann 1'])
  await come('ann', 'guess 2')
  await come('my password', 'ann')
  await come('ann', 'a long password')
  t.equal(faults.length, 1)
  mock.timers.tick(10_000)
  t.same(faults.slice(1), ['wrong logins to the operations page: ann 1, unknown names 1'])
  mock.timers.tick(10_000)
  await come('ann', 'guess 3')
  t.equal(faults.length, 3)
})

t.test('failed logins do not lock out users who are signed in', async (t) => {
  const admit = admitOf({ users })
  const come = (password: string) => {
    return admit({ headers: basic('ann', password) } as IncomingMessage)
  }
  t.match(await come('a long password'), { who: 'ann' })
  const guesses = Array.from({ length: 6 }, (_, at) => come(`guess ${at}`))
  t.match(await come('a long password'), { who: 'ann' })
  const answers = await Promise.all(guesses)
  t.match(answers.at(0), { status: 401 })
  t.match(answers.at(-1), { status: 503, text: /too many concurrent logins/ })
  t.match(await come('another guess'), { status: 401 }, 'later logins are checked again')
})

const noHealth = {
  host: '127.0.0.1',
  port: 0,
  setting: 'worker.operations',
  ready: async () => undefined,
  metrics: { type: 'text/plain', text: async () => '' },
}

/** The operations port over TLS, with a page that returns the admission, and its certificate faults. */
async function createTlsDoor(t: Test) {
  const files = demoCertificates(createFolder(t))
  const tls = { certFile: files.certFile, keyFile: files.keyFile, clientCaFile: files.caFile }
  const admit = createAdmit(operations({ host: '0.0.0.0', tls }), () => undefined)
  const faults: Fault[] = []
  const health = await createHealth({
    ...noHealth,
    tls: { files: tls, everyMs: 50, onFailure: (fault) => faults.push(fault) },
    page: (request, response) => {
      void admit(request).then((admission) => response.end(JSON.stringify(admission)))
    },
  })
  t.teardown(health.close)
  const get = async (path: string, client?: Certificates) => {
    const request = askTls(`${health.address}${path}`, { agent: false, ...trust(files, client) })
    request.end()
    const [response] = await once(request, 'response')
    return json(response)
  }
  /** The serial number of the certificate in a handshake. */
  const serial = async () => {
    const { hostname: host, port } = new URL(health.address)
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
  return { files, faults, address: health.address, get, serial }
}

function trust({ caFile }: Certificates, client?: Certificates) {
  const ca = readFileSync(caFile)
  if (client === undefined) return { ca }
  return { ca, cert: readFileSync(client.clientCertFile), key: readFileSync(client.clientKeyFile) }
}

t.test('over TLS a client certificate gives access to the page; probes need none', async (t) => {
  const { files, address, get } = await createTlsDoor(t)
  t.match(address, /^https:/)
  t.match(await get('/health/live'), { status: 'live' })
  t.match(await get('/'), { status: 403 })
  t.match(await get('/', files), { who: 'platform' })
  const { certFile } = files
  const tls = {
    files: { certFile, keyFile: 'nowhere.key' },
    everyMs: 50,
    onFailure: () => undefined,
  }
  await t.rejects(createHealth({ ...noHealth, tls }), {
    code: 'LISTENER',
    message: /worker\.operations\.tls are not usable: .*nowhere\.key/,
  })
})

t.test('renewed certificates are used without a restart, broken ones are not', async (t) => {
  const { files, faults, get, serial } = await createTlsDoor(t)
  const former = demoCertificates(createFolder(t))
  for (const name of ['clientCertFile', 'clientKeyFile'] as const) {
    copyFileSync(files[name], former[name])
  }
  const newer = demoCertificates(createFolder(t))
  const before = await serial()
  for (const name of ['certFile', 'keyFile', 'caFile'] as const) {
    copyFileSync(newer[name], files[name])
  }
  await until(async () => (await serial()) !== before)
  const after = await serial()
  t.match(await get('/', newer), { who: 'platform' })
  t.match(await get('/', former), { status: 403 }, 'its authority is no longer trusted')
  writeFileSync(files.certFile, 'no certificate')
  await until(() => faults.length > 0)
  t.match(faults, [{ code: 'LISTENER', detail: /worker\.operations\.tls are not usable/ }])
  t.equal(await serial(), after, 'the former certificate is still served')
})

t.test('only the page itself may send requests that change something', async (t) => {
  const knock = await createDoor(t, {})
  const host = 'localhost:9465'
  t.equal((await knock({ host })).isOwn, false)
  t.equal((await knock({ host, origin: 'null' })).isOwn, false)
  t.equal((await knock({ host, origin: 'https://elsewhere.example.com' })).isOwn, false)
  t.equal((await knock({ host, origin: 'http://localhost:9466' })).isOwn, false)
  t.equal((await knock({ host, origin: `http://${host}` })).isOwn, true)
  const crossed = { 'sec-fetch-site': 'cross-site' }
  t.equal((await knock({ host, origin: `http://${host}`, ...crossed })).isOwn, false)
})
