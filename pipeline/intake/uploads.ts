import { createHash, randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { parseFileName } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { Intake, Taken, Upload } from '../../schemas/settings/intake.js'
import { createDiskWatch } from '../files/disk.js'
import { attempt, ifThere, readLocal, syncFolder, writeAll } from '../sources/disk.js'
import type { Arrive } from './arrive.js'
import { fromUploaded, type Sent, uploadedAs } from './sender.js'

export interface UploadOptions {
  readonly folder: string
  readonly naming: Naming
  readonly limits: { readonly fileBytesMax: number; readonly freeDiskBytesMin: number }
  readonly arrive: Pick<Arrive, 'find' | 'claimUnless'>
  /** Why a sender may not send files of a company and feed; undefined if it may. */
  readonly findBound: (
    sender: string,
    file: { readonly companyCode: string; readonly feed: string },
  ) => string | undefined
  /** Whether the latest file of a name came from elsewhere: a sender replaces its own files only. */
  readonly isOfOthers: (upload: Sent) => Promise<boolean>
  /** Whether a file of that name arrived after a time. */
  readonly isReplaced: (name: string, since: Date) => Promise<boolean>
  readonly senders: readonly string[]
}

export interface Uploads {
  readonly take: Intake['take']
  /**
   * Claims complete uploads that have no arrival, because a process died or the store was away before it
   * claimed them. One that may not be loaded any more becomes a part again, which retention removes.
   */
  claimLeft(): Promise<void>
}

/**
 * Stores uploads under the hash of their bytes, so that an interrupted upload resumes and a repeated
 * one is recognized. The file is durable and complete and its hash verified before an arrival is
 * claimed.
 */
export function createUploads(options: UploadOptions): Uploads {
  const underWay = new Set<string>()
  const take: Intake['take'] = async (upload, bytes) => {
    const problem = findProblem(upload, options)
    if (problem !== undefined) return { kind: 'wrong', detail: problem }
    if (await options.isOfOthers(upload)) return foreign(upload)
    const path = join(options.folder, uploadedAs(upload))
    if (underWay.has(path)) return { kind: 'part', bytes: (await findParts(path))[0]?.bytes ?? 0 }
    underWay.add(path)
    try {
      return await takeOne(options, { upload, path }, bytes)
    } finally {
      underWay.delete(path)
    }
  }
  let known: ReadonlySet<string> = new Set()
  const claimLeft = async () => {
    const left = new Set<string>()
    for (const one of await listWhole(options.folder)) {
      if (underWay.has(one.path)) continue
      if (known.has(one.key) || (await claimOne(options, one))) left.add(one.key)
    }
    known = left
  }
  return { take, claimLeft }
}

interface Whole {
  readonly path: string
  readonly changedAt: Date
  /** The same for the same file, not for another one at its path. */
  readonly key: string
}

/** The complete uploads, the latest first: it replaces an earlier one of its name, whose arrival must not be later. */
async function listWhole(folder: string): Promise<readonly Whole[]> {
  const found: Whole[] = []
  for (const name of await attempt(folder, () => readdir(folder))) {
    const path = join(folder, name)
    const status = name.endsWith('.part')
      ? undefined
      : await attempt(path, () => ifThere(stat(path)))
    if (status === undefined) continue
    const { ino, mtimeMs, mtime: changedAt } = status
    found.push({ path, changedAt, key: `${ino} ${mtimeMs} ${path}` })
  }
  return found.sort((a, b) => b.changedAt.getTime() - a.changedAt.getTime())
}

/** Whether a complete upload has an arrival now. */
async function claimOne(
  { senders, arrive, isOfOthers, isReplaced }: UploadOptions,
  { path, changedAt }: Whole,
): Promise<boolean> {
  const sent = fromUploaded(basename(path), senders)
  if (sent === undefined) return false
  const { name, sender } = sent
  const isRefused = async () =>
    sender === undefined ||
    (await isOfOthers({ sender, name })) ||
    (await isReplaced(name, changedAt))
  // One that is gone by now was claimed and put away.
  const claimed = await ifThere(
    arrive.claimUnless({ name, path }, isRefused).then((arrival) => ({ arrival })),
  )
  if (claimed === undefined) return false
  if (claimed.arrival !== undefined) return true
  await attempt(path, () => rename(path, newPart(path)))
  return false
}

function newPart(path: string): string {
  return `${path}.${randomUUID().slice(0, 8)}.part`
}

function foreign({ name }: Upload): Taken {
  const detail = `${name} came from another sender or source; send it under another name`
  return { kind: 'wrong', detail }
}

interface Placed {
  readonly upload: Upload
  readonly path: string
}

async function takeOne(
  { folder, limits, arrive, isOfOthers }: UploadOptions,
  { upload, path }: Placed,
  bytes: AsyncIterable<Buffer>,
): Promise<Taken> {
  const known = await arrive.find(path)
  if (known !== undefined) return { kind: 'arrived', arrival: known }
  if ((await attempt(path, () => ifThere(stat(path)))) === undefined) {
    const { name } = upload
    const { freeDiskBytesMin } = limits
    const watch = createDiskWatch({ folder, name, freeDiskBytesMin })
    await watch(upload.bytes - (upload.from ?? 0))
    const taken = await fill({ upload, path }, watched(bytes, upload, watch))
    if (taken !== undefined) return taken
  }
  const arrival = await arrive.claimUnless({ name: upload.name, path }, () => isOfOthers(upload))
  if (arrival !== undefined) return { kind: 'arrived', arrival }
  await attempt(path, () => rm(path, { force: true }))
  return foreign(upload)
}

/** The same bytes, read only while there is room for the rest. */
async function* watched(
  bytes: AsyncIterable<Buffer>,
  upload: Upload,
  watch: (bytesLeft: number) => Promise<void>,
): AsyncGenerator<Buffer> {
  let left = upload.bytes - (upload.from ?? 0)
  for await (const piece of bytes) {
    await watch(left)
    yield piece
    left -= piece.length
  }
}

/** Adds the bytes to the part; undefined once the file is complete and verified. */
async function fill({ upload, path }: Placed, bytes: AsyncIterable<Buffer>) {
  const { from } = upload
  const [found = { path, bytes: 0 }] = await findParts(path)
  if (from === undefined || (from !== 0 && from !== found.bytes))
    return { kind: 'part', bytes: found.bytes } as const
  const part = newPart(path)
  const hash = createHash('sha256')
  let at = from
  if (from > 0) {
    await attempt(part, () => rename(found.path, part))
    for await (const piece of readLocal(part)) hash.update(piece)
  }
  const file = await attempt(part, () => open(part, from === 0 ? 'wx' : 'r+', 0o600))
  try {
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
  const detail = findDifference(upload, { bytes: at, hash: hash.digest('hex') })
  if (detail !== undefined) {
    await rm(part, { force: true })
    return { kind: 'wrong', detail } as const
  }
  await attempt(path, () => rename(part, path))
  await attempt(path, () => syncFolder(dirname(path)))
  for (const { path: other } of await findParts(path)) await rm(other, { force: true })
  return undefined
}

/** Bytes beyond the announced ones are hashed and not stored, so the hash alone proves nothing. */
function findDifference(
  upload: Upload,
  found: { readonly bytes: number; readonly hash: string },
): string | undefined {
  if (found.hash !== upload.hash) {
    return 'the bytes do not match Repr-Digest; send the complete file again'
  }
  if (found.bytes === upload.bytes) return undefined
  return `there are more than the ${upload.bytes} bytes that were announced; correct Content-Range and send the complete file again`
}

interface Part {
  readonly path: string
  readonly bytes: number
}

/** The complete file of a longer name, such as `.csv.gz` beside `.csv`, is not one. */
const partEnd = /^\.[0-9a-f]{8}\.part$/

/**
 * The parts of a file, the longest first. Each attempt writes to its own part, new or taken over by
 * renaming it, so that two processes never write to the same one.
 */
async function findParts(path: string): Promise<readonly Part[]> {
  const parts: Part[] = []
  for (const name of await attempt(path, () => readdir(dirname(path)))) {
    if (!name.startsWith(basename(path)) || !partEnd.test(name.slice(basename(path).length)))
      continue
    const part = join(dirname(path), name)
    const found = await attempt(part, () => ifThere(stat(part)))
    if (found !== undefined) parts.push({ path: part, bytes: found.size })
  }
  return parts.sort((a, b) => b.bytes - a.bytes)
}

/** The room for a name between hash, sender and the suffix of a part. */
const nameBytesMax = 150

function findProblem({ sender, name, bytes, from = 0 }: Upload, options: UploadOptions) {
  const { naming, limits } = options
  const nameBytes = Buffer.byteLength(name)
  try {
    const { companyCode, feed } = parseFileName(name, naming)
    const { companyCodes } = naming
    if (!companyCodes.includes(companyCode)) {
      return `${companyCode} is not in companyCodes (${companyCodes.join(', ')})`
    }
    const bound = options.findBound(sender, { companyCode, feed })
    if (bound !== undefined) return bound
  } catch (error) {
    if (error instanceof Fault) return error.detail
    throw error
  }
  if (nameBytes > nameBytesMax) {
    return `its name has ${nameBytes} bytes, the limit is ${nameBytesMax}; shorten it`
  }
  if (bytes > limits.fileBytesMax) {
    return `${bytes} bytes, limits.fileBytesMax is ${limits.fileBytesMax}; split the file`
  }
  return from > bytes ? `it has ${bytes} bytes and cannot resume from ${from}` : undefined
}
