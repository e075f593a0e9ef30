import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { attempt } from '../sources/disk.js'

/**
 * An unlinked temporary file: deleted on close or when the process ends. Its folder is made if it is
 * missing, as that of a landing is while the first rows of its file are read.
 */
export async function openTempFile(folder: string): Promise<FileHandle> {
  const path = join(folder, `${randomUUID()}.tmp`)
  await attempt(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  const file = await attempt(folder, () => open(path, 'wx+', 0o600))
  await rm(path, { force: true })
  return file
}
