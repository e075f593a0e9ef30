import { statfs } from 'node:fs/promises'
import { Fault } from '../schemas/fault.js'
import { attempt } from './sources/disk.js'

/** Bytes that are free where a folder lies. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await attempt(folder, () => statfs(folder))
  return bavail * bsize
}

/** Refuses a file that would leave less than the limit free. Throws `DISK_FULL`. */
export async function refuseFullDisk(
  folder: string,
  file: { readonly name: string; readonly bytes: number },
  freeDiskBytesMin: number,
): Promise<void> {
  const free = await freeBytes(folder)
  if (free - file.bytes >= freeDiskBytesMin) return
  throw new Fault(
    'DISK_FULL',
    `${folder} has ${free} bytes free; ${file.name} has ${file.bytes} and limits.freeDiskBytesMin is ${freeDiskBytesMin}`,
  )
}
