import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileOrder, skimFileName } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import { attempt, ifThere, readLocal, syncFolder, writeAll } from '../sources/disk.js'
import { type Arrive, pushSource } from './arrive.js'

interface Gathered {
  readonly folder: string
  readonly naming: Naming
  readonly gatherSeconds: number
  readonly arrive: Pick<Arrive, 'claim'>
  readonly onFailure: (error: unknown) => void
}

/** A file of pushed rows: complete, a part, or a copy of one that a dead process may have left. */
interface Pushed {
  readonly found: string
  /** The name of its sender on the disk, and that of the file. */
  readonly sender: string
  readonly name: string
  readonly kind: 'whole' | 'part' | 'copy'
}

async function listPushed(folder: string): Promise<readonly Pushed[]> {
  const names = await attempt(folder, () => readdir(folder))
  return names.flatMap((found) => {
    const [, sender, name, kind = 'whole'] =
      /^([0-9a-f]{16})-(\w+\.csv)(?:(?:\.[\w-]+)?\.(part|copy))?$/.exec(found) ?? []
    if (sender === undefined || name === undefined) return []
    return [{ found, sender, name, kind: kind as Pushed['kind'] }]
  })
}

/**
 * Claims an arrival for every gathered file without one. The later arrival counts, so they are claimed in
 * the order in which they were begun, and a file waits for one of its sender and feed that was begun
 * before it and is not complete. So a correction counts if it is pushed `gatherSeconds` later, whichever
 * gateway gets it. Those that are known to have one are not asked about again; returns them.
 */
export async function claimAll(
  { folder, naming, arrive }: Gathered,
  known: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const claimed = new Set<string>()
  const inOrder = (await listPushed(folder))
    .map((file) => ({ ...file, order: fileOrder(file.name, naming) }))
    .sort((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)))
  const gathering = new Set<string>()
  for (const { found, sender, name, kind } of inOrder) {
    const stream = `${sender} ${skimFileName(name, naming)?.feed}`
    if (kind === 'part') gathering.add(stream)
    if (kind !== 'whole' || gathering.has(stream)) continue
    const path = join(folder, found)
    const state = await attempt(path, () => ifThere(stat(path)))
    // A later file may have the same name, if the clock was set back.
    const key = `${found} ${state?.ino} ${state?.mtimeMs}`
    if (!known.has(key)) await arrive.claim(pushSource, { name, path })
    claimed.add(key)
  }
  return claimed
}

/**
 * The file of a dead process ends with its last complete row: a call whose row is truncated was not
 * answered. A live file grows or ends within `gatherSeconds`; one unmodified for twice as long is taken
 * over. It is renamed first, so that its process, if still alive, notices the loss.
 */
export async function finishParts({ folder, gatherSeconds, onFailure }: Gathered): Promise<void> {
  for (const { found, sender, name, kind } of await listPushed(folder)) {
    if (kind === 'whole') continue
    const part = join(folder, found)
    const state = await attempt(part, () => ifThere(stat(part)))
    const stillMs = Math.abs(Date.now() - (state?.mtimeMs ?? 0))
    if (state === undefined || stillMs < 2_000 * gatherSeconds) continue
    const whole = join(folder, `${sender}-${name}`)
    const own = `${whole}.${randomUUID()}.part`
    await attempt(part, async () => {
      if (kind === 'copy') return rm(part, { force: true })
      await rename(part, own)
      await endPart(own, whole)
    }).catch(onFailure)
  }
}

/**
 * Makes a file of the complete rows of a part, if there are any. The rows are copied: a process that was
 * held up may still write to the part.
 */
async function endPart(part: string, path: string): Promise<void> {
  let [bytes, wholeBytes, lines] = [0, 0, 0]
  for await (const piece of readLocal(part)) {
    const end = piece.lastIndexOf(10)
    if (end >= 0) wholeBytes = bytes + end + 1
    lines += piece.reduce((count, byte) => count + (byte === 10 ? 1 : 0), 0)
    bytes += piece.length
  }
  if (lines >= 2) await copyStart(part, wholeBytes, path)
  await rm(part, { force: true })
}

/**
 * The copy has a name of its own until it is complete: a dead process leaves a copy, never a file that is
 * cut. A file that is there has all rows that were answered, and may be an arrival. The name is durable
 * behind it, because the part is removed next.
 */
async function copyStart(from: string, bytes: number, path: string): Promise<void> {
  const copy = `${path}.${randomUUID()}.copy`
  const file = await open(copy, 'wx', 0o600)
  try {
    let at = 0
    for await (const piece of readLocal(from)) {
      const kept = piece.subarray(0, bytes - at)
      await writeAll(file, kept, at)
      at += kept.length
    }
    await file.sync()
    if ((await ifThere(stat(path))) === undefined) await rename(copy, path)
    else await rm(copy)
    await syncFolder(dirname(path))
  } catch (error) {
    await rm(copy, { force: true })
    throw error
  } finally {
    await file.close()
  }
}
