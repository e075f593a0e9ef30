import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { faultCodes } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Context } from '../commands/context.js'
import { bytesText, printable } from '../commands/output/table.js'
import { homeFolders } from '../stack/home.js'
import { isPortFree } from '../stack/port.js'
import { preflight } from '../stack/preflight.js'
import { readRun } from '../stack/run-state.js'
import {
  bad,
  type Check,
  type CheckResult,
  good,
  readIfValid,
  skipped,
  warning,
  withProfile,
} from './check.js'

const nodeVersionMin = [20, 19] as const
const memoryBytesMin = 2e9

/** Checks of the machine. */
export const machineChecks: readonly Check[] = [
  { name: 'Node', look: async () => nodeVersion(process.versions.node) },
  { name: 'memory', look: async () => memory() },
  { name: 'data folder', look: async (context) => folders(context) },
  { name: 'disk', look: async (context) => disk(context) },
  { name: 'intake', look: withProfile(intake) },
  { name: 'ports', look: ports },
  { name: 'stack', look: async (context) => stack(context) },
  { name: 'start', look: withProfile(start) },
  { name: 'clock', look: async () => clock() },
]

/** Checks a Node version such as `20.20.2`. */
function nodeVersion(version: string): CheckResult {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [majorMin, minorMin] = nodeVersionMin
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return good(version)
  return bad(version, `install Node ${nodeVersionMin.join('.')} or later`)
}

function memory(): CheckResult {
  const detail = `${bytesText(totalmem())}, ${bytesText(freemem())} free`
  if (totalmem() >= memoryBytesMin) return good(detail)
  return warning(detail, `give the machine at least ${bytesText(memoryBytesMin)}`)
}

/** Checks the data folder and its existing subfolders, or the folder in which it will be created. */
function folders(context: Context): CheckResult {
  const home = resolve(context.homePath)
  const parts = [home, ...homeFolders.map((name) => join(home, name))].filter(existsSync)
  const places = parts.length > 0 ? parts : [nearest(home)]
  const closed = places.find((place) => !isWritable(place))
  if (closed !== undefined)
    return bad(`${closed} is not writable`, `run chown to give it to this user`)
  return good(parts.length > 0 ? home : `${home}, not created yet`)
}

function disk(context: Context): CheckResult {
  const place = nearest(resolve(context.homePath))
  const { bavail, bsize } = statfsSync(place)
  const free = bavail * bsize
  const detail = `${bytesText(free)} free at ${place}`
  const freeBytesMin = readIfValid(context)?.limits.freeDiskBytesMin
  if (freeBytesMin === undefined) return skipped(`the profile is not valid; ${detail}`)
  if (free >= freeBytesMin) return good(detail)
  return warning(
    `${detail}, less than limits.freeDiskBytesMin (${bytesText(freeBytesMin)}); no file is loaded`,
    'free some space, or name another data folder with --home',
  )
}

/** Pushed rows that were acknowledged, and complete uploads: without its section nothing claims them. */
function intake(profile: Profile, { homePath }: Context): CheckResult {
  if (profile.intake !== undefined) return good('the gateway submits what is sent to it')
  const left = (['pushed', 'uploads'] as const).flatMap((name) => {
    const folder = join(resolve(homePath), name)
    const found = existsSync(folder) ? readdirSync(folder) : []
    return found.filter((one) => name === 'pushed' || !one.endsWith('.part'))
  })
  if (left.length === 0) return skipped('the profile has no section intake')
  const detail = `${left.length} files of pushed rows and uploads are not loaded, such as ${left[0]}`
  return bad(printable(detail), 'set intake in the profile again, until they are loaded')
}

async function ports({ external }: Context): Promise<CheckResult> {
  const own = [
    ...(external.clickhouseUrl === undefined ? [8123] : []),
    ...(external.redisUrl === undefined ? [6379] : []),
  ]
  if (own.length === 0) return skipped('CLICKHOUSE_URL and REDIS_URL are set')
  const taken: number[] = []
  for (const port of own) if (!(await isPortFree(port))) taken.push(port)
  if (taken.length === 0) return good(`${own.join(' and ')} ${own.length > 1 ? 'are' : 'is'} free`)
  return good(`${taken.join(' and ')} in use; Tieline uses the next free port and reports it`)
}

/** What tieline up would fail of with this profile. */
async function start(profile: Profile, context: Context): Promise<CheckResult> {
  if (readRun({ path: resolve(context.homePath) })) return skipped('the stack is running')
  const faults = await preflight(profile, context)
  if (faults.length === 0) return good('secrets, certificates and ports of the profile are ready')
  const todo = new Set(faults.map(({ code }) => faultCodes[code].meaning))
  return bad(faults.map(({ message }) => printable(message)).join('\n'), [...todo].join(' '))
}

/** Reports the stack on the data folder; both states are good. */
function stack(context: Context): CheckResult {
  const home = resolve(context.homePath)
  const run = readRun({ path: home })
  if (run === undefined) return good('none is running on this data folder')
  return good(`pid ${run.pid} since ${run.startedAt}, ClickHouse ${run.clickhouse.url}`)
}

/** A clock before the build time of the program is wrong. */
function clock(): CheckResult {
  const builtAt = statSync(fileURLToPath(import.meta.url)).mtime
  const now = new Date()
  const detail = `${now.toISOString()}, system zone ${Intl.DateTimeFormat().resolvedOptions().timeZone}`
  if (now >= builtAt) return good(detail)
  return bad(
    `${detail}, earlier than the build of this program`,
    'set the clock, for example with NTP',
  )
}

function nearest(path: string): string {
  let place = path
  while (!existsSync(place)) place = dirname(place)
  return place
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
