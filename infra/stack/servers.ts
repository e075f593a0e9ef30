import { shownRedisUrl } from '../../pipeline/queues/redis-url.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { AsServer } from '../clickhouse/http/answer.js'
import { createClickHouse, engineMemoryBytesMax } from '../clickhouse/start.js'
import { checkRedis } from '../redis/ask.js'
import { ensureRedis } from '../redis/install.js'
import { createRedis } from '../redis/start.js'
import { readStatements } from '../schema/migrate.js'
import { testSettings } from '../schema/settings-test.js'
import { auditableOf, readableOf } from '../schema/views/grants.js'
import { publicNames } from '../schema/views/public-views.js'
import type { Log } from '../telemetry/log.js'
import {
  type Addresses,
  type External,
  embeddedStore,
  externalRedis,
  externalStore,
  readerUser,
  writerUser,
} from './addresses.js'
import { withStore } from './connections.js'
import type { Home } from './home.js'
import { isNamedIn, onFreePort } from './port.js'
import type { Restart } from './processes/supervise.js'

export interface ServerOptions {
  readonly home: Home
  readonly profile: Profile
  readonly log: Log
  readonly external?: External
  /** Preferred ports; otherwise the next free one is used and reported. */
  readonly ports?: { readonly clickhouse?: number; readonly redis?: number }
  /** For tests: the embedded ClickHouse behaves as a server behind a proxy does. */
  readonly asServer?: AsServer
  /** Install redis-server with sudo if this is not root. */
  readonly installs?: boolean
  /** Shows a line to the user during the start. */
  readonly say?: (line: string) => void
  /** Called when a child process was restarted. */
  readonly onRestart?: (part: string, restart: Restart) => void
  /** Called for each part that has started. */
  readonly onStep?: (step: StartStep) => void
}

export interface StartStep {
  readonly name: string
  readonly seconds: number
  readonly detail: string
}

/** Runs one part of a start and reports its duration. */
export async function timed<T>(
  options: Pick<ServerOptions, 'onStep'>,
  step: { readonly name: string; readonly detail: (result: T) => string },
  run: () => Promise<T>,
): Promise<T> {
  const from = performance.now()
  const result = await run()
  const seconds = (performance.now() - from) / 1_000
  options.onStep?.({ name: step.name, seconds, detail: step.detail(result) })
  return result
}

/** A supervised child process that chaos tests may kill. */
export interface StackPart {
  pid(): number | undefined
  kill(): Promise<void>
}

export type Closer = () => Promise<void>
type Part<T> = T & { readonly part: (StackPart & { close: Closer }) | undefined }
export type StorePart = Part<Pick<Addresses, 'store' | 'reader'>>
export type QueuePart = Part<Pick<Addresses, 'redisUrl'>>

/** Ports that are tried first. */
export const serverPortsWanted = { clickhouse: 8123, redis: 6379 } as const

/**
 * Starts ClickHouse and Redis in parallel, unless they are external. A started server is added to the
 * front of `closers`, even if the other one fails.
 */
export async function startServers(
  options: ServerOptions,
  closers: Closer[],
): Promise<readonly [StorePart, QueuePart]> {
  const storeStep = { name: 'ClickHouse', detail: ({ store }: StorePart) => store.url }
  const redisStep = {
    name: 'Redis',
    detail: ({ redisUrl }: QueuePart) => shownRedisUrl(redisUrl),
  }
  const storeStart = timed(options, storeStep, () => openStore(options))
  const redisStart = timed(options, redisStep, () => openRedis(options))
  const [store, redis] = await Promise.allSettled([storeStart, redisStart])
  if (store.status === 'fulfilled' && store.value.part) closers.unshift(store.value.part.close)
  if (redis.status === 'fulfilled' && redis.value.part) closers.unshift(redis.value.part.close)
  return [await storeStart, await redisStart]
}

async function openStore(options: ServerOptions): Promise<StorePart> {
  const { home, profile, external = {} } = options
  const addresses = externalStore(external, profile.database)
  if (addresses !== undefined) {
    await pingStore(addresses.store)
    await withStore({ ...addresses.store, database: 'default' }, testSettings)
    return { ...addresses, part: undefined }
  }
  const wanted = options.ports?.clickhouse ?? serverPortsWanted.clickhouse
  const { database } = profile
  const readable = readableOf(await readStatements(profile), database)
  const start = (port: number) =>
    createClickHouse({
      dataPath: home.clickhouse,
      port,
      writer: { user: writerUser, password: home.secrets.writer },
      reader: { user: readerUser, password: home.secrets.reader },
      memoryBytesMax: engineMemoryBytesMax(),
      readable,
      listed: publicNames.map((name) => `${database}.${name}`),
      auditable: auditableOf(database),
      asServer: options.asServer,
      onEvent: (event) => options.log.info(event),
      onRestart: (restart) => options.onRestart?.('ClickHouse', restart),
    })
  const part = await onFreePort(wanted, start, isNamedIn(profile))
  sayPort(options, { name: 'ClickHouse', wanted, port: part.port })
  return { ...embeddedStore(home, part.url, profile.database), part }
}

async function openRedis(options: ServerOptions): Promise<QueuePart> {
  const { home, profile, external = {}, say } = options
  const redisUrl = externalRedis(external)
  if (redisUrl !== undefined) {
    await checkRedis(redisUrl)
    return { redisUrl, part: undefined }
  }
  await ensureRedis({ forced: options.installs ?? false, say: (line) => say?.(line) })
  const wanted = options.ports?.redis ?? serverPortsWanted.redis
  const start = (port: number) =>
    createRedis({
      dataPath: home.redis,
      port,
      password: home.secrets.redis,
      onEvent: (event) => options.log.warn(event),
      onRestart: (restart) => options.onRestart?.('Redis', restart),
    })
  const part = await onFreePort(wanted, start, isNamedIn(profile))
  sayPort(options, { name: 'Redis', wanted, port: part.port })
  return { redisUrl: part.url, part }
}

function sayPort(
  options: ServerOptions,
  at: { readonly name: string; readonly wanted: number; readonly port: number },
): void {
  if (at.port === at.wanted) return
  options.say?.(`port ${at.wanted} is taken; ${at.name} listens on ${at.port}`)
}

async function pingStore(address: Addresses['store']): Promise<void> {
  try {
    const ping = (store: Store) => store.rows({ sql: sql`SELECT 1` })
    await withStore({ ...address, database: 'default' }, ping)
  } catch (cause) {
    const reason = cause instanceof Fault ? cause.message : String(cause)
    const remedy = 'check that ClickHouse is up, and that address, user and password are right'
    const detail = `CLICKHOUSE_URL ${address.url}: ${reason}; ${remedy}`
    throw new Fault('STORE_UNREACHABLE', detail, { cause })
  }
}
