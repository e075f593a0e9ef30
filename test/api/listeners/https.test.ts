import { readFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { t } from 'tap'
import { createHttpsListener } from '../../../api/listeners/https.js'
import { createRequestIds, type Handle } from '../../../api/request.js'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { createFolder } from '../../rig/folder.js'
import { conform, echo, limits, refuse } from './conformance.js'
import { createRaw } from './raw.js'

const folder = createFolder(t)
const ours = demoCertificates(join(folder, 'ours'))
const theirs = demoCertificates(join(folder, 'theirs'))
const client = {
  ca: readFileSync(ours.caFile),
  cert: readFileSync(ours.clientCertFile),
  key: readFileSync(ours.clientKeyFile),
}

const listen = async (
  handle: Handle,
  more: {
    host?: string
    requestsPerSecondMax?: number
    allow?: string[]
    certificates?: 'optional'
    stopMsMax?: number
    isStreamed?: () => boolean
  } = {},
) => {
  const { certFile, keyFile, caFile } = ours
  const listener = await createHttpsListener({
    settings: {
      host: more.host ?? '127.0.0.1',
      port: 0,
      tls: { certFile, keyFile, clientCaFile: caFile },
      clients: [],
      allow: more.allow ?? [],
    },
    limits: { ...limits, stopMsMax: more.stopMsMax ?? limits.stopMsMax },
    ...(more.certificates && { certificates: more.certificates }),
    ...(more.isStreamed && { isStreamed: more.isStreamed }),
    requestsPerSecondMax: more.requestsPerSecondMax ?? 100_000,
    handle,
    requestId: createRequestIds('test'),
    refuse,
    onFailure: () => undefined,
  })
  t.teardown(listener.close)
  return listener
}

t.test('mutual TLS', async (t) => {
  await conform(t, async (handle, more) => ({ listener: await listen(handle, more), tls: client }))
})

t.test('optional certificates: without one a client is served and proves nothing', async (t) => {
  const seen: boolean[] = []
  const { port } = await listen(
    (request) => {
      seen.push(request.isMutual)
      return echo(request)
    },
    { certificates: 'optional' },
  )
  const { ca } = client
  const stranger = {
    ca,
    cert: readFileSync(theirs.clientCertFile),
    key: readFileSync(theirs.clientKeyFile),
  }
  const ask = (tls: object, session?: Buffer) =>
    new Promise<{ status: number; isReused: boolean; session: Buffer | undefined }>(
      (resolve, reject) => {
        let ticket: Buffer | undefined
        const options = { host: '127.0.0.1', servername: 'localhost', port, path: '/now' }
        const request = https.request(
          Object.assign(options, { agent: false as const, session }, tls),
          (response) => {
            const isReused = (response.socket as TLSSocket).isSessionReused()
            response.resume()
            response.once('end', () =>
              resolve({ status: response.statusCode ?? 0, isReused, session: ticket }),
            )
          },
        )
        request.once('socket', (socket) => {
          socket.on('session', (one: Buffer) => {
            ticket = one
          })
        })
        request.once('error', reject)
        request.end()
      },
    )
  const first = await ask({ ca })
  t.equal(first.status, 200)
  const again = await ask({ ca }, first.session)
  t.match(again, { status: 200, isReused: true })
  t.same(seen, [false, false], 'nor does one that resumes its session')
  const proven = await ask(client)
  t.match(await ask(client, proven.session), { isReused: true })
  t.same(seen, [false, false, true, true])
  await t.rejects(ask(stranger), 'a certificate of another authority is refused')
  t.equal(seen.length, 4)
})

t.test('only a certificate of the trusted authority opens a connection', async (t) => {
  const { port } = await listen(echo)
  const { ca } = client
  const stranger = {
    ca,
    cert: readFileSync(theirs.clientCertFile),
    key: readFileSync(theirs.clientKeyFile),
  }
  const server = { ca, cert: readFileSync(ours.certFile), key: readFileSync(ours.keyFile) }
  for (const [name, tls] of Object.entries({ none: { ca }, stranger, server })) {
    const raw = await createRaw({ port, tls }).catch(() => undefined)
    raw?.send('GET /now HTTP/1.1\r\nHost: gateway\r\n\r\n')
    t.same((await raw?.answers()) ?? [], [], name)
  }
})

t.test('a client that is still sending gets its answer', async (t) => {
  const { port } = await listen(echo, { isStreamed: () => true })
  const raw = await createRaw({ port, tls: client })
  raw.pause()
  raw.send('PUT /now HTTP/1.1\r\nHost: gateway\r\nContent-Length: 4000000\r\n\r\n')
  for (let sent = 0; sent < 4_000_000; sent += 100_000) {
    await sleep(5)
    raw.send('x'.repeat(100_000))
  }
  raw.resume()
  t.match(await raw.answers(), [/^HTTP\/1.1 200 /], 'also one that reads it at the end')
  await raw.closed()
})

t.test('an IPv6 host is written in brackets', async (t) => {
  const { address, port } = await listen(echo, { host: '::1' })
  t.equal(address, `https://[::1]:${port}`)
})
