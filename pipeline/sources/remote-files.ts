import { Fault } from '../../schemas/fault.js'
import {
  fileOrder,
  isToBeTaken,
  type NamedSet,
  rateSetOf,
  skimFileName,
} from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { Arrival } from '../ledger/ledger.js'
import type { Listed } from './source.js'

/** A file as the remote file system lists it. */
export interface RemoteFile {
  readonly name: string
  /** Its name there. */
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Changes with the bytes, where the protocol has such a tag (an ETag). */
  readonly tag?: string | undefined
  /** Set for an entry that cannot be loaded; its size and time mean nothing. */
  readonly other?: OtherKind | undefined
}

/** A file with an unusable name has control characters, or is not UTF-8 and cannot be requested. */
export type OtherKind = 'link' | 'folder' | 'special file' | 'unusable name'

/**
 * A connection to the folder of a source: what differs between protocols, and nothing else. Every
 * failure is a Fault: `SOURCE_UNREACHABLE`, `SOURCE_LOGIN`, `SOURCE_IDENTITY`, `PERMISSION`,
 * `SOURCE_REFUSED`.
 */
export interface RemoteFiles {
  /** Every entry of the folder. */
  list(): Promise<readonly RemoteFile[]>
  look(path: string): Promise<RemoteFile | undefined>
  /** The bytes of a file from an offset before its end; a buffer is valid until the next is read. */
  open(file: RemoteFile, offset: number): AsyncIterable<Buffer>
  /** Writes a file of ours into the folder atomically. */
  write(name: string, content: FileContent): Promise<void>
  /** Moves a file to `endedFolder` under another name. */
  move(file: RemoteFile, name: string): Promise<void>
  /** Succeeds if the file is already gone. */
  remove(path: string): Promise<void>
  isOpen(): boolean
  close(): Promise<void>
}

/** A short text, or a file of this machine. */
export type FileContent = Buffer | { readonly path: string }

interface Named {
  readonly settings: { readonly name: string }
  readonly naming: Naming
}

/**
 * The files that can be loaded, each once even if it is listed twice: oldest first, and of files of
 * the same instant, as after an outage, the one of the earlier day or lower number first.
 */
export function toListed(
  { settings, naming }: Named,
  files: readonly RemoteFile[],
): readonly Listed[] {
  const plain = files.filter(({ other }) => other === undefined)
  const once = new Map(plain.map((file) => [file.path, file]))
  const present = new Set(plain.map((file) => file.name))
  return [...once.values()]
    .filter(({ name }) => isToBeTaken(name) && !isIgnored(name, naming))
    .map(({ name, path, bytes, modifiedMs }) => ({
      source: settings.name,
      name,
      path,
      bytes,
      modifiedMs,
      ...announcementOf(rateSetOf(name, naming), { name, present }),
    }))
    .sort(
      (a, b) =>
        a.modifiedMs - b.modifiedMs ||
        compare(fileOrder(a.name, naming), fileOrder(b.name, naming)),
    )
}

/** The kind of an entry that is not a file, by its status. */
export function otherKindOf(status: {
  isFile(): boolean
  isDirectory(): boolean
  isSymbolicLink(): boolean
}): OtherKind | undefined {
  if (status.isFile()) return undefined
  if (status.isDirectory()) return 'folder'
  return status.isSymbolicLink() ? 'link' : 'special file'
}

const namesMax = 20

/** Whether `files.ignore` of the profile names a file. A file of a feed is never ignored. */
function isIgnored(name: string, naming: Naming): boolean {
  const isNamed = naming.files?.ignore.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
    return new RegExp(`^${parts.join('.*')}$`, 's').test(name)
  })
  return isNamed === true && skimFileName(name, naming) === undefined
}

/**
 * What a listing has that is not loaded, as sentences; empty if nothing. Hidden and temporary names and
 * the folder of loaded files are ours or expected.
 */
export function describeOthers(
  files: readonly RemoteFile[],
  { settings, naming }: Named & { readonly settings: { readonly endedFolder: string } },
): string {
  const plain = files.filter(({ name, other }) => other === undefined && isToBeTaken(name))
  const ignored = plain.filter(({ name }) => isIgnored(name, naming)).length
  const counted = ignored === 0 ? [] : [`files ignored by files.ignore: ${ignored}`]
  const refused = describeRefused(files, settings.endedFolder)
  return [...(refused === '' ? [] : [refused]), ...counted].join('; ')
}

function describeRefused(files: readonly RemoteFile[], endedFolder: string): string {
  const others = files
    .filter(({ name, other }) => other !== undefined && name !== endedFolder && isToBeTaken(name))
    .map(({ name, other }) => `${other} ${name.replace(/[\p{C}\uFFFD]/gu, '?')}`)
    .sort()
  if (others.length === 0) return ''
  const more = others.length > namesMax ? ` and ${others.length - namesMax} more` : ''
  const shown = others.slice(0, namesMax).join(', ')
  return `not loaded, because only files with a plain name are: ${shown}${more}; replace or remove them`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function announcementOf(
  set: NamedSet | undefined,
  { name, present }: { readonly name: string; readonly present: ReadonlySet<string> },
) {
  const hasSetDoneFile = set?.done.some((done) => present.has(done)) ?? false
  return { hasDoneFile: hasSetDoneFile || present.has(`${name}.done`), hasSetDoneFile }
}

/**
 * Whether a listed name is a file in the folder itself. A name that leads elsewhere, that would end a
 * command, or that is not UTF-8 and so cannot be requested, is ignored.
 */
export function isPlain(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\p{Cc}\uFFFD]/u.test(name)
}

/** Whether a file has the size and time that it had before, such as when it arrived. */
export function isSameFile(
  found: RemoteFile | undefined,
  before: Pick<Arrival, 'bytes' | 'modifiedMs'>,
): boolean {
  return found?.bytes === before.bytes && found.modifiedMs === before.modifiedMs
}

export function refuseChanged(found: RemoteFile | undefined, arrival: Arrival): RemoteFile {
  if (found === undefined) {
    throw new Fault('SOURCE_CHANGED', `${arrival.name} is gone from its source; send it again`)
  }
  if (isSameFile(found, arrival)) return found
  const change =
    found.bytes === arrival.bytes
      ? 'it has another time'
      : `${arrival.bytes} bytes when listed, ${found.bytes} now`
  const remedy = 'if it is not read again by itself, send it again'
  throw new Fault(
    'SOURCE_CHANGED',
    `${arrival.name} changed while it was read: ${change}; ${remedy}`,
  )
}
