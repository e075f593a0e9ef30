import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { certificateNames } from '../../../api/listeners/clients.js'
import { createHttpsListener } from '../../../api/listeners/https.js'
import { createRequestIds } from '../../../api/request.js'
import {
  type CertifiedKey,
  createAuthority,
  createClientIdentity,
  createRevocationList,
  createServerIdentity,
} from '../../../infra/demo/x509.js'
import { createFolder } from '../../rig/folder.js'
import { echo, limits, refuse } from './conformance.js'
import { createRaw } from './raw.js'

const folder = createFolder(t)
const at = (name: string) => join(folder, name)
const authority = createAuthority('clients')
const server = createServerIdentity(authority)
const platform = createClientIdentity(authority, 'platform')
const other = createClientIdentity(authority, 'other')
const pemOf = ({ key }: CertifiedKey) => String(key.export({ type: 'pkcs8', format: 'pem' }))
writeFileSync(at('ca.pem'), authority.cert)
writeFileSync(at('server.pem'), server.cert)
writeFileSync(at('server.key'), pemOf(server))
const tls = {
  certFile: at('server.pem'),
  keyFile: at('server.key'),
  clientCaFile: at('ca.pem'),
}

async function listen(more: { clients?: string[]; crlFile?: string }) {
  const failures: string[] = []
  const { clients = [], ...files } = more
  const listener = await createHttpsListener({
    settings: { host: '127.0.0.1', port: 0, tls: { ...tls, ...files }, clients, allow: [] },
    limits,
    certificates: 'optional',
    requestsPerSecondMax: 100_000,
    handle: echo,
    requestId: createRequestIds('test'),
    refuse,
    onFailure: (error) => void failures.push(String(error)),
  })
  t.teardown(listener.close)
  const connect = (who?: CertifiedKey) => {
    const shown = who && { cert: who.cert, key: pemOf(who) }
    return createRaw({ port: listener.port, tls: { ca: authority.cert, ...shown } })
  }
  /** How many requests on one connection are answered, of two. */
  const ask = async (who?: CertifiedKey) => {
    const client = await connect(who).catch(() => undefined)
    client?.send('GET /now HTTP/1.1\r\nHost: gateway\r\n\r\n')
    const answers = (await client?.answers()) ?? []
    client?.destroy()
    return answers.length
  }
  return { listener, failures, connect, ask }
}

t.test('only certificates of a pinned name are accepted, and refusals are reported', async (t) => {
  const { ask, failures } = await listen({ clients: ['platform', 'bind.example.com'] })
  t.equal(await ask(platform), 1)
  t.equal(await ask(), 1, 'without a certificate: login and customer')
  t.same([await ask(other), await ask(other), await ask(server)], [0, 0, 0])
  t.match(failures, [/refused: 1; the latest is of other \(not in gateway\.mutual\.clients\)/])
  const byAlternative = await listen({ clients: ['localhost'] })
  t.equal(await byAlternative.ask(platform), 0)
})

t.test('a revoked certificate is refused without a restart, on open connections too', async (t) => {
  const crlFile = at('crl.pem')
  writeFileSync(crlFile, createRevocationList(authority, []))
  const { listener, ask, connect } = await listen({ crlFile })
  t.same([await ask(platform), await ask(other)], [1, 1])
  const open = await connect(platform)
  open.send('GET /now HTTP/1.1\r\nHost: gateway\r\n\r\n')
  t.equal((await open.answers()).length, 1)
  writeFileSync(crlFile, createRevocationList(authority, [platform]))
  await listener.renewCertificate()
  await open.closed()
  t.same([await ask(platform), await ask(other), await ask()], [0, 1, 1])
  writeFileSync(crlFile, 'not a list')
  await t.rejects(listener.renewCertificate(), { code: 'LISTENER' })
  t.same([await ask(platform), await ask(other)], [0, 1], 'the last good list stays in use')
})

t.test('a name with a comma is not taken for several names', async (t) => {
  const names = (subjectAltName: string) => certificateNames({ subject: 'CN=a', subjectAltName })
  t.same(names('DNS:b, IP Address:10.0.0.1'), ['a', 'b', '10.0.0.1'])
  t.same(names('DNS:"b, DNS:platform, c", DNS:d'), ['a'])
})
