import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRedis } from '../../../infra/redis/start.js'
import { openHome } from '../../../infra/stack/home.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { createWorkerProcess } from '../../../infra/stack/processes/programs.js'
import { collectSecrets } from '../../../infra/stack/secrets.js'
import type { Closer } from '../../../infra/stack/servers.js'
import { createLog } from '../../../infra/telemetry/log.js'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createReplicas, replicas } from '../../../test/rig/replicas/start.js'
import type { Rig, RigOptions } from '../../rig.js'
import { createFailOver } from './fail-over.js'
import { createLag, type Lag } from './lag.js'

/** A worker and Redis as real processes, before two replicas, which may lag behind a proxy that changes between them. */
export interface ReplicatedRig extends Rig {
  readonly lag?: Lag
  /** The same rig with the store of each replica. */
  readonly each: readonly Rig[]
}

const redisPort = 20_000
const noSecret = (): string => ''

/**
 * With a seed replicas lag, and in the place of ClickHouse, which cannot be killed without its Keeper, the
 * client fails over. Without one nothing happens to them, and no proxy is before them.
 */
export async function createReplicatedRig(
  options: RigOptions,
  seed?: number,
): Promise<ReplicatedRig> {
  const files = mkdtempSync(join(tmpdir(), `tieline-${options.name}-files-`))
  const home = openHome(mkdtempSync(join(tmpdir(), `tieline-${options.name}-`)))
  const closers: Closer[] = [
    async () => {
      for (const path of [files, home.path]) rmSync(path, { recursive: true, force: true })
    },
  ]
  const close = async () => {
    for (const one of closers) await one()
  }
  try {
    const profile = parseProfile({ ...options.profile, database: replicas[0] })
    const world = await createReplicas(profile, options.asServer)
    closers.unshift(world.close)
    const direct = world.stores.r1.address
    const proxy = seed === undefined ? undefined : await createFailOver(direct.url)
    if (proxy !== undefined) closers.unshift(proxy.close)
    const redis = await onFreePort(redisPort + (process.pid % 10_000), (port) =>
      createRedis({ dataPath: home.redis, port, password: home.secrets.redis }),
    )
    closers.unshift(redis.close)
    const address = { ...direct, url: proxy?.url ?? direct.url }
    const { inbox, outbox, landing, archive, quarantine, backfill, uploads, pushed } = home
    const log = createLog(join(home.logs, 'tieline.log'), options.name)
    const sources = profile.sources.map((one) =>
      one.kind === 'folder' ? { ...one, path: join(home.path, one.path) } : one,
    )
    const worker = await createWorkerProcess({
      options: {
        profile: { ...profile, sources },
        folders: { inbox, outbox, landing, archive, quarantine, backfill, uploads, pushed },
        machine: home.machine,
        store: address,
        isWatched: false,
        redisUrl: redis.url,
        secrets: collectSecrets([profile.sources], options.secret ?? noSecret),
      },
      logsPath: home.logs,
      onEvent: (event) => log.warn(event),
    })
    closers.unshift(worker.close)
    const store = createStore(address)
    closers.unshift(store.close)
    const clickhouse = { pid: () => world.pid, kill: async () => proxy?.failOver() }
    const stack = {
      store: address,
      reader: address,
      redisUrl: redis.url,
      clickhouse,
      redis,
      worker,
    }
    const lag = seed === undefined ? undefined : createLag(world, seed)
    const rig = { home, profile, files, stack: { ...stack, gateway: undefined, close } }
    const readers = replicas.map((replica) => world.stores[replica].address)
    const whole = { ...rig, store, readers, close }
    const each = replicas.map((replica) => ({ ...whole, store: world.stores[replica] }))
    return { ...whole, ...(lag && { lag }), each }
  } catch (error) {
    await close()
    throw error
  }
}
