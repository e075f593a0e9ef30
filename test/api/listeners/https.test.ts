import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  more: { requestsPerSecondMax?: number; allow?: string[] } = {},
) => {
  const { certFile, keyFile, caFile } = ours
  const listener = await createHttpsListener({
    settings: {
      host: '127.0.0.1',
      port: 0,
      tls: { certFile, keyFile, clientCaFile: caFile },
      allow: more.allow ?? [],
    },
    limits,
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
