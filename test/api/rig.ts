import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createDemoCis } from '../../infra/demo/back-office/cis.js'
import { createDemoIdp } from '../../infra/demo/back-office/idp.js'
import type { OfficeServer } from '../../infra/demo/back-office/server.js'
import { onFreePort } from '../../infra/port.js'
import { createRedis } from '../../infra/redis/start.js'
import { createQueues, type Queues } from '../../pipeline/queues/bullmq.js'
import type { Store } from '../../pipeline/stores/clickhouse.js'
import { parseProfile } from '../../schemas/profile.js'
import { migratedStore } from '../pipeline/registering.js'

// The limit of the header is read when the native module is loaded.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = '16384'
const { createGateway } = await import('../../api/gateway.js')

export interface Rig {
  readonly url: string
  readonly idp: OfficeServer
  readonly cis: OfficeServer
  readonly store: Store
  readonly queues: Queues
  /** Log lines of requests. */
  readonly entries: object[]
  readonly failures: unknown[]
  token(clientId: string, more?: object): Promise<string>
  ask(path: string, token?: string): Promise<Asked>
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

export const key = 'test key'

/** A gateway over the real store, Redis and a simulated utility, all gone with the test. */
export async function createRig(t: Test, options: RigOptions = {}): Promise<Rig> {
  const idp = await createDemoIdp(0)
  const cis = await createDemoCis({ port: 0, ...people })
  const store = await migratedStore(t)
  const redisPath = mkdtempSync(join(tmpdir(), 'tieline-redis-'))
  const redis = await onFreePort(26_000 + Math.floor(Math.random() * 10_000), (port) =>
    createRedis({ dataPath: redisPath, port, password: 'p' }),
  )
  const profile = parseProfile({
    companyCodes: ['DEMO'],
    timeZone: 'America/Detroit',
    gateway: { listen: { port: 0 }, ...options.gateway },
    identity: {
      kind: 'oidc',
      claim: 'sub',
      issuers: [{ issuer: idp.url, audience: 'tieline' }],
      ...options.identity,
    },
    cis: { kind: 'rest', url: cis.url, ...options.cis },
    ...options.profile,
  })
  const entries: object[] = []
  const failures: unknown[] = []
  const gateway = await createGateway({
    profile,
    store: store.address,
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
  t.teardown(async () => {
    await gateway.close()
    await queues.close()
    await Promise.all([idp.close(), cis.close(), redis.close()])
    rmSync(redisPath, { recursive: true })
  })
  const url = gateway.listeners[0]?.address ?? ''
  return {
    url,
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
