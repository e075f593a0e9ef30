import { constants, rmSync } from 'node:fs'
import { access, open, rename, stat } from 'node:fs/promises'
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
    if (code !== 'EEXIST') rmSync(part, { force: true })
    if (syscall === undefined || name === 'AbortError') throw error
    throw unwritable(out, error)
  }
}

const reasons: Readonly<Record<string, string>> = {
  EISDIR: 'it is not a file',
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'its folder is a file',
  EACCES: 'access denied',
  EPERM: 'access denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left',
}

function unwritable(out: string, cause: unknown): Fault {
  const path = resolve(out)
  const { code = String(cause) } = cause as NodeJS.ErrnoException
  const detail =
    code === 'EEXIST'
      ? `${path}.part exists; remove it unless another command is writing it`
      : `${path} cannot be written: ${reasons[code] ?? code}; name a file in a writable folder with --out`
  return new Fault('CONFIG', detail, { cause })
}
