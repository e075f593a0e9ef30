import type { Stats } from 'node:fs'
import {
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { isUnfinished, rateSetOf } from '../../schemas/file-name.js'
import type { Arrival } from '../stores/ledger.js'
import type { Listed, Source } from './source.js'

export interface FolderOptions {
  readonly name: string
  readonly path: string
  readonly archive: string
  readonly quarantine: string
}

const readBytes = 1 << 20

/** With a number before it and an ending behind it such a name is still one to the file system. */
const nameBytesMax = 200

/**
 * A folder that senders write into. What has ended is moved to the archive or the quarantine. Links
 * are left alone like folders: a sender would have files read that are not his.
 */
export function createFolder(options: FolderOptions): Source {
  return {
    name: options.name,
    list: () => listFolder(options),
    read: (arrival) => readFile(arrival),
    settle: async (arrival, settlement) => {
      const isQuarantined = settlement.outcome === 'quarantined'
      const away = join(isQuarantined ? options.quarantine : options.archive, awayName(arrival))
      await moveUnchanged(arrival, away)
      if (isQuarantined) {
        const path = `${away}.receipt.json`
        await attempt(path, async () => {
          await mkdir(options.quarantine, { recursive: true, mode: 0o700 })
          await writeFile(`${path}.part`, settlement.receipt)
          await rename(`${path}.part`, path)
        })
      }
    },
  }
}

/** Files that a person named: they are read where they lie and left there. */
export function createHandOverSource(): Source {
  return {
    name: 'hand-over',
    list: async () => [],
    read: (arrival) => readFile(arrival),
    settle: async () => undefined,
  }
}

async function listFolder(options: FolderOptions): Promise<readonly Listed[]> {
  const names = await attempt(options.path, () => readdir(options.path))
  const present = new Set(names)
  const listed: Listed[] = []
  for (const name of names) {
    if (isUnfinished(name) || name.endsWith('.done')) continue
    const path = join(options.path, name)
    const found = await lstat(path).catch(() => undefined)
    if (found === undefined || !found.isFile()) continue
    listed.push({
      source: options.name,
      name,
      path,
      bytes: found.size,
      modifiedMs: Math.trunc(found.mtimeMs),
      ...announcementOf(name, present),
    })
  }
  return listed.sort((a, b) => a.modifiedMs - b.modifiedMs || (a.name < b.name ? -1 : 1))
}

function announcementOf(name: string, present: ReadonlySet<string>) {
  const set = rateSetOf(name)
  const setAnnounced = set !== undefined && present.has(set.done)
  return { announced: setAnnounced || present.has(`${name}.done`), setAnnounced }
}

/** One buffer for the whole file: a new one for each piece would keep the collector busy. */
async function* readFile(arrival: Arrival): AsyncIterable<Buffer> {
  await refuseChanged(arrival)
  const file = await attempt(arrival.path, () => open(arrival.path))
  try {
    const buffer = Buffer.allocUnsafeSlow(readBytes)
    for (;;) {
      const { bytesRead } = await attempt(arrival.path, () => file.read(buffer, 0, readBytes))
      if (bytesRead === 0) break
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
  await refuseChanged(arrival)
}

async function refuseChanged(arrival: Arrival): Promise<void> {
  const found = await attempt(arrival.path, () => statIfThere(arrival.path))
  if (found === undefined) {
    const folder = dirname(arrival.path)
    await attempt(folder, () => stat(folder))
    throw new Fault('SOURCE_CHANGED', `${arrival.name} is gone from ${folder}; send it again`)
  }
  if (found.size !== arrival.bytes || Math.trunc(found.mtimeMs) !== arrival.modifiedMs) {
    throw new Fault(
      'SOURCE_CHANGED',
      `${arrival.name} changed while it was read: ${arrival.bytes} bytes when listed, ${found.size} now`,
    )
  }
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Of a name that is too long only the start; the number tells it from all others. */
function awayName({ arrival, name }: Arrival): string {
  const start = Buffer.from(basename(name)).subarray(0, nameBytesMax).toString()
  return `${arrival}-${start.replace(/\uFFFD$/, '')}`
}

/** Moves the file only if it is still the one that arrived; gone already is as good as moved. */
async function moveUnchanged(arrival: Arrival, away: string): Promise<void> {
  const found = await stat(arrival.path).catch(() => undefined)
  if (found === undefined) return removeDone(arrival)
  if (found.size !== arrival.bytes || Math.trunc(found.mtimeMs) !== arrival.modifiedMs) return
  await attempt(away, async () => {
    await mkdir(join(away, '..'), { recursive: true, mode: 0o700 })
    await rename(arrival.path, away).catch(async (error) => {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
      await copyFile(arrival.path, `${away}.part`)
      await rename(`${away}.part`, away)
      await rm(arrival.path)
    })
    await removeDone(arrival)
  })
}

/** Takes away the sender's sign; a name that leaves no room for one had none. */
async function removeDone({ name, path }: Arrival): Promise<void> {
  const isTooLong = Buffer.byteLength(basename(path)) > nameBytesMax
  if (!isTooLong) await rm(`${path}.done`, { force: true })
  const set = rateSetOf(name)
  if (set !== undefined) await rm(join(dirname(path), set.done), { force: true })
}

/** Runs something on a file or folder; what the operating system refuses is a fault that names it. */
export async function attempt<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw toFault(path, error)
  }
}

/** What the operating system said, as a fault that names the path and the remedy. */
export function toFault(path: string, error: unknown): Fault {
  if (error instanceof Fault) return error
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
  if (code === 'EACCES' || code === 'EPERM') {
    return new Fault('PERMISSION', `${path}: access denied; give this user the right to it`, {
      cause: error,
    })
  }
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    return new Fault('DISK_FULL', `${path}: no space left; free some, loading goes on by itself`, {
      cause: error,
    })
  }
  const found = code === 'ENOENT' ? ' is not there' : `: ${code}`
  return new Fault('SOURCE_UNREACHABLE', `${path}${found}`, { cause: error })
}
