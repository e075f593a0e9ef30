import { createHash } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { parseFileName } from '../../schemas/file-name.js'
import type { Intake, Taken, Upload } from '../../schemas/intake.js'
import type { Naming } from '../../schemas/name-pattern.js'
import { refuseFullDisk } from '../free-disk.js'
import { attempt, ifThere, readLocal, writeAll } from '../sources/disk.js'
import { type Arrive, uploadSource } from './arrive.js'

export interface UploadOptions {
  readonly folder: string
  readonly naming: Naming
  readonly limits: { readonly fileBytesMax: number; readonly freeDiskBytesMin: number }
  readonly arrive: Arrive
}

/**
 * Takes files in under the hash of their bytes, so that an upload that was cut off goes on where it
 * was and one that is repeated is the same: the file is durable and whole, its hash proved, before an
 * arrival is claimed for it.
 */
export function createUploads(options: UploadOptions): Intake['take'] {
  const underWay = new Set<string>()
  return async (upload, bytes) => {
    const problem = findProblem(upload, options)
    if (problem !== undefined) return { kind: 'wrong', detail: problem }
    const path = join(options.folder, `${upload.hash}-${upload.name}`)
    if (underWay.has(path)) return { kind: 'part', bytes: await sizeOf(`${path}.part`) }
    underWay.add(path)
    try {
      return await takeOne(options, { upload, path }, bytes)
    } finally {
      underWay.delete(path)
    }
  }
}

interface Placed {
  readonly upload: Upload
  readonly path: string
}

async function takeOne(
  { folder, limits, arrive }: UploadOptions,
  { upload, path }: Placed,
  bytes: AsyncIterable<Buffer>,
): Promise<Taken> {
  const known = await arrive.find(path)
  if (known !== undefined) return { kind: 'arrived', arrival: known }
  if ((await attempt(path, () => ifThere(stat(path)))) === undefined) {
    const rest = upload.bytes - (upload.from ?? 0)
    await refuseFullDisk(folder, { name: upload.name, bytes: rest }, limits.freeDiskBytesMin)
    const taken = await fill({ upload, path }, bytes)
    if (taken !== undefined) return taken
  }
  return { kind: 'arrived', arrival: await arrive.claim(uploadSource, { name: upload.name, path }) }
}

/** Adds what was sent to the part; undefined once the file is whole and proved. */
async function fill({ upload, path }: Placed, bytes: AsyncIterable<Buffer>) {
  const part = `${path}.part`
  const { from } = upload
  const had = await sizeOf(part)
  if (from === undefined || (from !== 0 && from !== had))
    return { kind: 'part', bytes: had } as const
  const hash = createHash('sha256')
  if (from > 0) for await (const piece of readLocal(part)) hash.update(piece)
  const file = await attempt(part, () => open(part, from === 0 ? 'w' : 'r+', 0o600))
  try {
    let at = from
    for await (const piece of bytes) {
      if (at + piece.length <= upload.bytes) await attempt(part, () => writeAll(file, piece, at))
      hash.update(piece)
      at += piece.length
      if (at > upload.bytes) break
    }
    await attempt(part, () => file.sync())
    if (at < upload.bytes) return { kind: 'part', bytes: at } as const
  } finally {
    await file.close()
  }
  if (hash.digest('hex') !== upload.hash) {
    await rm(part, { force: true })
    const detail = 'the bytes are not those of Repr-Digest; send the whole file again'
    return { kind: 'wrong', detail } as const
  }
  await attempt(path, () => rename(part, path))
  return undefined
}

async function sizeOf(path: string): Promise<number> {
  return (await attempt(path, () => ifThere(stat(path))))?.size ?? 0
}

function findProblem({ name, bytes, from = 0 }: Upload, options: UploadOptions) {
  const { naming, limits } = options
  try {
    const { companyCode } = parseFileName(name, naming)
    const { companyCodes } = naming
    if (!companyCodes.includes(companyCode)) {
      return `${companyCode} is not in companyCodes (${companyCodes.join(', ')})`
    }
  } catch (error) {
    if (error instanceof Fault) return error.detail
    throw error
  }
  if (bytes > limits.fileBytesMax) {
    return `${bytes} bytes, limits.fileBytesMax is ${limits.fileBytesMax}; split the file`
  }
  return from > bytes ? `it has ${bytes} bytes and cannot go on from ${from}` : undefined
}
