import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { Fault } from '../../schemas/fault.js'
import type { Credentials, StoreUser } from './http/auth.js'

/** A reader with a name and a password of its own: one file for each, so that changes need no lock. */
const readerSchema = z.object({
  /** Of the password, in hex. It is random and 192 bits long, so that a slow hash would add nothing. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  seesAudit: z.boolean(),
  addedAt: z.iso.datetime(),
})

export interface NamedReader {
  readonly name: string
  readonly seesAudit: boolean
  readonly addedAt: string
}

const namePattern = /^[a-z][a-z0-9_-]{0,31}$/
/** Users that are not readers of this kind. */
const namesTaken = new Set(['default', 'reader', 'tieline', 'admin', 'writer'])
const passwordBytes = 24
const suffix = '.json'

/** The folder of the readers in the data folder of an engine. */
export function readersFolder(dataPath: string): string {
  return join(dataPath, 'readers')
}

/** Throws `CONFIG` if no reader can be added under a name, or none of that name can be removed. */
export function refuseReader(folder: string, act: 'add' | 'remove', name: string): void {
  const isValid = namePattern.test(name)
  const isThere = isValid && existsSync(pathOf(folder, name))
  if (act === 'remove') {
    if (isThere) return
    throw new Fault('CONFIG', `the reader ${name} does not exist; see tieline reader list`)
  }
  if (!isValid || namesTaken.has(name)) {
    const rule = 'use up to 32 of a-z, 0-9, _ and -, beginning with a letter'
    throw new Fault('CONFIG', `a reader cannot have the name ${name}; ${rule}`)
  }
  if (isThere) throw alreadyThere(name)
}

function alreadyThere(name: string): Fault {
  const remedy = `remove it with tieline reader remove ${name}, then add it again`
  return new Fault('CONFIG', `the reader ${name} exists; for a new password ${remedy}`)
}

/**
 * Adds a reader and returns its password, of which only the hash is stored. Throws `CONFIG` for a name
 * that is invalid or taken.
 */
export function addReader(
  folder: string,
  { name, seesAudit }: Pick<NamedReader, 'name' | 'seesAudit'>,
): string {
  refuseReader(folder, 'add', name)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  giveToOwner(folder, dirname(folder))
  const password = randomBytes(passwordBytes).toString('hex')
  const addedAt = new Date().toISOString()
  const unfinished = join(folder, `.${name}.${process.pid}.part`)
  const stored: z.infer<typeof readerSchema> = { sha256: hashOf(password), seesAudit, addedAt }
  writeFileSync(unfinished, `${JSON.stringify(stored)}\n`, { mode: 0o600, flush: true })
  try {
    giveToOwner(unfinished, folder)
    linkSync(unfinished, pathOf(folder, name))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    throw alreadyThere(name)
  } finally {
    rmSync(unfinished, { force: true })
  }
  return password
}

/** What root writes must be readable by the service, to whom the data folder belongs. */
function giveToOwner(path: string, parent: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(parent)
  chownSync(path, uid, gid)
}

/** Removes a reader; its running statements end as usual. Throws `CONFIG` if there is none. */
export function removeReader(folder: string, name: string): void {
  refuseReader(folder, 'remove', name)
  rmSync(pathOf(folder, name))
}

/** All readers in the order of their names. Throws `CONFIG` for a file that is not one. */
export function listReaders(folder: string): readonly NamedReader[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((file) => !file.startsWith('.') && file.endsWith(suffix))
  return names.sort().map((file) => {
    const name = file.slice(0, -suffix.length)
    const stored = readReader(folder, name)
    if (stored !== undefined) return { name, seesAudit: stored.seesAudit, addedAt: stored.addedAt }
    const path = join(folder, file)
    throw new Fault(
      'CONFIG',
      `${path} is not a valid reader; remove the file and add the reader again`,
    )
  })
}

/** Finds a reader by its password. Reads its file each time, so that a change counts at once. */
export function findReader(folder: string, { user, password }: Credentials): StoreUser | undefined {
  const stored = namePattern.test(user) ? readReader(folder, user) : undefined
  if (stored === undefined) return undefined
  const [shown, known] = [hashOf(password), stored.sha256].map((hash) => Buffer.from(hash, 'hex'))
  if (!timingSafeEqual(shown as Buffer, known as Buffer)) return undefined
  return { role: 'reader', name: user, seesAudit: stored.seesAudit }
}

function readReader(folder: string, name: string): z.infer<typeof readerSchema> | undefined {
  try {
    return readerSchema.parse(JSON.parse(readFileSync(pathOf(folder, name), 'utf8')))
  } catch {
    return undefined
  }
}

function pathOf(folder: string, name: string): string {
  return join(folder, `${name}${suffix}`)
}

function hashOf(password: string): string {
  return createHash('sha256').update(password).digest('hex')
}
