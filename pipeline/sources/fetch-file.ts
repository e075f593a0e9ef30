import { createHash } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import type { Arrival } from '../stores/ledger.js'
import { attempt, writeAll } from './disk.js'
import { type Place, type PlacedFile, refuseChanged } from './place.js'

/** Bytes that a power cut may cost of a copy that is not complete. */
const syncBytes = 67_108_864
/** Bytes that are written at once, while the next of them come. */
const writeBytes = 1_048_576

/**
 * Copies a file from its place to `path`, which is there only when it is whole and on the disk. An
 * attempt that is cut off leaves a part behind, from which the next goes on if the file is still the
 * same: its name says of which file it is and how many of its bytes are on the disk.
 */
export async function fetchFile(place: Place, arrival: Arrival, path: string): Promise<void> {
  if (await isThere(path)) return
  const file = refuseChanged(await place.look(arrival.path), arrival)
  const part = await openPart(path, markOf(file))
  try {
    await fill(part, place, file)
    const after = refuseChanged(await place.look(arrival.path), arrival)
    if (after.tag !== file.tag) refuseChanged(undefined, arrival)
  } catch (error) {
    await part.close()
    if (error instanceof Fault && error.code === 'SOURCE_CHANGED') await dropCopies(path)
    throw error
  }
  await part.close()
  await attempt(path, () => rename(part.path(), path))
}

/** Removes a copy and what there is of parts of it. */
export async function dropCopies(path: string): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    if (name !== basename(path) && !name.startsWith(`${basename(path)}.`)) continue
    await rm(join(dirname(path), name), { force: true })
  }
}

export async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

async function fill(part: Part, place: Place, file: PlacedFile): Promise<void> {
  if (part.bytes() < file.bytes) {
    for await (const bytes of place.open(file, part.bytes())) {
      await part.add(bytes)
      if (part.bytes() > file.bytes) break
    }
  }
  if (part.bytes() === file.bytes) return
  if (part.bytes() > file.bytes) {
    throw new Fault('SOURCE_CHANGED', `${file.name} grew while it was read; it is read again`)
  }
  throw new Fault(
    'SOURCE_UNREACHABLE',
    `${file.name} ended after ${part.bytes()} of ${file.bytes} bytes; it is read on`,
  )
}

/** Tells the state of a file from any other. */
function markOf({ path, bytes, modifiedMs, tag }: PlacedFile): string {
  const state = JSON.stringify([path, bytes, modifiedMs, tag ?? ''])
  return createHash('sha256').update(state).digest('hex').slice(0, 16)
}

interface Part {
  add(bytes: Buffer): Promise<void>
  bytes(): number
  path(): string
  /** Flushes what was added and says so in the name. */
  close(): Promise<void>
}

async function openPart(path: string, mark: string): Promise<Part> {
  const nameOf = (bytes: number) => `${path}.${mark}.${bytes}.part`
  let flushed = await findPart(path, mark)
  let [came, written] = [flushed, flushed]
  const file = await attempt(path, () => open(nameOf(flushed), flushed === 0 ? 'w' : 'r+', 0o600))
  await attempt(path, () => file.truncate(flushed))
  let [filling, spare] = [Buffer.allocUnsafeSlow(writeBytes), Buffer.allocUnsafeSlow(writeBytes)]
  let held = 0
  let writing: Promise<void> | undefined
  let flushing: Promise<void> | undefined
  const flush = async (bytes: number) => {
    await file.datasync()
    await rename(nameOf(flushed), nameOf(bytes))
    flushed = bytes
    flushing = undefined
  }
  const write = async (bytes: Buffer) => {
    await writeAll(file, bytes, written)
    written += bytes.length
    if (written - flushed < syncBytes || flushing !== undefined) return
    flushing = flush(written)
    flushing.catch(() => undefined)
  }
  const writeHeld = async () => {
    await writing
    writing = write(filling.subarray(0, held))
    writing.catch(() => undefined)
    ;[filling, spare] = [spare, filling]
    held = 0
  }
  return {
    add: (bytes) =>
      attempt(path, async () => {
        for (let taken = 0; taken < bytes.length; ) {
          const count = bytes.copy(filling, held, taken)
          taken += count
          held += count
          came += count
          if (held === writeBytes) await writeHeld()
        }
      }),
    bytes: () => came,
    path: () => nameOf(flushed),
    close: () =>
      attempt(path, async () => {
        try {
          await writeHeld()
          await writing
          await flushing
          if (written !== flushed) await flush(written)
        } finally {
          await file.close()
        }
      }),
  }
}

/** How much there is of a part of this state of the file; parts of others are removed. */
async function findPart(path: string, mark: string): Promise<number> {
  const own = `${basename(path)}.`
  let found = 0
  for (const name of await attempt(path, () => readdir(dirname(path)))) {
    if (!name.startsWith(own)) continue
    const [, of, bytes] = /^([0-9a-f]{16})\.(\d+)\.part$/.exec(name.slice(own.length)) ?? []
    if (of === mark && Number(bytes) > found) found = Number(bytes)
    else if (of !== mark) await rm(join(dirname(path), name), { force: true })
  }
  return found
}
