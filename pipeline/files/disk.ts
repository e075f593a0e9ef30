import { statfs } from 'node:fs/promises'
import { Fault } from '../../schemas/fault.js'
import { attempt } from '../sources/disk.js'

/** Free bytes of the file system of a folder. */
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

/** Bytes written between two checks of the free disk: others write there, too. */
const lookBytes = 67_108_864

/**
 * Refuses the rest of a file, as it is written, as soon as it would leave less than the limit free.
 * Throws `DISK_FULL`.
 */
export function createDiskWatch(options: {
  readonly folder: string
  readonly name: string
  readonly freeDiskBytesMin: number
}): (bytesLeft: number) => Promise<void> {
  const { folder, name, freeDiskBytesMin } = options
  let nextLeft = Number.POSITIVE_INFINITY
  return async (bytes) => {
    if (bytes > nextLeft) return
    nextLeft = bytes - lookBytes
    await refuseFullDisk(folder, { name, bytes }, freeDiskBytesMin)
  }
}
