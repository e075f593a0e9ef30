import { createHash, randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { createDiskWatch } from '../files/disk.js'
import type { Arrival } from '../ledger/ledger.js'
import { attempt, syncFolder, toFileFault, writeAll } from './disk.js'
import { type RemoteFile, type RemoteFiles, refuseChanged } from './remote-files.js'

/** Bytes of an incomplete copy that a power cut may lose. */
const syncBytes = 67_108_864
/** Bytes of one write, while the next are received. */
const writeBytes = 1_048_576

/**
 * Copies a remote file to `path`, which exists only once it is complete and flushed. An interrupted
 * attempt leaves a part from which the next resumes if the file is unchanged: the part's name states
 * the file and the bytes flushed. Concurrent attempts never write into each other's parts. Throws
 * `DISK_FULL` before less than the limit is free, and leaves no part then.
 */
export async function fetchFile(
  remote: RemoteFiles,
  arrival: Arrival,
  { path, freeDiskBytesMin }: { readonly path: string; readonly freeDiskBytesMin: number },
): Promise<void> {
  if (await isThere(path)) return
  const file = refuseChanged(await remote.look(arrival.path), arrival)
  const part = await openPart(path, markOf(file))
  const { name } = arrival
  const watch = createDiskWatch({ folder: dirname(path), name, freeDiskBytesMin })
  try {
    await fill(part, { remote, arrival, file, watch })
    await part.finish()
  } catch (error) {
    const code = error instanceof Fault ? error.code : undefined
    // Files that are fetched beside it need the space, and would otherwise wait for each other.
    if (code === 'DISK_FULL') await rm(part.path(), { force: true })
    if (code === 'SOURCE_CHANGED') await dropCopies(path)
    throw error
  }
}

interface Filling {
  readonly remote: RemoteFiles
  readonly arrival: Arrival
  readonly file: RemoteFile
  readonly watch: (bytesLeft: number) => Promise<void>
}

/** Adds what is missing; after a failure the part is closed. */
async function fill(part: Part, { remote, arrival, file, watch }: Filling): Promise<void> {
  try {
    for await (const bytes of bytesOf(remote, file, part.bytes())) {
      await watch(file.bytes - part.bytes())
      await part.add(bytes)
      if (part.bytes() > file.bytes) break
    }
    refuseLength(part, file)
    const after = refuseChanged(await remote.look(arrival.path), arrival)
    if (after.tag !== file.tag) refuseChanged(undefined, arrival)
  } catch (error) {
    await part.close()
    if (part.bytes() === 0) await rm(part.path(), { force: true })
    throw error
  }
}

/** Removes a copy and its parts. */
async function dropCopies(path: string): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    if (name !== basename(path) && !name.startsWith(`${basename(path)}.`)) continue
    await rm(join(dirname(path), name), { force: true })
  }
}

export async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

/** The rest of a file; no request is made at its end, unless it is said to be empty. */
async function* bytesOf(
  remote: RemoteFiles,
  file: RemoteFile,
  offset: number,
): AsyncIterable<Buffer> {
  if (offset < file.bytes || file.bytes === 0) yield* remote.open(file, offset)
}

function refuseLength(part: Part, file: RemoteFile): void {
  if (part.bytes() === file.bytes) return
  if (part.bytes() > file.bytes) {
    throw new Fault('SOURCE_CHANGED', `${file.name} grew while it was read; it will be read again`)
  }
  throw new Fault(
    'SOURCE_UNREACHABLE',
    `${file.name} ended after ${part.bytes()} of ${file.bytes} bytes; the transfer will resume`,
  )
}

/** Identifies one state of a file. */
export function markOf(file: Pick<RemoteFile, 'path' | 'bytes' | 'modifiedMs' | 'tag'>): string {
  const { path, bytes, modifiedMs, tag } = file
  const state = JSON.stringify([path, bytes, modifiedMs, tag ?? ''])
  return createHash('sha256').update(state).digest('hex').slice(0, 16)
}

interface Part {
  add(bytes: Buffer): Promise<void>
  bytes(): number
  path(): string
  /** Flushes what was added and records it in the name. */
  close(): Promise<void>
  /** Flushes all and renames the part to the file. */
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
        await syncFolder(dirname(path))
      }),
  }
}

/** Takes over the part of an earlier attempt by renaming it; undefined if it is gone. */
async function takePart(path: string, mark: string, nameOf: (bytes: number) => string) {
  const found = await findPart(path, mark)
  if (found === undefined) return undefined
  try {
    await rename(found.path, nameOf(found.bytes))
    return found
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw toFileFault(path, error)
  }
}

/**
 * The longest part of this state of the file; parts of other states are removed. An empty part is
 * left alone: another attempt may have just begun it.
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
