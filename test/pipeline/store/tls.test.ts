import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { type Test, t } from 'tap'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { externalStore } from '../../../infra/stack/addresses.js'
import { withStore } from '../../../infra/stack/connections.js'
import { createStore, type StoreAddress, toStoreFault } from '../../../pipeline/store/clickhouse.js'
import { sql } from '../../../pipeline/store/sql.js'
import type { TlsFiles } from '../../../pipeline/tls-files.js'
import { running, writer } from '../../infra/clickhouse/running.js'
import { createFolder } from '../../rig/folder.js'

const { store: engine } = await running(t)
const folder = createFolder(t)
const { caFile, certFile, keyFile, clientCertFile, clientKeyFile } = demoCertificates(folder)
const client = { certFile: clientCertFile, keyFile: clientKeyFile }

/** The engine behind TLS. It takes a user by password or by certificate, and refuses both together. */
async function createTls(t: Test, { demands = false } = {}): Promise<string> {
  const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  const authority = { ca: readFileSync(caFile), requestCert: demands, rejectUnauthorized: demands }
  const server = createServer({ ...files, ...authority }, (from, to) => {
    const { 'x-clickhouse-user': user, ...headers } = from.headers
    const { subject } = (from.socket as TLSSocket).getPeerCertificate()
    const isAsked = headers['x-clickhouse-ssl-certificate-auth'] === 'on'
    if (isAsked === (headers.authorization !== undefined)) return void to.writeHead(403).end()
    if (isAsked && subject.CN === 'platform' && user === writer.user) headers.authorization = basic
    const call = request(engine.url + from.url, { method: from.method, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(to)
    })
    from.pipe(call)
  })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const basic = `Basic ${Buffer.from(`${writer.user}:${writer.password}`).toString('base64')}`

function addressOf(url: string, tls: TlsFiles, password = writer.password): StoreAddress {
  const clickhouseUrl = url.replace('//', `//${writer.user}:${encodeURIComponent(password)}@`)
  return externalStore({ clickhouseUrl, clickhouseTls: tls }, 'default')?.store as StoreAddress
}

const one = (address: StoreAddress) =>
  withStore(address, (store) => store.rows({ sql: sql`SELECT 1 AS one` }))

t.test('a server with a private authority is reached with its file only', async (t) => {
  const url = await createTls(t)
  await t.rejects(one(addressOf(url, {})), {
    code: 'STORE_UNREACHABLE',
    message: /certificate is not trusted; set CLICKHOUSE_CA_FILE/,
  })
  t.same(await one(addressOf(url, { caFile })), [{ one: 1 }])
})

t.test('a certificate or port that is wrong is named with its remedy', async (t) => {
  const url = await createTls(t)
  const refusal = async (at: string, message: RegExp) => {
    await t.rejects(one(addressOf(at, { caFile })), { code: 'STORE_UNREACHABLE', message })
    const store = createStore(addressOf(at, { caFile }), 'discreet')
    await t.rejects(store.rows({ sql: sql`SELECT 1` }), { message })
    await store.close()
  }
  await refusal(url.replace('127.0.0.1', '127.0.0.2'), /is for another host; .* CLICKHOUSE_URL/)
  await refusal(engine.url.replace('http:', 'https:'), /does not speak TLS; .* CLICKHOUSE_URL/)
  const coded = (code: string) => Object.assign(new Error(code), { code })
  const detailOf = (code: string) =>
    toStoreFault('SELECT 1', { error: coded(code), wording: 'discreet' }).detail
  t.match(detailOf('CERT_HAS_EXPIRED'), /has expired; renew it/)
  t.match(detailOf('CERT_NOT_YET_VALID'), /not valid yet; set the clock/)
})

t.test(
  'a server that demands a client certificate gets it, beside a password or not',
  async (t) => {
    const url = await createTls(t, { demands: true })
    await t.rejects(one(addressOf(url, { caFile })), {
      code: 'STORE_UNREACHABLE',
      message: /asks for a client certificate; set CLICKHOUSE_CERT_FILE and CLICKHOUSE_KEY_FILE/,
    })
    t.same(await one(addressOf(url, { caFile, ...client })), [{ one: 1 }])
    const wrong = addressOf(url, { caFile, ...client }, 'wrong')
    await t.rejects(one(wrong), { code: 'STORE_REFUSED' }, 'a password is not ignored')
    t.same(await one(addressOf(url, { caFile, ...client }, '')), [{ one: 1 }], 'as its identity')
  },
)

t.test('a file that is missing or not PEM is refused by variable, path and remedy', async (t) => {
  const url = 'https://127.0.0.1:1'
  const other = join(folder, 'other.pem')
  writeFileSync(other, 'not a certificate')
  const refused = (tls: TlsFiles, message: RegExp, at = url) =>
    t.throws(() => addressOf(at, tls), { code: 'CONFIG', message })
  refused({ caFile: '/gone.pem' }, /CLICKHOUSE_CA_FILE \/gone.pem cannot be read; fix the path/)
  refused({ caFile: other }, /CLICKHOUSE_CA_FILE .*other.pem .* name a file in PEM format/)
  refused({ certFile: clientCertFile }, /set both CLICKHOUSE_CERT_FILE and CLICKHOUSE_KEY_FILE/)
  refused({ ...client, keyFile }, /not a valid certificate and key pair; name/)
  refused({ caFile }, /CLICKHOUSE_URL must begin with https/, 'http://127.0.0.1:1')
})
