import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from '../commands/context.js'
import { bytesText } from '../commands/output/table.js'
import { homeFolders } from '../stack/home.js'
import { isPortFree } from '../stack/port.js'
import { readRun } from '../stack/run-state.js'
import { bad, type Check, type Finding, good, warning } from './check.js'

const nodeVersionMin = [20, 19] as const
const diskBytesMin = 2e9
const memoryBytesMin = 2e9

/** Checks of what the machine itself offers. */
export const machineChecks: readonly Check[] = [
  { name: 'Node', look: async () => nodeVersion(process.versions.node) },
  { name: 'memory', look: async () => memory() },
  { name: 'data folder', look: async (context) => folders(context) },
  { name: 'disk', look: async (context) => disk(context) },
  { name: 'ports', look: ports },
  { name: 'stack', look: async (context) => stack(context) },
  { name: 'clock', look: async () => clock() },
]

/** Judges a Node version such as `20.20.2`. */
export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [majorMin, minorMin] = nodeVersionMin
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return good(version)
  return bad(version, `install Node ${nodeVersionMin.join('.')} or later`)
}

function memory(): Finding {
  const detail = `${bytesText(totalmem())}, ${bytesText(freemem())} free`
  if (totalmem() >= memoryBytesMin) return good(detail)
  return warning(detail, `give the machine at least ${bytesText(memoryBytesMin)}`)
}

/** The folder and its parts as far as they are there; else the folder that it will be made in. */
function folders(context: Context): Finding {
  const home = resolve(context.homePath)
  const parts = [home, ...homeFolders.map((name) => join(home, name))].filter(existsSync)
  const places = parts.length > 0 ? parts : [nearest(home)]
  const closed = places.find((place) => !isWritable(place))
  if (closed !== undefined) return bad(`${closed} may not be written`, `chown it to this user`)
  return good(parts.length > 0 ? home : `${home}, not made yet`)
}

function disk(context: Context): Finding {
  const place = nearest(resolve(context.homePath))
  const { bavail, bsize } = statfsSync(place)
  const free = bavail * bsize
  const detail = `${bytesText(free)} free at ${place}`
  if (free >= diskBytesMin) return good(detail)
  return warning(detail, 'free some space, or choose another data folder with --home')
}

async function ports(): Promise<Finding> {
  const taken: number[] = []
  for (const port of [8123, 6379]) if (!(await isPortFree(port))) taken.push(port)
  if (taken.length === 0) return good('8123 and 6379 are free')
  return good(`${taken.join(' and ')} in use; a start takes the next free one and says so`)
}

/** What runs on the data folder; both are well. */
function stack(context: Context): Finding {
  const home = resolve(context.homePath)
  const run = readRun({ path: home })
  if (run === undefined) return good('none runs on this data folder')
  return good(`pid ${run.pid} since ${run.startedAt}, ClickHouse ${run.clickhouse.url}`)
}

/** A clock that stands before the program was built is wrong, whatever the time is. */
function clock(): Finding {
  const builtAt = statSync(fileURLToPath(import.meta.url)).mtime
  const now = new Date()
  const detail = `${now.toISOString()}, system zone ${Intl.DateTimeFormat().resolvedOptions().timeZone}`
  if (now >= builtAt) return good(detail)
  return bad(`${detail}, before this program was built`, 'set the clock, for example with NTP')
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
