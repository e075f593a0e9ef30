import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { t } from 'tap'
import type { Handle } from '../../../api/request.js'
import { createRequestIds } from '../../../api/request.js'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { createFolder } from '../../rig/folder.js'
import { conform, echo, limits, refuse } from './conformance.js'
import { createRaw } from './raw.js'

// The limit of the header is read when the native module is loaded.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(2 * limits.headerBytesMax)
const { createUwsListener } = await import('../../../api/listeners/uws.js')

const folder = createFolder(t)
const { caFile, certFile, keyFile } = demoCertificates(folder)
const tls = { certFile, keyFile }

const listen = async (
  handle: Handle,
  settings: object,
  more: { requestsPerSecondMax?: number; stopMsMax?: number } = {},
) => {
  const listener = await createUwsListener({
    settings: { host: '127.0.0.1', port: 0, allow: [], ...settings },
    limits: { ...limits, stopMsMax: more.stopMsMax ?? limits.stopMsMax },
    requestsPerSecondMax: more.requestsPerSecondMax ?? 100_000,
    handle,
    requestId: createRequestIds('test'),
    refuse,
    onFailure: () => undefined,
  })
  t.teardown(listener.close)
  return listener
}

t.test('plain HTTP on loopback', async (t) => {
  await conform(t, async (handle, more = {}) => ({
    listener: await listen(handle, { allow: more.allow ?? [] }, more),
    tls: undefined,
  }))
})

t.test('TLS', async (t) => {
  await conform(t, async (handle, more = {}) => ({
    listener: await listen(handle, { tls, allow: more.allow ?? [] }, more),
    tls: { ca: readFileSync(caFile) },
  }))
})

t.test('a first line that comes in pieces is refused or read, never misread', async (t) => {
  const { port } = await listen(echo, {})
  const client = await createRaw({ port, tls: undefined })
  client.send('GET /no')
  await sleep(20)
  client.send('w HTTP/1.1\r\nHost: gateway\r\n\r\n')
  const [answer] = await client.answers()
  const isOld = process.version.startsWith('v20.')
  t.match(answer, isOld ? /^HTTP\/1.1 505 / : /^HTTP\/1.1 200 [\s\S]*"path":"\/now"/)
  client.destroy()
})

t.test('TLS below 1.2 is refused', async (t) => {
  const { port } = await listen(echo, { tls })
  const ca = readFileSync(caFile)
  const old = {
    ca,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  } as const
  await t.rejects(createRaw({ port, tls: old }))
  await createRaw({ port, tls: { ca, maxVersion: 'TLSv1.2' } }).then((client) => client.destroy())
})

/** The status of an answer over a Unix socket. */
const askOver = (socketPath: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    const asked = request({ socketPath, path: '/now', agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.once('error', reject)
    asked.end()
  })

t.test('a Unix socket, which is removed when the listener closes', async (t) => {
  const socket = join(folder, 'gateway.sock')
  const { close } = await listen(echo, { socket })
  t.equal(await askOver(socket), 200)
  await close()
  t.notOk(existsSync(socket))
})

t.test('a socket on which another program listens is left to it', async (t) => {
  const socket = join(folder, 'shared.sock')
  const first = await listen(echo, { socket })
  const detail = `gateway.listen.socket: another program listens on ${socket}`
  await t.rejects(listen(echo, { socket }), { code: 'PORT_TAKEN', detail })
  t.equal(await askOver(socket), 200)
  renameSync(socket, `${socket}.first`)
  await listen(echo, { socket })
  await first.close()
  t.equal(await askOver(socket), 200, 'only the own one is removed')
})

t.test('a socket that a killed program left is replaced', async (t) => {
  const socket = join(folder, 'left.sock')
  const code = `require('node:net').createServer().listen('${socket}', () => process.kill(process.pid, 9))`
  spawnSync(process.execPath, ['-e', code])
  t.ok(existsSync(socket))
  await listen(echo, { socket })
  t.equal(await askOver(socket), 200)
})

t.test('a renewed certificate is served on the same socket', async (t) => {
  const socket = join(folder, 'renewed.sock')
  const { renewCertificate } = await listen(echo, { socket, tls })
  await renewCertificate()
  // As long as the listener before it may take to close.
  await sleep(1_000)
  const client = connect({ path: socket, ca: readFileSync(caFile), servername: 'localhost' })
  await once(client, 'secureConnect')
  t.ok(client.authorized)
  client.destroy()
})

t.test('a file that is not a socket is never removed for one', async (t) => {
  const socket = join(folder, 'notes.txt')
  writeFileSync(socket, 'keep')
  const detail = `gateway.listen.socket: ${socket} exists and is not a socket`
  await t.rejects(listen(echo, { socket }), { code: 'LISTENER', detail })
  await t.rejects(listen(echo, { socket: folder }), { code: 'LISTENER' })
  t.equal(readFileSync(socket, 'utf8'), 'keep')
})

t.test('a path that is too long or has no folder is refused', async (t) => {
  const of = (path: string) => listen(echo, { socket: join(folder, path) })
  const detail = 'gateway.listen.socket: '
  await t.rejects(of('é'.repeat(60)), { code: 'LISTENER', detail: `${detail}the path ` })
  const absent = { code: 'LISTENER', detail: `${detail}no socket can be created in ` }
  await t.rejects(of('absent/gateway.sock'), absent)
  await t.rejects(of('notes.txt/gateway.sock'), absent)
})

t.test('an IPv6 host is written in brackets', async (t) => {
  const { address, port } = await listen(echo, { host: '::1' })
  t.equal(address, `http://[::1]:${port}`)
  t.equal((await fetch(`${address}/now`)).status, 200)
  const detail = `another program listens on [::1]:${port};`
  await t.rejects(listen(echo, { host: '::1', port }), { code: 'PORT_TAKEN', detail })
})

t.test('a port in use and an invalid certificate are reported at once', async (t) => {
  const { port } = await listen(echo, {})
  await t.rejects(listen(echo, { port }), { code: 'PORT_TAKEN' })
  const wrong = { tls: { certFile: keyFile, keyFile } }
  await t.rejects(listen(echo, wrong), { code: 'LISTENER' })
  await t.rejects(listen(echo, { host: '192.0.2.1', port: 8_000 }), { code: 'LISTENER' })
})
