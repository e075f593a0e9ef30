import { readFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import type { Test } from 'tap'
import type { RequestEntry } from '../../api/handle.js'
import { createDemoAmi } from '../../infra/demo/back-office/ami.js'
import { createDemoCis } from '../../infra/demo/back-office/cis.js'
import { createDemoIdp } from '../../infra/demo/back-office/idp.js'
import type { OfficeServer } from '../../infra/demo/back-office/server.js'
import { type Certificates, demoCertificates } from '../../infra/demo/certificates.js'
import { createRedis } from '../../infra/redis/start.js'
import { onFreePort } from '../../infra/stack/port.js'
import { createGatewayProcess, type GatewayDetail } from '../../infra/stack/processes/programs.js'
import { createOpenFeed } from '../../pipeline/green-button/feed.js'
import { createSharedUsage } from '../../pipeline/green-button/shared-usage.js'
import { createQueues, type Queues } from '../../pipeline/queues/bullmq.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { parseProfile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'
import { migratedStore, readerOf } from '../pipeline/customers/registering.js'
import { anyPort } from '../rig/any-port.js'
import { createFolder } from '../rig/folder.js'
import { createRevoker } from './identity/revoker.js'

// The limit of the header is read when the native module is loaded.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = '32768'
const { createGateway } = await import('../../api/gateway.js')
const { hashPassword } = await import('../../api/access/password.js')

export interface Rig {
  readonly url: string
  /** Of the listener with mutual TLS. */
  readonly mutualUrl: string
  readonly certificates: Certificates
  readonly ami: OfficeServer
  readonly idp: OfficeServer
  readonly cis: OfficeServer
  readonly store: Store
  readonly queues: Queues
  /** Log lines of requests. */
  readonly entries: RequestEntry[]
  readonly failures: unknown[]
  token(clientId: string, more?: object): Promise<string>
  /** A token of a customer that the identity provider has revoked: a failed attempt. */
  revoked(clientId: string): string
  ask(path: string, token?: string): Promise<Asked>
  /** Starts another gateway on the same store, in a process of its own; its address. */
  another(): Promise<string>
}

export interface Asked {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

export interface RigOptions {
  readonly profile?: object
  readonly cis?: object
  readonly identity?: object
  readonly gateway?: object
}

/** Customers of the simulated utility: how many, and the first of each kind. */
export const people = {
  seed: 20_251_102,
  count: 200,
  active: '7000000001',
  locked: '7000000050',
  closed: '7000000040',
  unknown: '7999999999',
} as const

/** For what answers: a busy machine is slow. */
const timeoutMs = 60_000

export const key = 'test key'
export const passwordHash = await hashPassword('a password')
export const basic = `Basic ${Buffer.from('platform:a password').toString('base64')}`

export function serverFiles({ certFile, keyFile, caFile }: Certificates) {
  return { certFile, keyFile, clientCaFile: caFile }
}

/** A gateway over the real store, Redis and a simulated utility, all gone with the test. */
export async function createRig(t: Test, options: RigOptions = {}): Promise<Rig> {
  const idp = await createDemoIdp(0)
  const revoker = await createRevoker()
  const cis = await createDemoCis({ port: 0, ...people })
  const ami = await createDemoAmi({ port: 0, ...people })
  const certificates = demoCertificates(createFolder(t))
  const store = await migratedStore(t)
  const redisPath = createFolder(t)
  const redis = await onFreePort(anyPort(), (port) =>
    createRedis({ dataPath: redisPath, port, password: 'p' }),
  )
  const profile = parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    gateway: {
      listen: { port: 0 },
      operations: { port: 0 },
      attempts: 'own',
      mutual: { port: 0, tls: serverFiles(certificates) },
      limits: { answerMsMax: 120_000 },
      ...options.gateway,
    },
    ami: { kind: 'rest', url: ami.url, timeoutMs: 1_000 },
    bind: { users: [{ name: 'platform', passwordHash }] },
    identity: {
      kind: 'several',
      providers: [
        {
          kind: 'oidc',
          claim: 'sub',
          issuers: [{ issuer: idp.url, audience: 'tieline' }],
          timeoutMs,
          ...options.identity,
        },
        revoker.settings,
      ],
    },
    cis: { kind: 'rest', url: cis.url, timeoutMs, ...options.cis },
    ...options.profile,
  })
  const entries: RequestEntry[] = []
  const failures: unknown[] = []
  const feeding = { profile, zone: createZone(profile.timeZone), now: () => new Date() }
  const gateway = await createGateway({
    profile,
    store: store.address,
    reader: readerOf(store),
    openFeed: createOpenFeed(feeding),
    sharedUsage: createSharedUsage({ ...feeding, secret: () => 'secret' }),
    redisUrl: redis.url,
    key,
    secret: () => 'secret',
    onRequest: (entry) => entries.push(entry),
    onFailure: (error) => {
      failures.push(error)
      t.comment(String(error))
    },
  })
  const queues = createQueues({ redisUrl: redis.url, prefix: profile.database })
  const others: (() => Promise<void>)[] = []
  t.teardown(async () => {
    await Promise.all(others.map((close) => close()))
    await gateway.close()
    await queues.close()
    await Promise.all([idp.close(), revoker.close(), cis.close(), ami.close(), redis.close()])
  })
  const url = gateway.listeners[0]?.address ?? ''
  return {
    url,
    mutualUrl: gateway.listeners.at(-1)?.address ?? '',
    certificates,
    ami,
    idp,
    cis,
    store,
    queues,
    entries,
    failures,
    token: async (clientId, more) => {
      const { access_token } = await post(`${idp.url}/token`, { clientId, ...more })
      return String(access_token)
    },
    revoked: revoker.token,
    another: async () => {
      const logsPath = createFolder(t)
      const child = await createGatewayProcess({
        options: {
          profile,
          store: store.address,
          reader: readerOf(store),
          redisUrl: redis.url,
          key,
          requestLogPath: join(logsPath, 'requests.log'),
        },
        secret: () => 'secret',
        logsPath,
      })
      others.push(child.close)
      return (child.detail() as GatewayDetail).addresses[0] ?? ''
    },
    ask: async (path, token) => {
      const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` }
      const answer = await fetch(`${url}/v1/gateway/${path}`, { method: 'POST', headers })
      return { status: answer.status, text: await answer.text(), headers: answer.headers }
    },
  }
}

export async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  return (await answer.json()) as Record<string, unknown>
}

export interface MutualCall {
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Files of another client; none at all for `{}`. */
  readonly client?: { readonly cert?: string; readonly key?: string }
  readonly tls?: SecureContextOptions
}

/** A call that shows the client's certificate. */
export function callMutual(
  rig: Pick<Rig, 'certificates' | 'mutualUrl'>,
  path: string,
  call: MutualCall = {},
): Promise<Asked> {
  const { caFile, clientCertFile, clientKeyFile } = rig.certificates
  const client = call.client ?? { cert: clientCertFile, key: clientKeyFile }
  return new Promise((resolve, reject) => {
    const request = https.request(
      `${rig.mutualUrl}/v1/gateway/${path}`,
      {
        method: call.method ?? 'POST',
        agent: false,
        ...call.tls,
        ca: readFileSync(caFile),
        ...(client.cert && { cert: readFileSync(client.cert) }),
        ...(client.key && { key: readFileSync(client.key) }),
        headers: { authorization: basic, ...call.headers },
      },
      async (response) => {
        let text = ''
        for await (const piece of response) text += piece
        const headers = new Headers(response.headers as Record<string, string>)
        resolve({ status: response.statusCode ?? 0, text, headers })
      },
    )
    request.once('error', reject)
    request.end(call.body)
  })
}
