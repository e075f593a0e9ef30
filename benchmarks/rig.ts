import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AsServer } from '../infra/clickhouse/http/answer.js'
import { type Home, openHome } from '../infra/stack/home.js'
import { type Stack, startStack } from '../infra/stack/stack.js'
import { createLog } from '../infra/telemetry/log.js'
import { createStore, type Store, type StoreAddress } from '../pipeline/store/clickhouse.js'
import { sql } from '../pipeline/store/sql.js'
import { type Profile, parseProfile } from '../schemas/settings/profile.js'
import type { SecretReference } from '../schemas/settings/secret.js'

export interface RigOptions {
  /** Prefix of the temporary data folder's name. */
  readonly name: string
  /** What differs from the defaults of a profile. */
  readonly profile: Readonly<Record<string, unknown>>
  /** The secrets that the profile refers to. */
  readonly secret?: (reference: SecretReference) => string
  readonly say: (line: string) => void
  readonly asServer?: AsServer
}

/** A whole stack of its own on a temporary data folder: servers and worker as real processes. */
export interface Rig {
  readonly home: Home
  readonly profile: Profile
  readonly stack: Stack
  /** The writer's connection. */
  readonly store: Store
  /** Of each server that readers ask. */
  readonly readers: readonly StoreAddress[]
  /** A folder for files that go in. */
  readonly files: string
  /** Stops everything; the data folder is removed unless it is kept to be looked at. */
  close(options?: { readonly keep?: boolean }): Promise<void>
}

/** Ports to try first, below those that the system gives to clients; each process has its own. `fetch` refuses 10080. */
const portFirst = 10_100
const portsApart = 10_000

export async function createRig(options: RigOptions): Promise<Rig> {
  const files = mkdtempSync(join(tmpdir(), `tieline-${options.name}-files-`))
  const home = openHome(mkdtempSync(join(tmpdir(), `tieline-${options.name}-`)))
  const profile = parseProfile(options.profile)
  const remove = () => {
    for (const path of [files, home.path]) rmSync(path, { recursive: true, force: true })
  }
  const clickhouse = portFirst + (process.pid % portsApart)
  const ports = { clickhouse, redis: clickhouse + portsApart }
  const log = createLog(join(home.logs, 'tieline.log'), options.name)
  const { say, secret, asServer } = options
  const stack = await startStack({
    home,
    profile,
    log,
    ports,
    say,
    ...(secret && { secret }),
    ...(asServer && { asServer }),
  }).catch((error) => {
    remove()
    throw error
  })
  const store = createStore(stack.store)
  return {
    home,
    profile,
    stack,
    store,
    readers: [stack.reader],
    files,
    close: async ({ keep = false } = {}) => {
      await store.close()
      await stack.close()
      if (keep) options.say(`kept: ${home.path}`)
      else remove()
    },
  }
}

interface Measuring {
  readonly print: (line: string) => void
  /** A file for the figures. */
  readonly json?: string | undefined
}

/** Measures on a rig that is closed afterwards, with more sections of its profile. */
export async function measureOnRig<T>(
  { print, json }: Measuring,
  sections: object,
  measure: (rig: Rig) => Promise<T>,
): Promise<T> {
  const profile = { companyCodes: ['BENCH'], timeZone: 'America/Detroit', ...sections }
  const rig = await createRig({ name: 'bench', profile, say: print })
  try {
    const figures = await measure(rig)
    if (json) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`)
    return figures
  } finally {
    await rig.close()
  }
}

const mergePollMs = 1_000
const quietPolls = 3

/** Waits until the engine has merged the reads that it stored, as it has before the next day's files come. */
export async function untilMerged(store: Store): Promise<void> {
  for (let quiet = 0; quiet < quietPolls; quiet++) {
    await sleep(mergePollMs)
    const merging = sql`SELECT 1 FROM system.merges WHERE table = 'usage_read' LIMIT 1`
    if ((await store.rows({ sql: merging })).length > 0) quiet = 0
  }
}
