import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { z } from 'zod'
import { attempt, ifThere, readLocal, syncFolder, writeAll } from '../../pipeline/sources/disk.js'
import { Fault } from '../../schemas/fault.js'
import { parseJson } from '../../schemas/json.js'

/** The parts of a data folder that a backup has; Redis, landing and logs are made again. */
export const backedUp = [
  'clickhouse/store',
  'archive',
  'quarantine',
  'outbox',
  'inbox',
  'backfill',
  'uploads',
  'pushed',
  'profile.path',
] as const

export const secretsFile = 'secrets.json'
const manifestFile = 'backup.json'

const manifestSchema = z.strictObject({
  v: z.literal(1),
  takenAt: z.iso.datetime(),
  /** Path, bytes and sha256 of each file. */
  files: z.array(z.tuple([z.string(), z.int().nonnegative(), z.string()])),
})
export type BackupManifest = z.output<typeof manifestSchema>

/**
 * Copies parts of a folder into a new one, flushed, and writes a manifest with the sha256 of each file
 * last. Until then the copy is named `<to>.part`. Throws `CONFIG` if `to` has files.
 */
export async function copyParts(
  from: string,
  to: string,
  parts: readonly string[],
): Promise<BackupManifest> {
  await refuseFull(to)
  const part = `${to}.part`
  await attempt(part, () => rm(part, { recursive: true, force: true }))
  const files: BackupManifest['files'] = []
  for (const path of await listFiles(from, parts)) {
    const { bytes, sha256 } = await copyFlushed(join(from, path), join(part, path))
    files.push([path, bytes, sha256])
  }
  const manifest = { v: 1, takenAt: new Date().toISOString(), files } as const
  await attempt(part, async () => {
    await mkdir(part, { recursive: true, mode: 0o700 })
    await writeFile(join(part, manifestFile), JSON.stringify(manifest), {
      mode: 0o600,
      flush: true,
    })
    await syncFolder(part)
    await rename(part, to)
  })
  return manifest
}

/** Copies a backup into a new folder and compares each file with the manifest. Throws `CONFIG`. */
export async function copyBack(from: string, to: string): Promise<BackupManifest> {
  const manifest = await readManifest(from)
  await attempt(to, () => rm(to, { recursive: true, force: true }))
  for (const [path, , sha256] of manifest.files) {
    const copied = await copyFlushed(join(from, path), join(to, path))
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
export async function refuseFull(folder: string): Promise<void> {
  const found = await attempt(folder, () => ifThere(stat(folder)))
  if (found === undefined) return
  const names = found.isDirectory() ? await attempt(folder, () => readdir(folder)) : [folder]
  if (names.length > 0) throw new Fault('CONFIG', `${folder} is not empty; name a new folder`)
}

async function listFiles(folder: string, parts: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const part of parts) {
    const path = join(folder, part)
    const found = await attempt(path, () => ifThere(stat(path)))
    if (found?.isFile()) files.push(part)
    if (!found?.isDirectory()) continue
    const entries = await attempt(path, () =>
      readdir(path, { recursive: true, withFileTypes: true }),
    )
    const own = entries.filter((one) => one.isFile())
    files.push(...own.map((one) => relative(folder, join(one.parentPath, one.name))))
  }
  return files.sort()
}

async function copyFlushed(from: string, to: string) {
  const hash = createHash('sha256')
  let bytes = 0
  await attempt(to, () => mkdir(dirname(to), { recursive: true, mode: 0o700 }))
  const file = await attempt(to, () => open(to, 'wx', 0o600))
  try {
    for await (const piece of readLocal(from)) {
      hash.update(piece)
      await attempt(to, () => writeAll(file, piece, bytes))
      bytes += piece.length
    }
    await attempt(to, () => file.sync())
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}
