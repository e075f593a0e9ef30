import { createHash, createHmac } from 'node:crypto'
import { join, relative, resolve } from 'node:path'
import { logFault } from '../../pipeline/failure.js'
import { type Actor, latestAct, recordAct } from '../../pipeline/ledger/audit.js'
import { shownRedisUrl } from '../../pipeline/queues/redis-url.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import { findSharedFolders, ownFolders } from '../../schemas/settings/source-folders.js'
import { createZone } from '../../schemas/time/zone.js'
import { printable } from '../commands/output/table.js'
import { findClockDifference } from '../schema/clock-difference.js'
import { migrateUnlessAway } from '../schema/migrate.js'
import { testEngine } from '../schema/self-test.js'
import { testZone } from '../schema/zone-test.js'
import type { TracingSettings } from '../telemetry/otel.js'
import { commandActor } from './actor.js'
import { type Addresses, addressesOf, type External } from './addresses.js'
import { withStore } from './connections.js'
import { createHealing, openHealing } from './healing.js'
import { followLinks, followMove, type Home, liesIn } from './home.js'
import { preflight, throwFaults } from './preflight.js'
import {
  createGatewayProcess,
  createWorkerProcess,
  type GatewayDetail,
  type WorkerDetail,
} from './processes/programs.js'
import { placeFiles } from './profile-file.js'
import { claimHome, type RunState, readRun, writeRun } from './run-state.js'
import { collectSecrets } from './secrets.js'
import { type Closer, type ServerOptions, type StackPart, startServers, timed } from './servers.js'

export interface StackOptions extends ServerOptions {
  /** Resolves the secrets of the profile; without it a profile may not refer to any. */
  readonly secret?: (reference: SecretReference) => string
  /** Name of the command, for run.json. */
  readonly command?: string
  /** Receiver of the traces of gateway and worker; no tracing without it. */
  readonly tracing?: TracingSettings | undefined
  /** Whether the stack outlives its command; true by default. */
  readonly stays?: boolean
}

export interface Stack extends Addresses {
  /** Undefined if CLICKHOUSE_URL or REDIS_URL name an external server. */
  readonly clickhouse: StackPart | undefined
  readonly redis: StackPart | undefined
  readonly worker: StackPart & { readonly detail: () => WorkerDetail }
  /** Undefined if the profile has none, or the stack ends with its command. */
  readonly gateway: (StackPart & { readonly detail: () => GatewayDetail }) | undefined
  /** Stops gateway, worker, Redis and ClickHouse in this order, then releases the data folder. */
  close(): Promise<void>
}

/**
 * Starts all parts on one machine: ClickHouse and Redis as child processes unless they are external,
 * then migrations, worker and gateway. If a part fails, the started ones are stopped. Throws
 * `ALREADY_RUNNING` if another process uses the data folder, otherwise the fault of the part.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { home, profile } = options
  const placed = placeSources(placeFiles(profile, home.path), home)
  const claim = await claimHome(home)
  const closers: Closer[] = [claim.release]
  const healing = createHealing((fault) => logFault(options.log, fault))
  const onRestart = healing.restarted
  const { secret = noSecret, stays = true } = options
  try {
    throwFaults(await preflight(placed, { ...options, secret }))
    const [store, redis] = await startServers({ ...options, onRestart }, closers)
    const migrations = {
      name: 'migrations',
      detail: (names: readonly string[]) => names.join(', ') || `${profile.database} is up to date`,
    }
    const isEmbedded = store.part !== undefined
    await timed(options, migrations, () => migrateStore(store.store, options, isEmbedded))
    if (isEmbedded) await withStore(store.store, (own) => followMove(own, home))
    closers.unshift(openHealing(healing, { ...store, redis }))
    const worker = await timed(options, { name: 'worker', detail: () => '' }, () =>
      createWorkerProcess({
        options: {
          profile: placed,
          folders: foldersOf(home),
          machine: home.machine,
          store: store.store,
          isWatched: stays,
          ...(isEmbedded && { storeLandingPath: home.landing }),
          redisUrl: redis.redisUrl,
          tracing: options.tracing,
          secrets: collectSecrets([placed.sources, placed.backfill, placed.alerts], secret),
        },
        logsPath: home.logs,
        onEvent: (event) => options.log.warn(event),
        onRestart: (restart) => onRestart('worker', restart),
        onMessage: (text) => stays && options.say?.(printable(text)),
      }),
    )
    closers.unshift(worker.close)
    const gateway = await startGateway(
      { ...options, onRestart },
      { store: store.store, reader: store.reader, redisUrl: redis.redisUrl },
    )
    if (gateway !== undefined) closers.unshift(gateway.close)
    writeRun(home, {
      command: options.command ?? 'up',
      stays,
      database: profile.database,
      profile,
      clickhouse: { url: store.store.url, embedded: isEmbedded },
      redis: { url: shownRedisUrl(redis.redisUrl), embedded: redis.part !== undefined },
      worker: worker.detail(),
      ...(gateway && { gateway: gateway.detail() }),
    })
    return {
      store: store.store,
      reader: store.reader,
      redisUrl: redis.redisUrl,
      clickhouse: store.part,
      redis: redis.part,
      worker,
      gateway,
      close: () => closeAll(closers),
    }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

export interface AttachedStack extends Addresses {
  readonly run: RunState
}

/** The running stack of a data folder; undefined if none runs. */
export function attachStack(home: Home, external: External = {}): AttachedStack | undefined {
  const run = readRun(home)
  return run && { ...addressesOf(home, run, external), run }
}

function migrateStore(
  address: Addresses['store'],
  { profile, log, say }: StackOptions,
  isEmbedded: boolean,
): Promise<readonly string[]> {
  const onAway = (detail: string) => {
    log.warn({ code: 'STORE_UNREACHABLE' }, detail)
    say?.(detail)
  }
  return withStore(address, async (store) => {
    const names = await migrateUnlessAway(store, profile, { isEmbedded, onAway })
    await testEngine(store)
    await testZone(store, createZone(profile.timeZone))
    const difference = await findClockDifference(store)
    if (difference !== undefined) {
      log.warn(difference)
      say?.(`${difference}; set both, for example with NTP`)
    }
    await recordProfile(store, commandActor(), profile)
    return names
  })
}

/** Starts the gateway if the profile has one and the stack outlives its command. */
async function startGateway(options: StackOptions, at: Addresses) {
  const { home, profile } = options
  if (profile.gateway === undefined || options.stays === false) return undefined
  const step = {
    name: 'gateway',
    detail: (child: { readonly detail: () => GatewayDetail }) =>
      child.detail().addresses.join(', '),
  }
  return timed(options, step, () =>
    createGatewayProcess({
      options: {
        ...at,
        profile: placeFiles(profile, home.path),
        folders: { uploads: home.uploads, pushed: home.pushed },
        key: createHmac('sha256', home.secrets.writer).update('gateway').digest('hex'),
        tracing: options.tracing,
        requestLogPath: join(home.logs, 'requests.log'),
      },
      secret: options.secret ?? noSecret,
      logsPath: home.logs,
      onEvent: (event) => options.log.warn(event),
      onRestart: (restart) => options.onRestart?.('gateway', restart),
    }),
  )
}

function noSecret(): never {
  throw new Fault('CONFIG', 'the profile refers to a secret, which this command does not read')
}

/**
 * Resolves relative folder sources against the data folder. Throws `PROFILE` for a path that leads, also
 * by links, to a folder of another source or to one that is reserved for Tieline itself.
 */
function placeSources(profile: Profile, home: Home): Profile {
  const sources = profile.sources.map((source) =>
    source.kind === 'folder' ? { ...source, path: resolve(home.path, source.path) } : source,
  )
  const inHome = sources.map((source) =>
    source.kind === 'folder' ? { ...source, path: placeIn(home, source.path) } : source,
  )
  const [problem] = findSharedFolders(inHome)
  if (problem !== undefined) {
    throw new Fault('PROFILE', `sources[${problem.index}].path: ${problem.message}`)
  }
  return { ...profile, sources }
}

/** Where a folder really is, relative to the data folder, whose parts may be links to other disks. */
function placeIn(home: Home, path: string): string {
  const real = followLinks(path)
  const own = ownFolders.find((name) => liesIn(real, home[name]))
  if (own === undefined) return relative(home.path, real)
  return join(own, relative(followLinks(home[own]), real))
}

/** Stops all parts in order, even if one of them fails to stop. */
async function closeAll(closers: readonly Closer[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers) {
    await close().catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0) throw failures[0]
}

/**
 * Records a changed profile in the audit log. The subject is the hash of all settings; the detail has
 * a hash per section, so that two entries show which sections differ.
 */
async function recordProfile(store: Store, actor: Actor, profile: Profile): Promise<void> {
  const subject = hashOf(profile)
  if ((await latestAct(store, 'profile'))?.subject === subject) return
  const sections = Object.entries(profile).filter(([, value]) => value !== undefined)
  const detail = sections.map(([name, value]) => `${name} ${hashOf(value).slice(0, 8)}`).join(', ')
  await recordAct(store, actor, { act: 'profile', subject, detail })
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

function foldersOf(home: Home) {
  const { inbox, outbox, landing, archive, quarantine, backfill, uploads, pushed } = home
  return { inbox, outbox, landing, archive, quarantine, backfill, uploads, pushed }
}
