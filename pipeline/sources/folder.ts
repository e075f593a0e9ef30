import type { Stats } from 'node:fs'
import { lstat, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { keptName } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { SettingsOf } from '../../schemas/settings/source.js'
import { unlessStuck } from '../deadline.js'
import type { Arrival } from '../ledger/ledger.js'
import { applyAfterLoad, type WritableFiles } from './after-load.js'
import {
  attempt,
  copyWhole,
  ifThere,
  moveOrCopy,
  putBeside,
  readLocal,
  tryWriting,
  writeAmongOthers,
} from './disk.js'
import {
  describeOthers,
  isPlain,
  isSameFile,
  otherKindOf,
  type RemoteFile,
  refuseChanged,
  toListed,
} from './remote-files.js'
import type { Source } from './source.js'

export interface FolderOptions {
  readonly settings: SettingsOf<'folder'>
  readonly archive: string
  readonly quarantine: string
  readonly naming: Naming
}

/** A mount that hangs must not keep the other sources from being polled for good. */
const listMsMax = 600_000

/**
 * A local folder that senders write into. Files are read in place; after load they are moved to the
 * archive or the quarantine, or copied there if the folder keeps them or is on another file system. Links are reported like folders:
 * through a link a sender could have any file of this machine read.
 */
export function createFolder(options: FolderOptions): Source {
  const { settings, archive, quarantine } = options
  const files = writableFolder(settings)
  const listed = unlessStuck(
    () => listFolder(settings.path),
    listMsMax,
    () => {
      const detail = `${settings.path} was not listed within ${listMsMax / 60_000} minutes; see whether its mount hangs`
      return new Fault('SOURCE_UNREACHABLE', detail)
    },
  )
  let others = ''
  return {
    name: settings.name,
    keeps: settings.ended === 'mark' || settings.ended === 'leave',
    list: async () => {
      const entries = await listed()
      others = describeOthers(entries, options)
      return toListed(options, entries)
    },
    others: () => others,
    read: (arrival) =>
      readUnchanged(arrival, look, (found) => {
        refuseChanged(ifFile(arrival.path, found), arrival)
      }),
    settle: async (arrival, settlement) => {
      const as = keptName(arrival.arrival, arrival.name)
      const isBad = settlement.outcome === 'quarantined'
      const away = join(isBad ? quarantine : archive, as)
      if (isSameFile(await look(arrival.path), arrival)) {
        if (settings.ended === 'take') await moveOrCopy(arrival.path, away)
        else await copyWhole(arrival.path, away)
      }
      if (isBad) await putBeside(away, settlement.receipt)
      await applyAfterLoad(files, { arrival, settlement, as }, options)
    },
    tryWriting: () => tryWriting(settings.path),
    close: async () => undefined,
  }
}

/** The source of files that a person names. */
export const submitted = 'submit'

/** Submitted files, links too: they are read in place and stay there. */
export function createSubmitSource(): Source {
  return {
    name: submitted,
    keeps: true,
    list: async () => [],
    read: (arrival) => readUnchanged(arrival, lookThrough),
    settle: async () => undefined,
    close: async () => undefined,
  }
}

function writableFolder({ path: folder, endedFolder }: SettingsOf<'folder'>): WritableFiles {
  return {
    look,
    write: (name, content) => writeAmongOthers(join(folder, name), content),
    move: async (file, name) => {
      const isMoved = await moveOrCopy(file.path, join(folder, endedFolder, name))
      if (!isMoved && isSameFile(await look(file.path), file)) await remove(file.path)
    },
    remove,
  }
}

function remove(path: string): Promise<void> {
  return attempt(path, () => rm(path, { force: true }))
}

async function listFolder(folder: string): Promise<readonly RemoteFile[]> {
  const files: RemoteFile[] = []
  for (const name of await attempt(folder, () => readdir(folder))) {
    const file = await lookAt(join(folder, name)).catch(() => undefined)
    if (file !== undefined) files.push(file)
    // A name that is not UTF-8 is read as another one, which nobody has.
    else if (!isPlain(name)) files.push({ ...unseen(join(folder, name)), other: 'unusable name' })
    // One that may be listed and not entered has nothing that can be seen.
    else await attempt(folder, () => lstat(`${folder}/.`))
  }
  return files
}

function unseen(path: string): RemoteFile {
  return { name: basename(path), path, bytes: 0, modifiedMs: 0 }
}

type Look = (path: string) => Promise<RemoteFile | undefined>

const look = lookBy(lstat)
const lookThrough = lookBy(stat)

function lookBy(status: typeof stat | typeof lstat): Look {
  return async (path) => {
    const found = await attempt(path, () => ifThere(status(path)))
    return found && ifFile(path, found)
  }
}

function ifFile(path: string, found: Stats): RemoteFile | undefined {
  return found.isFile() ? toFile(path, found) : undefined
}

async function lookAt(path: string): Promise<RemoteFile | undefined> {
  const found = await attempt(path, () => ifThere(lstat(path)))
  if (found === undefined) return undefined
  return { ...toFile(path, found), other: otherKindOf(found) }
}

function toFile(path: string, { size, mtimeMs }: Stats): RemoteFile {
  return { name: basename(path), path, bytes: size, modifiedMs: Math.trunc(mtimeMs) }
}

/** A folder that cannot be read, for example one that is not mounted, has not lost its files. */
async function* readUnchanged(
  arrival: Arrival,
  look: Look,
  proveOpened?: (found: Stats) => void,
): AsyncIterable<Buffer> {
  const prove = async () => {
    const found = await look(arrival.path)
    const folder = dirname(arrival.path)
    if (found === undefined) await attempt(folder, () => stat(folder))
    refuseChanged(found, arrival)
  }
  await prove()
  yield* readLocal(arrival.path, proveOpened)
  await prove()
}
