import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLineOn } from '../../test/pipeline/by-hand.js'
import { profile } from '../../test/pipeline/customers/registering.js'
import { createReplicas, type Replicas, replicas } from '../../test/rig/replicas/start.js'
import { createClient } from './client.js'
import { createWatch, type Property, properties, type Violation } from './properties.js'
import { cleanUp, play } from './schedule.js'
import { createWeather } from './weather.js'

export interface ClusterOptions {
  readonly seed: number
  /** Numbers of the schedules, the last one included. */
  readonly from: number
  readonly to: number
  readonly say: (line: string) => void
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
  const { seed, from, to, say } = options
  const start = performance.now()
  const violations = Object.fromEntries(properties.map((one) => [one, 0])) as Record<
    Property,
    number
  >
  const first: Partial<Record<Property, { schedule: number; what: string }>> = {}
  let statements = 0
  let world: Replicas | undefined
  let used = 0
  try {
    for (let schedule = from; schedule <= to; schedule++) {
      world ??= await createWorld()
      const played = await playOn(world, { seed: seed * 1_000_003 + schedule, schedule })
      statements += played.statements
      used++
      for (const { property, what } of played.violations) {
        violations[property]++
        if (first[property] !== undefined) continue
        first[property] = { schedule, what }
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
  const isGood = properties.every((one) => violations[one] === 0)
  const seconds = (performance.now() - start) / 1_000
  return { seed, schedules: to - from + 1, statements, seconds, violations, first, isGood }
}

/**
 * Two replicas on which an hour is a second: where the schema leaves the time for which tokens are
 * kept to ClickHouse, whose default is an hour, they are forgotten within the schedules.
 */
async function createWorld(): Promise<Replicas> {
  const world = await createReplicas(profile)
  for (const store of Object.values(world.stores)) {
    const tables = await store.rows<{ name: string }>({
      sql: `SELECT name FROM system.tables WHERE database = currentDatabase()
        AND name IN ('arrival', 'publication', 'audit_log')
        AND engine_full NOT LIKE '%replicated_deduplication_window_seconds%'`,
    })
    for (const { name } of tables) {
      await store.command({
        sql: `ALTER TABLE ${name} MODIFY SETTING replicated_deduplication_window_seconds = 1,
          cleanup_delay_period = 1, max_cleanup_delay_period = 1`,
      })
    }
  }
  return world
}

async function playOn(
  world: Replicas,
  { seed, schedule }: { readonly seed: number; readonly schedule: number },
): Promise<{ statements: number; violations: readonly Violation[] }> {
  const prefix = `S${schedule}-`
  const folder = mkdtempSync(join(tmpdir(), 'tieline-cluster-'))
  const weather = createWeather(world, seed)
  const watch = createWatch(world, prefix)
  const violations: Violation[] = []
  let statements = 0
  let isClear = false
  const client = createClient(world, {
    before: async (text) => {
      statements++
      if (!isClear) await weather.before(text, () => client.failOver())
    },
    after: async (text) => {
      if (!isClear) weather.after(text)
    },
    look: async (text) => {
      if (!/staging_|TEMPORARY/.test(text)) violations.push(...(await watch.look()))
    },
    slow: weather.lift,
    patienceMs: weather.patienceMs,
  })
  try {
    const termination = { ...profile.termination, graceDays: 0 }
    // However few reads a meter has, it has a bill.
    const billing = { ...profile.billing, presentShareMin: 0 }
    const line = createLineOn(client.store, folder, { termination, billing })
    const stage = { line, watch, prefix, seed }
    violations.push(...(await play(stage)))
    await weather.clear()
    isClear = true
    for (const _ of replicas) {
      violations.push(...(await cleanUp(stage)))
      client.failOver()
    }
    await weather.clear()
    violations.push(...(await watch.look()), ...(await watch.lookAtEnd()))
    return { statements, violations }
  } finally {
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
