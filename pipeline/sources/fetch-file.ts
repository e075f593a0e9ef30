import { createHash, randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { createDiskWatch } from '../files/disk.js'
import type { Arrival } from '../ledger/ledger.js'
import { attempt, toFault, writeAll } from './disk.js'
import { type Place, type PlacedFile, refuseChanged } from './remote-files.js'

/** Bytes that a power cut may cost of a copy that is not complete. */
const syncBytes = 67_108_864
/** Bytes that are written at once, while the next of them come. */
const writeBytes = 1_048_576

/**
 * Copies a file from its place to `path`, which is there only when it is whole and on the disk. An
 * attempt that is cut off leaves a part behind, from which the next goes on if the file is still the
 * same: its name says of which file it is and how many of its bytes are on the disk. Two attempts at
 * once do not write into each other's parts. Throws `DISK_FULL` before less than the limit is free.
 */
export async function fetchFile(
  place: Place,
  arrival: Arrival,
  { path, freeDiskBytesMin }: { readonly path: string; readonly freeDiskBytesMin: number },
): Promise<void> {
  if (await isThere(path)) return
  const file = refuseChanged(await place.look(arrival.path), arrival)
  const part = await openPart(path, markOf(file))
  const { name } = arrival
  const watch = createDiskWatch({ folder: dirname(path), name, freeDiskBytesMin })
  try {
    for await (const bytes of bytesOf(place, file, part.bytes())) {
      await watch(file.bytes - part.bytes())
      await part.add(bytes)
      if (part.bytes() > file.bytes) break
    }
    refuseLength(part, file)
    const after = refuseChanged(await place.look(arrival.path), arrival)
    if (after.tag !== file.tag) refuseChanged(undefined, arrival)
  } catch (error) {
    await part.close()
    if (part.bytes() === 0) await rm(part.path(), { force: true })
    if (error instanceof Fault && error.code === 'SOURCE_CHANGED') await dropCopies(path)
    throw error
  }
  await part.finish()
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

/** What is left of a file; nothing is asked for behind its end. */
async function* bytesOf(place: Place, file: PlacedFile, offset: number): AsyncIterable<Buffer> {
  if (offset < file.bytes) yield* place.open(file, offset)
}

function refuseLength(part: Part, file: PlacedFile): void {
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
  /** Flushes all and gives the part the name of the file, no other in between. */
  finish(): Promise<void>
}

async function openPart(path: string, mark: string): Promise<Part> {
  const attemptId = randomUUID().slice(0, 8)
  const nameOf = (bytes: number) => `${path}.${mark}.${bytes}.${attemptId}.part`
  const found = await takePart(path, mark, nameOf)
  let flushed = found?.bytes ?? 0
  let [came, written] = [flushed, flushed]
  const file = await attempt(path, () => open(nameOf(flushed), found ? 'r+' : 'wx', 0o600))
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
  const end = (last: () => Promise<void>) =>
    attempt(path, async () => {
      try {
        await writeHeld()
        await writing
        await flushing
        await last()
      } finally {
        await file.close()
      }
    })
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
      end(async () => {
        if (written !== flushed) await flush(written)
      }),
    finish: () =>
      end(async () => {
        await file.datasync()
        await rename(nameOf(flushed), path)
      }),
  }
}

/** Takes over what an earlier attempt left, under a name of one's own; nothing where it has gone. */
async function takePart(path: string, mark: string, nameOf: (bytes: number) => string) {
  const found = await findPart(path, mark)
  if (found === undefined) return undefined
  try {
    await rename(found.path, nameOf(found.bytes))
    return found
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw toFault(path, error)
  }
}

/**
 * The part of this state of the file of which most is on the disk; parts of others are removed. One
 * of which nothing is may be another attempt's, which has just begun: it is left to that.
 */
async function findPart(path: string, mark: string) {
  const own = `${basename(path)}.`
  let found: { readonly path: string; readonly bytes: number } | undefined
  for (const name of await attempt(path, () => readdir(dirname(path)))) {
    if (!name.startsWith(own)) continue
    const part = join(dirname(path), name)
    const [, of, text] = /^([0-9a-f]{16})\.(\d+)\.\w+\.part$/.exec(name.slice(own.length)) ?? []
    const bytes = Number(text)
    if (of === mark && bytes > (found?.bytes ?? 0)) found = { path: part, bytes }
    else if (of !== mark) await rm(part, { force: true })
  }
  return found
}
