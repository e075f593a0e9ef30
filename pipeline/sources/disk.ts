import { constants, type Stats } from 'node:fs'
import {
  copyFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'

const readBytes = 1 << 20

/** The file that a sender wrote, and no other: no link is followed, and a pipe holds up no thread. */
const asFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * The bytes of a local file, in one buffer: a new buffer for each read would cost garbage collection. With
 * `prove`, which judges what was opened, links are not followed.
 */
export async function* readLocal(
  path: string,
  prove?: (found: Stats) => void,
): AsyncIterable<Buffer> {
  const file = await attempt(path, () => open(path, prove && asFile))
  try {
    prove?.(await attempt(path, () => file.stat()))
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

/** Writes all bytes at a position; one call of the system may write fewer. */
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

/** Flushes a folder, so that the names of its files survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Moves a file of ours, which nobody replaces meanwhile; to another file system it is copied first. */
export async function moveFile(from: string, to: string): Promise<void> {
  if (await moveOrCopy(from, to)) return
  await attempt(from, () => rm(from))
}

/**
 * Moves a file durably; to another file system it is only copied. Returns whether it was moved: a copy takes long
 * enough for a sender to replace the file, so who removes it looks again first.
 */
export async function moveOrCopy(from: string, to: string): Promise<boolean> {
  await makeFolderOf(to)
  const isMoved = await attempt(to, () =>
    rename(from, to).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EXDEV') throw error
        return false
      },
    ),
  )
  if (!isMoved) await copyWhole(from, to)
  else await attempt(to, () => syncFile(to).then(() => syncFolder(dirname(to))))
  return isMoved
}

/**
 * Makes a file atomically: `write` writes it under a temporary name in the same folder, which is free
 * again if that fails.
 */
export function writeWhole(
  path: string,
  write: (part: string) => Promise<void>,
  part = `${path}.part`,
): Promise<void> {
  return attempt(path, async () => {
    try {
      await write(part)
      await rename(part, path)
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
  })
}

/**
 * Copies a file atomically into a folder that is made if it is missing. The copy is durable, because the
 * file that it was made of may be removed next.
 */
export async function copyWhole(from: string, to: string): Promise<void> {
  await makeFolderOf(to)
  await writeWhole(to, async (part) => {
    await copyFile(from, part)
    await syncFile(part)
  })
  await attempt(to, () => syncFolder(dirname(to)))
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

/** Writes a receipt beside an archived file. */
export async function putBeside(file: string, receipt: string): Promise<void> {
  const path = `${file}.receipt.json`
  await makeFolderOf(path)
  await writeWhole(path, (part) => writeFile(part, receipt))
}

export function makeFolderOf(path: string): Promise<unknown> {
  return attempt(path, () => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
}

/**
 * Writes a file atomically into a folder that others write into too. It is always a new file: an
 * existing file of that name may be a link that leads elsewhere.
 */
export function writeAmongOthers(
  path: string,
  content: Buffer | { readonly path: string },
): Promise<void> {
  return writeWhole(path, async (part) => {
    await rm(part, { force: true })
    if ('path' in content) await copyFile(content.path, part, constants.COPYFILE_EXCL)
    else await writeFile(part, content, { flag: 'wx' })
  })
}

/** The name of a file that is written to find out whether one can be; no source takes such a name. */
export const trialName = 'tieline-doctor.tmp'
export const trialContent = Buffer.from('written by tieline doctor; may be removed\n')

/** Writes a file into a folder and removes it. Throws `PERMISSION`, `DISK_FULL` or `SOURCE_UNREACHABLE`. */
export async function tryWriting(folder: string): Promise<void> {
  const path = join(folder, trialName)
  await writeAmongOthers(path, trialContent)
  await attempt(path, () => rm(path, { force: true }))
}

/** What is found of a file, such as its status; undefined if the file does not exist. */
export async function ifThere<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking
  } catch (error) {
    const cause = error instanceof Fault ? error.cause : error
    if ((cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return undefined
    throw error
  }
}

/** The names in a folder; none if it does not exist yet. */
export async function listNames(folder: string): Promise<readonly string[]> {
  return (await attempt(folder, () => ifThere(readdir(folder)))) ?? []
}

/** Runs an operation on a file or folder; its failure is a fault that names the path. */
export async function attempt<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw toFileFault(path, error)
  }
}

/** The error of the operating system as a fault with path and remedy. */
export function toFileFault(path: string, error: unknown): Fault {
  if (error instanceof Fault) return error
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
  const cause = { cause: error }
  if (code === 'EACCES' || code === 'EPERM') {
    return new Fault('PERMISSION', `${path}: access denied; grant this user access`, cause)
  }
  if (code === 'EROFS') {
    const detail = `${path}: the file system is read-only; mount it for writing`
    return new Fault('PERMISSION', detail, cause)
  }
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    const detail = `${path}: no space left; free some, loading resumes automatically`
    return new Fault('DISK_FULL', detail, cause)
  }
  const found = code === 'ENOENT' ? ' does not exist' : `: ${code}`
  return new Fault('SOURCE_UNREACHABLE', `${path}${found}`, cause)
}
