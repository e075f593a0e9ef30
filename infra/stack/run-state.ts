import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { type Claim, claimFolder } from './claim.js'
import type { Home } from './home.js'
import { startOf } from './processes/leftover.js'

const runSchema = z.object({
  pid: z.number().int(),
  /** Start of the process in kernel ticks since boot: distinguishes a later process with its pid. */
  ticks: z.string(),
  startedAt: z.iso.datetime(),
  command: z.string(),
  /** False for a stack that ends with its command. */
  stays: z.boolean(),
  database: z.string(),
  /** The profile with all defaults; it contains no secrets. */
  profile: z.custom<Profile>((value) => typeof value === 'object' && value !== null),
  /** HTTP address without credentials. */
  clickhouse: z.object({ url: z.string(), embedded: z.boolean() }),
  /** `redis://` address without credentials. */
  redis: z.object({ url: z.string(), embedded: z.boolean() }),
  /** Operations address of the worker; none in a stack that ends with its command. */
  worker: z.object({ operations: z.string().optional() }).optional(),
  /** Addresses of the gateway, if one runs. */
  gateway: z
    .object({ addresses: z.array(z.string()).readonly(), operations: z.string() })
    .optional(),
})

/** The state of a running stack in `run.json`; it contains no passwords. */
export type RunState = z.infer<typeof runSchema>

/** The run.json of the running stack; undefined if there is none or its process has ended. */
export function readRun(home: Pick<Home, 'path'>): RunState | undefined {
  try {
    const run = runSchema.safeParse(JSON.parse(readFileSync(runPath(home), 'utf8')))
    if (!run.success || run.data.ticks !== startOf(run.data.pid)) return undefined
    return run.data
  } catch {
    return undefined
  }
}

/** Writes run.json for this process atomically. */
export function writeRun(home: Home, run: Omit<RunState, 'pid' | 'ticks' | 'startedAt'>): void {
  const state: RunState = {
    pid: process.pid,
    ticks: startOf(process.pid) ?? '',
    startedAt: new Date().toISOString(),
    ...run,
  }
  const unfinished = `${runPath(home)}.part`
  writeFileSync(unfinished, `${JSON.stringify(state, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(unfinished, runPath(home))
}

/** Claims the data folder for this process. Throws `ALREADY_RUNNING` with the pid. */
export async function claimHome(home: Pick<Home, 'path'>): Promise<Claim> {
  const claim = await claimFolder(home.path).catch((cause: unknown) => {
    throw alreadyRunning(home, cause)
  })
  const run = readRun(home)
  if (run !== undefined && run.pid !== process.pid) {
    await claim.release()
    throw alreadyRunning(home)
  }
  return {
    release: () => {
      // A container with a network and pids of its own may have been refused only later.
      if (readRun(home)?.pid === process.pid) rmSync(runPath(home), { force: true })
      return claim.release()
    },
  }
}

function alreadyRunning(home: Pick<Home, 'path'>, cause?: unknown): Fault {
  const run = readRun(home)
  const who = run === undefined ? 'another Tieline process that is starting' : `pid ${run.pid}`
  return new Fault(
    'ALREADY_RUNNING',
    `${who} is already using ${home.path}; stop it, or set --home to another folder`,
    { cause },
  )
}

function runPath(home: Pick<Home, 'path'>): string {
  return join(home.path, 'run.json')
}
