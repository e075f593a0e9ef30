import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request as ask } from 'node:https'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t from 'tap'
import {
  type CertifiedKey,
  createAlternativeIdentity,
  createAuthority,
  createClientIdentity,
  createRevocationList,
  createServerIdentity,
} from '../../../infra/demo/x509.js'
import { createAdmit } from '../../../infra/operations/access.js'
import { createHealth } from '../../../infra/telemetry/health.js'
import type { Fault } from '../../../schemas/fault.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'

const folder = createFolder(t)
const at = (name: string) => join(folder, name)
const authority = createAuthority('people')
const server = createServerIdentity(authority)
const [ann, bob] = ['ann', 'bob'].map((name) => createClientIdentity(authority, name)) as [
  CertifiedKey,
  CertifiedKey,
]
const stranger = createClientIdentity(createAuthority('others'), 'ann')
const pemOf = ({ key }: CertifiedKey) => String(key.export({ type: 'pkcs8', format: 'pem' }))
writeFileSync(at('ca.pem'), authority.cert)
writeFileSync(at('server.pem'), server.cert)
writeFileSync(at('server.key'), pemOf(server))
const tls = { certFile: at('server.pem'), keyFile: at('server.key'), clientCaFile: at('ca.pem') }

function operationsOf(operations: object) {
  const profile = { companyCodes: ['DEMO'], timeZone: 'America/Detroit' }
  return parseProfile({ ...profile, worker: { operations } }).worker.operations
}

/** The operations port with a page that answers who is admitted, and never ends at `/watch`. */
async function createDoor(more: { clients?: string[]; crlFile?: string }) {
  const { clients = [], ...files } = more
  const faults: Fault[] = []
  const onFailure = (fault: Fault) => void faults.push(fault)
  const operations = operationsOf({ host: '0.0.0.0', clients, tls: { ...tls, ...files } })
  const admit = createAdmit(operations, onFailure)
  const health = await createHealth({
    host: '127.0.0.1',
    port: 0,
    setting: 'worker.operations',
    ready: async () => undefined,
    metrics: { type: 'text/plain', text: async () => '' },
    tls: { files: { ...tls, ...files }, everyMs: 20, onFailure },
    page: (request, response) => {
      void admit(request).then((admission) => {
        response.write(JSON.stringify(admission))
        if (request.url !== '/watch') response.end()
      })
    },
  })
  t.teardown(health.close)
  const open = async (path: string, who: CertifiedKey) => {
    const shown = { cert: who.cert, key: pemOf(who), ca: authority.cert }
    const request = ask(`${health.address}${path}`, { agent: false, ...shown })
    request.end()
    const [response] = await once(request, 'response')
    return response
  }
  return { faults, open, knock: async (who: CertifiedKey) => json(await open('/', who)) }
}

t.test('only certificates of a named client open the page, and refusals are logged', async (t) => {
  const { knock, faults } = await createDoor({ clients: ['ann'] })
  t.match(await knock(ann), { who: 'ann' })
  t.match(await knock(bob), { status: 403, text: /client certificate required/ })
  t.match(await knock(stranger), { status: 403 })
  t.match(faults, [
    {
      code: 'PERMISSION',
      detail: /refused: 1; the latest is of bob \(not in worker\.operations\.clients\)/,
    },
  ])
})

t.test('a certificate with an alternative name only opens the page by this name', async (t) => {
  const { knock, faults } = await createDoor({ clients: ['cora.example.com'] })
  const cora = createAlternativeIdentity(authority, 'cora.example.com')
  t.match(await knock(cora), { who: 'cora.example.com' })
  t.same(faults, [])
})

t.test(
  'a revoked certificate opens nothing, without a restart, and what it opened ends',
  async (t) => {
    const crlFile = at('crl.pem')
    writeFileSync(crlFile, createRevocationList(authority, []))
    const { open, knock, faults } = await createDoor({ crlFile })
    t.match([await knock(ann), await knock(bob)], [{ who: 'ann' }, { who: 'bob' }])
    const watched = await open('/watch', bob)
    watched.resume()
    const ended = once(watched, 'close').catch(() => undefined)
    writeFileSync(crlFile, createRevocationList(authority, [bob]))
    await until(async () => 'status' in ((await knock(bob).catch(() => ({}))) as object))
    await ended
    t.match(await knock(ann), { who: 'ann' })
    writeFileSync(crlFile, 'not a list')
    await until(() => faults.some(({ code }) => code === 'LISTENER'))
    t.match([await knock(ann), await knock(bob)], [{ who: 'ann' }, { status: 403 }])
  },
)

t.test(
  'names and revocation lists are refused where no client certificate is asked for',
  async (t) => {
    const { clientCaFile: _, ...server } = tls
    const missing = /clientCaFile/
    t.throws(() => operationsOf({ clients: ['ann'], tls: server }), { message: missing })
    t.throws(() => operationsOf({ clients: ['ann'] }), { message: missing })
    t.throws(() => operationsOf({ tls: { ...server, crlFile: 'crl.pem' } }), { message: missing })
  },
)
