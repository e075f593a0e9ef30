import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { attempt } from '../sources/disk.js'

/**
 * A file to write and read in a folder in which it no longer stands: its bytes are gone once it is
 * closed or the process ends, however that comes about.
 */
export async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, `${randomUUID()}.tmp`)
  const file = await attempt(folder, () => open(path, 'wx+', 0o600))
  await rm(path, { force: true })
  return file
}
