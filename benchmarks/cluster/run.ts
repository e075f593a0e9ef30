import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { createCatchUp } from '../../pipeline/store/replicas.js'
import { createLineOn } from '../../test/pipeline/by-hand.js'
import { profile } from '../../test/pipeline/customers/registering.js'
import { createReplicas, type Replicas, replicas } from '../../test/rig/replicas/start.js'
import { createClient } from './client.js'
import { createClock } from './clock.js'
import { createConnections } from './connections.js'
import { createWatch, type Property, properties, type Violation } from './properties.js'
import { eraseAtNight, play, sweepServer } from './schedule.js'
import { behindTables, createWeather } from './weather.js'

export interface ClusterOptions {
  readonly seed: number
  /** Numbers of the schedules, the last one included. */
  readonly from: number
  readonly to: number
  readonly say: (line: string) => void
  /** Schedules that were played before: they count and are not played again. */
  readonly played?: readonly Played[]
  readonly onPlayed?: (played: Played) => void
  /** Plants a defect between the product and its store, to show that it is seen. */
  readonly spoil?: (store: Store) => Store
}

/** What became of a schedule. */
export interface Played {
  readonly seed: number
  readonly schedule: number
  readonly statements: number
  readonly seconds: number
  readonly violations: readonly Violation[]
}

export interface ClusterResult {
  readonly seed: number
  readonly schedules: number
  readonly statements: number
  readonly seconds: number
  readonly violations: Readonly<Record<Property, number>>
  /** The first schedule that showed it. */
  readonly first: Readonly<Partial<Record<Property, { schedule: number; what: string }>>>
  readonly isGood: boolean
}

/** A store that many schedules have used makes each of them slower. */
const schedulesAStoreMax = 100

/**
 * Plays random schedules over two replicas with lag, merges on either side, fail-over of the client
 * and refusals, and looks after every statement for what must never happen. A schedule depends on the
 * seed and its number alone. After a violation the next schedule has a new store.
 */
export async function runSchedules(options: ClusterOptions): Promise<ClusterResult> {
  const { seed, from, to, say, played: before = [], onPlayed, spoil } = options
  const known = new Map(before.map((one) => [one.seed === seed ? one.schedule : -1, one]))
  const all: Played[] = []
  let world: Replicas | undefined
  let used = 0
  try {
    for (let schedule = from; schedule <= to; schedule++) {
      const earlier = known.get(schedule)
      if (earlier !== undefined) {
        all.push(earlier)
        continue
      }
      world ??= await createWorld()
      const played = await playOn(world, { seed, schedule, spoil })
      all.push(played)
      onPlayed?.(played)
      used++
      for (const { property, what } of played.violations) {
        say(`schedule ${schedule}: ${property}: ${what}`)
      }
      if (played.violations.length > 0 || used === schedulesAStoreMax) {
        await world.close()
        world = undefined
        used = 0
      }
      if ((schedule - from + 1) % 10 === 0) say(`${schedule - from + 1} schedules`)
    }
  } finally {
    await world?.close()
  }
  return toResult(seed, all)
}

function toResult(seed: number, all: readonly Played[]): ClusterResult {
  const found = all.flatMap(({ schedule, violations }) =>
    violations.map((one) => ({ ...one, schedule })),
  )
  const counts = properties.map((one) => [
    one,
    found.filter(({ property }) => property === one).length,
  ])
  const first = properties.flatMap((one) => {
    const shown = found.find(({ property }) => property === one)
    return shown === undefined ? [] : [[one, { schedule: shown.schedule, what: shown.what }]]
  })
  return {
    seed,
    schedules: all.length,
    statements: all.reduce((sum, { statements }) => sum + statements, 0),
    seconds: all.reduce((sum, { seconds }) => sum + seconds, 0),
    violations: Object.fromEntries(counts) as Record<Property, number>,
    first: Object.fromEntries(first) as ClusterResult['first'],
    isGood: found.length === 0,
  }
}

/**
 * Two replicas on which an hour is a second: where the schema leaves the time for which tokens are
 * kept to ClickHouse, whose default is an hour, they are forgotten within the schedules. Each table has an
 * entry in its log, since an empty one looks as if it had to be read before each job.
 */
async function createWorld(): Promise<Replicas> {
  const world = await createReplicas(profile)
  for (const store of Object.values(world.stores)) {
    const tables = await store.rows<{ name: string; is_kept: number }>({
      sql: `SELECT name, name IN ('arrival', 'publication', 'audit_log')
          AND engine_full NOT LIKE '%replicated_deduplication_window_seconds%' AS is_kept
        FROM system.tables
        WHERE database = currentDatabase() AND startsWith(engine, 'Replicated')`,
    })
    for (const { name, is_kept } of tables) {
      await store.command({ sql: `ALTER TABLE ${name} MODIFY COMMENT ''` })
      if (is_kept === 0) continue
      await store.command({
        sql: `ALTER TABLE ${name} MODIFY SETTING replicated_deduplication_window_seconds = 1,
          cleanup_delay_period = 1, max_cleanup_delay_period = 1`,
      })
    }
  }
  return world
}

/** The attach to what is published names staging too. */
function changesWhatIsSeen(text: string): boolean {
  return (
    /^ALTER TABLE `?\w+_(read|row)`? ATTACH/.test(text) || !/staging_|TEMPORARY|^SYSTEM/.test(text)
  )
}

interface Drawn {
  readonly seed: number
  readonly schedule: number
  readonly spoil: ClusterOptions['spoil']
}

async function playOn(
  world: Replicas,
  { seed, schedule, spoil = (store) => store }: Drawn,
): Promise<Played> {
  const start = performance.now()
  const drawn = seed * 1_000_003 + schedule
  const prefix = `S${schedule}-`
  const folder = mkdtempSync(join(tmpdir(), 'tieline-cluster-'))
  const clock = createClock()
  const connections = await createConnections(world, profile)
  const { breakNext } = connections
  const weather = createWeather(world, { seed: drawn, clock, breakNext })
  const watch = createWatch(world, prefix)
  const violations: Violation[] = []
  let statements = 0
  let isClear = false
  const client = createClient(connections, {
    before: async (text) => {
      statements++
      clock.tick()
      return isClear ? undefined : weather.before(text, client)
    },
    after: async (text) => {
      if (!isClear) weather.after(text)
    },
    look: async (text) => {
      if (changesWhatIsSeen(text)) violations.push(...(await watch.look()))
    },
    slow: weather.lift,
    patienceMs: weather.patienceMs,
  })
  try {
    const termination = { ...profile.termination, graceDays: 0 }
    // However few reads a meter has, it has a bill.
    const billing = { ...profile.billing, presentShareMin: 0 }
    const store = spoil(client.store)
    const line = createLineOn(store, folder, { termination, billing })
    const catchUp = createCatchUp(store, behindTables)
    const stage = { line, watch, clock, catchUp, prefix, seed: drawn }
    violations.push(...(await play(stage)))
    await weather.clear()
    await connections.idle()
    isClear = true
    for (const _ of replicas) {
      violations.push(...(await sweepServer(stage)))
      client.failOver()
    }
    violations.push(...(await eraseAtNight(stage)))
    await weather.clear()
    violations.push(...(await watch.look()), ...(await watch.lookAtEnd()))
    const seconds = (performance.now() - start) / 1_000
    return { seed, schedule, statements, seconds, violations }
  } finally {
    await connections.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The result for people. */
export function renderSchedules(result: ClusterResult): readonly string[] {
  const { seed, schedules, statements, seconds, violations, first } = result
  return [
    `seed ${seed}, ${schedules} schedules, ${statements} statements, ${seconds.toFixed(0)} seconds`,
    ...properties.map((one) => {
      const shown = first[one]
      const where =
        shown === undefined ? '' : `, first in schedule ${shown.schedule}: ${shown.what}`
      return `${one} ${violations[one]}${where}`
    }),
  ]
}
