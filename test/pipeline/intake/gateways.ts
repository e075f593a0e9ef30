import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { type Home, openHome } from '../../../infra/stack/home.js'
import type { ChildAnswer, ChildRequest } from '../../../infra/stack/processes/child.js'
import type { GatewayProcessOptions } from '../../../infra/stack/processes/programs.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { freePort } from '../../api/identity/provider.js'
import { basic, key, passwordHash, serverFiles } from '../../api/rig.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'
import { migratedStore, readerOf } from '../customers/registering.js'
import { createBroker } from '../queues/broker.js'

export const clientsOfGateway = 4

export interface Gateway {
  readonly port: number
  readonly agent: Agent
  child: ChildProcess | undefined
}

export interface Intake {
  readonly home: Home
  readonly store: Store
  createGateway(): Promise<Gateway>
  /** Starts its process; rejects if it dies before it is ready. */
  start(gateway: Gateway, execArgv?: readonly string[]): Promise<void>
}

/** Redis, a store and a worker process; and processes of gateways that take in rows for them. */
export async function createIntakeProcesses(t: Test): Promise<Intake> {
  const folder = createFolder(t)
  const home = openHome(join(folder, 'home'))
  const certificates = demoCertificates(join(folder, 'certificates'))
  const tls = serverFiles(certificates)
  const profileAt = (port: number) =>
    parseProfile({
      companyCodes: ['DEMO'],
      timeZone: 'America/Detroit',
      limits: { freeDiskBytesMin: '0 B' },
      gateway: { listen: { port: 0 }, operations: { port: 0 }, mutual: { port, tls } },
      identity: {
        kind: 'oidc',
        claim: 'sub',
        issuers: [{ issuer: 'http://127.0.0.1:1', audience: 'tieline' }],
      },
      cis: { kind: 'rest', url: 'http://127.0.0.1:1' },
      intake: { users: [{ name: 'platform', passwordHash }], gatherSeconds: 1 },
    })
  const store = await migratedStore(t)
  const { redis } = await createBroker(t)
  const shared = { store: store.address, redisUrl: redis.url }
  const worker = fork(programAt('../machines/worker-process.js'), [
    home.path,
    JSON.stringify({ profile: profileAt(await freePort()), ...shared }),
  ])
  t.teardown(() => worker.kill('SIGKILL'))
  await once(worker, 'message')

  const program = programAt('../../../infra/stack/processes/gateway.js')
  const identity = {
    ca: readFileSync(certificates.caFile),
    cert: readFileSync(certificates.clientCertFile),
    key: readFileSync(certificates.clientKeyFile),
  }
  return {
    home,
    store,
    createGateway: async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: clientsOfGateway, ...identity })
      const gateway: Gateway = { port: await freePort(), agent, child: undefined }
      t.teardown(() => gateway.child?.kill('SIGKILL'))
      return gateway
    },
    start: async (gateway, execArgv = []) => {
      const { port } = gateway
      const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const
      const child = fork(program, [], { stdio: [...stdio], execArgv: [...execArgv] })
      gateway.child = child
      const options: GatewayProcessOptions = {
        profile: profileAt(port),
        ...shared,
        reader: readerOf(store),
        folders: { uploads: home.uploads, pushed: home.pushed },
        key,
        requestLogPath: join(folder, `requests-${port}.log`),
        secrets: {},
      }
      const logPath = join(folder, `gateway-${port}.log`)
      const asked = { type: 'start', options, logPath, stopMsMax: 10_000 } as const
      const answered = new Promise<ChildAnswer>((resolve, reject) => {
        child.once('message', (answer) => resolve(answer as ChildAnswer))
        child.once('exit', () => reject(new Error('the gateway has ended')))
      })
      child.send(asked satisfies ChildRequest<GatewayProcessOptions>)
      const answer = await answered
      if (answer.type !== 'ready') throw new Error(JSON.stringify(answer))
    },
  }
}

function programAt(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}

/** What became of a request; without a status nobody answered. */
export interface Answered {
  readonly status: number | undefined
  readonly text: string
}

export function ask(
  { port, agent }: Gateway,
  path: string,
  { body, ...how }: { method: string; headers: Record<string, string>; body: string },
): Promise<Answered> {
  return new Promise((resolve) => {
    const headers = { authorization: basic, ...how.headers }
    const where = { host: '127.0.0.1', port, agent, method: how.method, path, headers }
    const asked = request(where, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece
      })
      response.once('close', () => resolve({ status: response.statusCode, text }))
    })
    asked.once('error', () => resolve({ status: undefined, text: '' }))
    asked.end(body)
  })
}

/** What became of the rows of a call. */
export interface Call {
  readonly meters: readonly string[]
  readonly status: number | undefined
}

/** Pushes a row for each meter; the number of a meter is its quantity. */
export async function push(
  gateway: Gateway,
  { header, meters }: { readonly header: string; readonly meters: readonly string[] },
): Promise<Call> {
  const rows = meters.map((meter) => `A,S,${meter},3/4/2024 0:00,${meter.slice(1)}`)
  const { status } = await ask(gateway, '/v1/usage', {
    method: 'POST',
    headers: { feed: 'Electric', 'content-type': 'text/csv' },
    body: `${[header, ...rows].join('\n')}\n`,
  })
  return { meters, status }
}

export interface ReadRow {
  readonly meter: string
  readonly rows: string
  readonly quantity: string
}

/** What was published of pushed rows. */
export function createSight(store: Store) {
  const rows = <T>(sql: string) => store.rows<T>({ sql })
  return {
    rows,
    readRows: () =>
      rows<ReadRow>(`SELECT meter_id AS meter, toString(count()) AS rows,
        toString(toFloat64(any(quantity))) AS quantity FROM usage_read GROUP BY meter`),
    /** Rows that are doubled, or not what was sent. */
    isOdd: ({ meter, rows, quantity }: ReadRow) => rows !== '1' || `M${quantity}` !== meter,
    readFiles: () =>
      rows<{ readonly files: string }>(`SELECT status, sum(rows_rejected) AS rejected,
        sum(rows_duplicate) AS duplicate, count() AS files FROM file_state FINAL GROUP BY status`),
    untilRead: (count: number) =>
      until(async () => {
        const [row] = await rows<{ rows: string }>(
          'SELECT uniqExact(meter_id) AS rows FROM usage_read',
        )
        return Number(row?.rows) >= count
      }),
    untilSettled: () =>
      until(async () => {
        const unsettled = await rows(`SELECT 1 FROM arrival WHERE arrival NOT IN (
          SELECT arrival FROM file_state FINAL WHERE settled_at IS NOT NULL)`)
        return unsettled.length === 0
      }),
  }
}
