import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, normalize, relative, resolve } from 'node:path'
import { z } from 'zod'
import { attempt, ifThere, readLocal, syncFolder, writeAll } from '../../pipeline/sources/disk.js'
import { Fault } from '../../schemas/fault.js'
import { parseJson } from '../../schemas/json.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { followLinks, placeFile } from '../stack/home.js'
import { claimHome } from '../stack/run-state.js'

/** Its links are made by the engine, which makes them again. */
const storeFolder = 'clickhouse/store'

/** The parts of a data folder that a backup has; Redis, landing and logs are made again. */
const backedUp = [
  storeFolder,
  'clickhouse/readers',
  'archive',
  'quarantine',
  'outbox',
  'inbox',
  'backfill',
  'uploads',
  'pushed',
  'profile.path',
  'machine',
  placeFile,
] as const

/** The same with the folders of sources that lie in the data folder. */
export function partsOf(home: string, { sources }: Pick<Profile, 'sources'>): readonly string[] {
  const placed = sources.flatMap((source) => {
    if (source.kind !== 'folder') return []
    const path = resolve(home, source.path)
    // A link into the data folder leads to a part of it, and one out of it is a part itself.
    const places = [path, followLinks(path)].map((place) => relative(home, place))
    return places.filter(isWithin).slice(0, 1)
  })
  return [...new Set([...backedUp, ...placed])]
}

export const secretsFile = 'secrets.json'
const manifestFile = 'backup.json'

/** A manifest that was altered cannot lead out of the data folder. */
const isWithin = (path: string) =>
  normalize(path) === path && !isAbsolute(path) && path.split('/')[0] !== '..'

const manifestSchema = z.strictObject({
  v: z.literal(1),
  takenAt: z.iso.datetime(),
  /** Path, bytes and sha256 of each file. */
  files: z.array(z.tuple([z.string().refine(isWithin), z.int().nonnegative(), z.string()])),
})
export type BackupManifest = z.output<typeof manifestSchema>

/**
 * Fills a new folder, which has the name `<to>.part` until it is complete and does not exist if that
 * fails. Throws `CONFIG` if `to` has files, `ALREADY_RUNNING` while another process fills it.
 */
export async function fillNew<T>(to: string, fill: (part: string) => Promise<T>): Promise<T> {
  await refuseFull(to)
  const part = `${to}.part`
  await attempt(part, () => mkdir(part, { recursive: true, mode: 0o700 }))
  const claim = await claimHome({ path: part })
  try {
    for (const name of await attempt(part, () => readdir(part))) {
      await attempt(part, () => rm(join(part, name), { recursive: true, force: true }))
    }
    const filled = await fill(part)
    await syncFolders(part)
    await attempt(to, () => rename(part, to))
    await attempt(to, () => syncFolder(dirname(to)))
    return filled
  } catch (error) {
    await attempt(part, () => rm(part, { recursive: true, force: true }))
    throw error instanceof Fault && error.code === 'DISK_FULL' ? tooSmall(to, error) : error
  } finally {
    await claim.release()
  }
}

/** Flushes a folder and all folders in it, so that the names of their files are durable. */
async function syncFolders(path: string): Promise<void> {
  const entries = await attempt(path, () => readdir(path, { withFileTypes: true }))
  for (const one of entries) if (one.isDirectory()) await syncFolders(join(path, one.name))
  await attempt(path, () => syncFolder(path))
}

function tooSmall(to: string, cause: Fault): Fault {
  const detail = `no space left for ${to}, which was removed; free some or name another disk, then run the command again`
  return new Fault('DISK_FULL', detail, { cause })
}

export interface Copied extends BackupManifest {
  /** Links and special files, which are not copied: a link may lead out of the folder. */
  readonly others: readonly string[]
}

export interface Copying {
  readonly from: string
  readonly to: string
  /** Ends the copy at once, with its reason. */
  readonly ending: AbortSignal
}

/** Copies parts of a folder into a new one, flushed, and writes a manifest with their sha256 last. */
export function copyParts(
  { from, to, ending }: Copying,
  parts: readonly string[],
): Promise<Copied> {
  return fillNew(to, async (part) => {
    const files: BackupManifest['files'] = []
    const found = await listFiles(from, parts)
    for (const path of found.files) {
      const { bytes, sha256 } = await copyFlushed({ from, to: part, ending }, path)
      files.push([path, bytes, sha256])
    }
    const manifest = { v: 1, takenAt: new Date().toISOString(), files } as const
    const options = { mode: 0o600, flush: true }
    const path = join(part, manifestFile)
    await attempt(path, () => writeFile(path, JSON.stringify(manifest), options))
    return { ...manifest, others: found.others }
  })
}

/** Copies a backup into an empty folder and compares each file with the manifest. Throws `CONFIG`. */
export async function copyBack(copying: Copying): Promise<BackupManifest> {
  const { from } = copying
  const manifest = await readManifest(from)
  for (const [path, , sha256] of manifest.files) {
    const copied = await ifThere(copyFlushed(copying, path))
    if (copied === undefined) {
      const detail = `${join(from, path)} is missing in the backup; use another backup`
      throw new Fault('CONFIG', detail)
    }
    if (copied.sha256 === sha256) continue
    const detail = `${join(from, path)} was altered after the backup was taken: its sha256 differs`
    throw new Fault('CONFIG', `${detail}; use another backup`)
  }
  return manifest
}

async function readManifest(folder: string): Promise<BackupManifest> {
  const path = join(folder, manifestFile)
  const text = await readFile(path, 'utf8').catch(() => '')
  const parsed = manifestSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new Fault('CONFIG', `${path} is not the manifest of a complete backup; name another folder`)
}

/** Throws `CONFIG` if a folder has files: nothing is overwritten. */
async function refuseFull(folder: string): Promise<void> {
  const found = await attempt(folder, () => ifThere(stat(folder)))
  if (found === undefined) return
  const names = found.isDirectory() ? await attempt(folder, () => readdir(folder)) : [folder]
  if (names.length > 0) throw new Fault('CONFIG', `${folder} is not empty; name a new folder`)
}

async function listFiles(folder: string, parts: readonly string[]) {
  const files: string[] = []
  const others: string[] = []
  for (const part of parts) {
    const path = join(folder, part)
    const found = await attempt(path, () => ifThere(stat(path)))
    if (found?.isFile()) files.push(part)
    if (!found?.isDirectory()) continue
    const entries = await attempt(path, () =>
      readdir(path, { recursive: true, withFileTypes: true }),
    )
    for (const one of entries) {
      const own = relative(folder, join(one.parentPath, one.name))
      if (one.isFile()) files.push(own)
      else if (!one.isDirectory() && part !== storeFolder) others.push(own)
    }
  }
  // The folder of a source may lie in another part.
  const sorted = (paths: readonly string[]) => [...new Set(paths)].sort()
  return { files: sorted(files), others: sorted(others) }
}

/** The copy has the time of the original, by which files are recognized, to the millisecond. */
async function copyFlushed(copying: Copying, path: string) {
  const { ending } = copying
  const [from, to] = [join(copying.from, path), join(copying.to, path)]
  ending.throwIfAborted()
  const { mtimeMs } = await attempt(from, () => stat(from))
  // The middle of the millisecond, because the system rounds down.
  const time = (Math.trunc(mtimeMs) + 0.5) / 1_000
  const hash = createHash('sha256')
  let bytes = 0
  await attempt(to, () => mkdir(dirname(to), { recursive: true, mode: 0o700 }))
  const file = await attempt(to, () => open(to, 'wx', 0o600))
  try {
    for await (const piece of readLocal(from)) {
      ending.throwIfAborted()
      hash.update(piece)
      await attempt(to, () => writeAll(file, piece, bytes))
      bytes += piece.length
    }
    await attempt(to, () => file.utimes(time, time))
    await attempt(to, () => file.sync())
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}
