import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openHome } from '../infra/stack/home.js'
import { type Closer, type StackPart, startServers } from '../infra/stack/servers.js'
import { createLog } from '../infra/telemetry/log.js'
import { createStore, type Store } from '../pipeline/store/clickhouse.js'
import { sql } from '../pipeline/store/sql.js'
import { parseProfile } from '../schemas/settings/profile.js'
import { residentMb } from './memory.js'
import { processorSeconds } from './processor.js'
import { measureOnRig } from './rig.js'
import { verdict } from './usage/figures.js'

export interface IdleOptions {
  readonly minutes: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** Processor time in percent of a core, resident memory at the end, and how much of it has come since, MB. */
interface Use {
  readonly percent: number
  readonly mb: number
  readonly grownMb: number
}

interface Uses {
  readonly processes: Readonly<Record<string, Use>>
  readonly statementsPerMinute: number
}

/** What `--json` writes. */
export interface IdleFigures {
  readonly minutes: number
  /** ClickHouse and Redis without anybody who asks them. */
  readonly bare: Uses
  readonly tieline: Uses
  readonly percentMore: number
  /** SELECT and INSERT, without those of the engine's watchdog. */
  readonly statementsPerMinute: number
}

const percentMax = 1
const statementsMax = 30
/** After a start: sweeps, and what the engine does to its own tables. */
const settleMs = 30_000

/**
 * Measures a stack with an empty folder and nothing to do, without a gateway, and before it the two servers
 * alone for as long.
 */
export async function measureIdle({ minutes, print, json }: IdleOptions): Promise<IdleFigures> {
  print('estimate: 1 % of a core beside the two servers alone, 30 statements a minute')
  const bare = await measureBare(minutes)
  const path = mkdtempSync(join(tmpdir(), 'tieline-idle-'))
  try {
    const sections = { sources: [{ name: 'inbox', kind: 'folder', path }] }
    return await measureOnRig({ print, json }, sections, async ({ stack, store }) => {
      await sleep(settleMs)
      const { clickhouse, redis, worker } = stack
      const up = { pid: () => process.pid }
      const tieline = await measureUse({ clickhouse, redis, worker, up }, { store, minutes })
      const statementsPerMinute = tieline.statementsPerMinute - bare.statementsPerMinute
      const percentMore = total(tieline.processes) - total(bare.processes)
      const more = `${percentMore.toFixed(2)} % of a core more than the servers alone`
      print(verdict(more, percentMore <= percentMax, percentMax))
      const asked = `${statementsPerMinute.toFixed(0)} statements a minute`
      print(verdict(asked, statementsPerMinute <= statementsMax, statementsMax))
      for (const [name, { mb, grownMb }] of Object.entries(tieline.processes))
        print(`${name}: ${mb.toFixed(0)} MB, ${grownMb.toFixed(0)} MB more than at first`)
      return { minutes, bare, tieline, percentMore, statementsPerMinute }
    })
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
}

async function measureBare(minutes: number): Promise<Uses> {
  const home = openHome(mkdtempSync(join(tmpdir(), 'tieline-bare-')))
  const closers: Closer[] = []
  try {
    const profile = parseProfile({ companyCodes: ['BENCH'], timeZone: 'UTC' })
    const log = createLog(join(home.logs, 'tieline.log'), 'bare')
    const [clickhouse, redis] = await startServers({ home, profile, log }, closers)
    const store = createStore({ ...clickhouse.store, database: 'default' })
    closers.unshift(() => store.close())
    await sleep(settleMs)
    return await measureUse({ clickhouse: clickhouse.part, redis: redis.part }, { store, minutes })
  } finally {
    for (const close of closers) await close()
    rmSync(home.path, { recursive: true, force: true })
  }
}

/** What processes take over some minutes. */
async function measureUse(
  parts: Readonly<Record<string, Pick<StackPart, 'pid'> | undefined>>,
  { store, minutes }: { readonly store: Store; readonly minutes: number },
): Promise<Uses> {
  const statements = await countStatements(store)
  const pids = Object.entries(parts).map(([name, part]) => [name, part?.pid()] as const)
  const look = () =>
    pids.map(([name, pid]) => {
      return { name, seconds: processorSeconds(pid), mb: residentMb(pid) ?? 0 }
    })
  const before = look()
  await sleep(minutes * 60_000)
  const processes = look().map(({ name, seconds, mb }, at) => {
    const percent = (seconds - (before[at]?.seconds ?? 0)) / (minutes * 0.6)
    return [name, { percent, mb, grownMb: mb - (before[at]?.mb ?? 0) }] as const
  })
  const statementsPerMinute = ((await countStatements(store)) - statements) / minutes
  return { processes: Object.fromEntries(processes), statementsPerMinute }
}

function total(processes: Uses['processes']): number {
  return Object.values(processes).reduce((sum, { percent }) => sum + percent, 0)
}

/** SELECT and INSERT since the engine has started: those of its watchdog and this one among them. */
async function countStatements(store: Store): Promise<number> {
  const [row] = await store.rows<{ count: string }>({
    sql: sql`SELECT toString(sum(value)) AS count FROM system.events
      WHERE event IN ('SelectQuery', 'InsertQuery')`,
  })
  return Number(row?.count ?? 0)
}
