import { constants, rmSync } from 'node:fs'
import { access, mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ifThere } from '../../../pipeline/sources/disk.js'
import { Fault } from '../../../schemas/fault.js'

/** Usage and bills are personal: nobody but its owner may read the file. */
const ownerOnly = 0o600

/** Fails before anything is started for a file that could not be written. Throws `CONFIG`. */
export async function expectWritable(out: string): Promise<void> {
  try {
    await access(dirname(resolve(out)), constants.W_OK)
    const found = await ifThere(stat(out))
    if (found === undefined || found.isFile()) return
  } catch (error) {
    throw unwritable(out, error)
  }
  throw unwritable(out, { code: 'EISDIR' })
}

/**
 * Writes a text to a file that appears when it is complete; replaces an older file. Throws `CONFIG` if it
 * cannot be written; failures of the text and the abort of the signal pass through.
 */
export async function writeOut(
  out: string,
  text: Iterable<string> | AsyncIterable<string>,
  signal?: AbortSignal,
): Promise<void> {
  const part = `${out}.part`
  try {
    // Opened here: a stream that opens its own file may create it after the removal below.
    const file = (await open(part, 'wx', ownerOnly)).createWriteStream({ flush: true })
    await pipeline(Readable.from(text), file, { ...(signal && { signal }) })
    await rename(part, out)
  } catch (error) {
    const { code, name, syscall } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw partExists(part, error)
    rmSync(part, { force: true })
    if (syscall === undefined || name === 'AbortError') throw error
    throw unwritable(out, error)
  }
}

/**
 * Writes files into a folder, which is made if it is missing. `undo` removes them if that fails. Throws
 * `CONFIG` if they cannot be written.
 */
export async function writeInto(
  folder: string,
  write: () => Promise<void>,
  undo: () => Promise<void>,
): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await write()
  } catch (error) {
    await undo()
    throw (error as NodeJS.ErrnoException).syscall === undefined
      ? error
      : unwritable(folder, error, 'free some or name another folder, then run the command again')
  }
}

const reasons: Readonly<Record<string, string>> = {
  EEXIST: 'it is not a folder',
  EISDIR: 'it is not a file',
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'its folder is a file',
  EACCES: 'access denied',
  EPERM: 'access denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left',
  EDQUOT: 'no space left',
}

const nameFile = 'name a file in a writable folder with --out'

function unwritable(out: string, cause: unknown, remedy = nameFile): Fault {
  const path = resolve(out)
  const { code = String(cause) } = cause as NodeJS.ErrnoException
  return new Fault('CONFIG', `${path} cannot be written: ${reasonOf(code)}; ${remedy}`, { cause })
}

function partExists(part: string, cause: unknown): Fault {
  const remedy = 'remove it unless another command is writing it'
  return new Fault('CONFIG', `${resolve(part)} exists; ${remedy}`, { cause })
}

/** Why something cannot be written, from the code of the operating system. */
export function reasonOf(code: string): string {
  return reasons[code] ?? code
}
