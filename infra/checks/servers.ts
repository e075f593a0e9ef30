import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { shownRedisUrl } from '../../pipeline/queues/redis-url.js'
import { sql } from '../../pipeline/store/sql.js'
import { findEngine } from '../clickhouse/engine.js'
import type { Context } from '../commands/context.js'
import { packageRoot } from '../package-root.js'
import { checkRedis } from '../redis/ask.js'
import { findProgram } from '../redis/install.js'
import { findClockDifference } from '../schema/clock-difference.js'
import { versionsKnownGood } from '../schema/self-test.js'
import { testSettings } from '../schema/settings-test.js'
import { externalRedis, externalStore } from '../stack/addresses.js'
import { withStore } from '../stack/connections.js'
import { profilePathOf, readProfile } from '../stack/profile-file.js'
import { bad, type Check, type CheckResult, good, warning } from './check.js'

const run = promisify(execFile)
const lookMsMax = 30_000

/** Checks of the servers and of the profile. */
export const serverChecks: readonly Check[] = [
  { name: 'Redis', look: redis },
  { name: 'ClickHouse', look: clickhouse },
  { name: 'profile', look: async (context) => profile(context) },
]

async function redis({ external }: Context): Promise<CheckResult> {
  const url = externalRedis(external)
  if (url !== undefined) {
    await checkRedis(url)
    return good(`REDIS_URL ${shownRedisUrl(url)} OK`)
  }
  const program = await findProgram('redis-server')
  if (program === undefined) {
    return bad(
      'redis-server not found',
      'run apt-get install redis-server as root, or set REDIS_URL',
    )
  }
  const answer = await run(program, ['--version'], { timeout: lookMsMax }).catch(toError)
  if (answer instanceof Error) {
    const reason = answer.message.trim().split('\n').at(-1)
    return bad(`${program} does not run: ${reason}`, 'install redis-server again, or set REDIS_URL')
  }
  const version = /v=(\S+)/.exec(answer.stdout)?.[1] ?? answer.stdout.trim()
  const guarded = (await findProgram('setpriv')) !== undefined
  if (guarded) return good(`${program} ${version}, run as a child process`)
  return warning(
    `${program} ${version}`,
    'install util-linux, so that Redis stops when Tieline stops',
  )
}

/** A program that cannot be run is a problem found; it must not end the other checks. */
function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

async function clickhouse({ external }: Context): Promise<CheckResult> {
  const addresses = externalStore(external, 'default')
  if (addresses === undefined) return embeddedEngine()
  const [[row], difference] = await withStore(addresses.store, async (store) => [
    await store.rows<{ version: string }>({ sql: sql`SELECT version() AS version` }),
    await findClockDifference(store),
  ])
  if (difference !== undefined) {
    return bad(difference, 'set both, for example with NTP')
  }
  for (const user of new Set([addresses.store, addresses.reader]))
    await withStore(user, testSettings)
  const version = row?.version ?? ''
  const detail = `CLICKHOUSE_URL ${addresses.store.url} OK, version ${version}`
  const known = versionsKnownGood.join(', ')
  if (versionsKnownGood.some((one) => version.startsWith(`${one}.`))) {
    return good(`${detail}; known good: ${known}`)
  }
  const todo = `each start tests what Tieline needs of it; known good: ${known}`
  return warning(detail, todo)
}

/** Loads the engine in its own process: a crash in native code ends only that process. */
async function embeddedEngine(): Promise<CheckResult> {
  findEngine()
  const code = "import('chdb').then((chdb) => process.stdout.write(chdb.query('SELECT version()')))"
  const options = { cwd: packageRoot(import.meta.url), timeout: lookMsMax }
  try {
    const { stdout } = await run(process.execPath, ['-e', code], options)
    return good(`embedded, version ${stdout.trim().replaceAll('"', '')}`)
  } catch (error) {
    const lines = (error instanceof Error ? error.message : String(error)).split('\n')
    const reason = lines.find((line) => line.includes('Error')) ?? lines[0] ?? ''
    return bad(`cannot load the embedded engine: ${reason}`, 'run npm ci, or set CLICKHOUSE_URL')
  }
}

function profile(context: Context): CheckResult {
  const path = profilePathOf(context.profilePath, context.homePath)
  const found = readProfile(path)
  const companies = found.companyCodes.join(', ')
  const detail = `${resolve(path)}: ${companies}, ${found.timeZone}, ${found.database}`
  const home = resolve(context.homePath)
  // A start creates the inbox of the data folder.
  const folders = found.sources.flatMap((source) =>
    source.kind === 'folder' ? [resolve(home, source.path)] : [],
  )
  const others = folders.filter((folder) => folder !== join(home, 'inbox'))
  const absent = others.find((folder) => !existsSync(folder) && existsSync(home))
  if (absent !== undefined) {
    return bad(`${detail}\nsource folder ${absent} does not exist`, 'create it, or fix `sources`')
  }
  return good(detail)
}
