import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import { copyFile, type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../../schemas/fault.js'

const readBytes = 1 << 20

/** The bytes of a file of this machine, in one buffer: a new one each would keep the collector busy. */
export async function* readLocal(path: string): AsyncIterable<Buffer> {
  const file = await attempt(path, () => open(path))
  try {
    const buffer = Buffer.allocUnsafeSlow(readBytes)
    for (;;) {
      const { bytesRead } = await attempt(path, () => file.read(buffer, 0, readBytes))
      if (bytesRead === 0) break
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

/** Writes all of some bytes at a position; the system may take fewer of them at once. */
export async function writeAll(
  file: FileHandle,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

/** Flushes a folder: a name that was given in it outlives a power cut from then on. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Moves a file, over the border of a file system too, where it is copied under another name first. */
export function moveFile(from: string, to: string): Promise<void> {
  return attempt(to, async () => {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    await rename(from, to).catch(async (error) => {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
      await copyFile(from, `${to}.part`)
      await rename(`${to}.part`, to)
      await rm(from)
    })
  })
}

/** Copies a file: under its name it is there as a whole or not at all. */
export function copyWhole(from: string, to: string): Promise<void> {
  return attempt(to, async () => {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    await copyFile(from, `${to}.part`)
    await rename(`${to}.part`, to)
  })
}

/** Writes a receipt beside a file that was put away, at once or not at all. */
export function putBeside(file: string, receipt: string): Promise<void> {
  const path = `${file}.receipt.json`
  return attempt(path, async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(`${path}.part`, receipt)
    await rename(`${path}.part`, path)
  })
}

/**
 * Writes a file into a folder that others write into too, at once or not at all: as a new file, for
 * what stands there under that name may be a link that leads elsewhere.
 */
export function writeAmongOthers(
  path: string,
  content: Buffer | { readonly path: string },
): Promise<void> {
  const part = `${path}.part`
  return attempt(path, async () => {
    await rm(part, { force: true })
    if ('path' in content) await copyFile(content.path, part, constants.COPYFILE_EXCL)
    else await writeFile(part, content, { flag: 'wx' })
    await rename(part, path)
  })
}

/** What a look at a file found; undefined where there is none. */
export async function ifThere(looking: Promise<Stats>): Promise<Stats | undefined> {
  try {
    return await looking
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
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
