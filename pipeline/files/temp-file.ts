import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { attempt } from '../sources/disk.js'

/** An unlinked temporary file: deleted on close or when the process ends. */
export async function openTempFile(folder: string): Promise<FileHandle> {
  const path = join(folder, `${randomUUID()}.tmp`)
  const file = await attempt(folder, () => open(path, 'wx+', 0o600))
  await rm(path, { force: true })
  return file
}
