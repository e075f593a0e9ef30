import { Fault } from '../../schemas/fault.js'
import { isToBeTaken, type NamedSet, rateSetOf, skimFileName } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { Arrival } from '../ledger/ledger.js'
import type { Listed } from './source.js'

/** A file as a place shows it. */
export interface PlacedFile {
  readonly name: string
  /** How the place itself names it. */
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Another for other bytes, where the place has such a thing. */
  readonly tag?: string | undefined
}

/**
 * A connection to the folder of a source: what differs between protocols, and nothing else. Every
 * failure is a Fault: `SOURCE_UNREACHABLE`, `SOURCE_LOGIN`, `SOURCE_IDENTITY`, `PERMISSION`,
 * `SOURCE_REFUSED`.
 */
export interface Place {
  /** Every plain file of the folder, to the last one. */
  list(): Promise<readonly PlacedFile[]>
  look(path: string): Promise<PlacedFile | undefined>
  /**
   * The bytes of a file from an offset on, which lies before its end. What is yielded holds them until
   * the next is asked for.
   */
  open(file: PlacedFile, offset: number): AsyncIterable<Buffer>
  /** Writes a file of ours into the folder, at once or not at all. */
  write(name: string, content: Content): Promise<void>
  /** Moves a file to the folder of those that have ended, under another name. */
  move(file: PlacedFile, name: string): Promise<void>
  /** A file that is gone already is no failure. */
  remove(path: string): Promise<void>
  isOpen(): boolean
  close(): Promise<void>
}

/** A short text, or a file of this machine. */
export type Content = Buffer | { readonly path: string }

interface Named {
  readonly settings: { readonly name: string }
  readonly naming: Naming
}

/**
 * The files that could be taken, each once though it be shown twice: oldest first, and of those that
 * came in one moment, as after an outage, that of the earlier day first.
 */
export function toListed(
  { settings, naming }: Named,
  files: readonly PlacedFile[],
): readonly Listed[] {
  const once = new Map(files.map((file) => [file.path, file]))
  const present = new Set(files.map((file) => file.name))
  return [...once.values()]
    .filter(({ name }) => isToBeTaken(name))
    .map(({ name, path, bytes, modifiedMs }) => ({
      source: settings.name,
      name,
      path,
      bytes,
      modifiedMs,
      ...announcementOf(rateSetOf(name, naming), { name, present }),
    }))
    .sort((a, b) => a.modifiedMs - b.modifiedMs || compare(orderOf(a), orderOf(b)))

  function orderOf({ name }: Listed): string {
    return `${skimFileName(name, naming)?.fileDate ?? ''} ${name}`
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function announcementOf(
  set: NamedSet | undefined,
  { name, present }: { readonly name: string; readonly present: ReadonlySet<string> },
) {
  const setAnnounced = set?.done.some((done) => present.has(done)) ?? false
  return { announced: setAnnounced || present.has(`${name}.done`), setAnnounced }
}

/**
 * Whether a name that a server shows is that of a file in its folder: one that leads elsewhere, that
 * would end a command, or that is not UTF-8 and so can never be named again, is not asked for.
 */
export function isPlain(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\p{Cc}\uFFFD]/u.test(name)
}

/** Whether a file is still what it was when it arrived. */
export function isSame(found: PlacedFile | undefined, arrival: Arrival): boolean {
  return found?.bytes === arrival.bytes && found.modifiedMs === arrival.modifiedMs
}

export function refuseChanged(found: PlacedFile | undefined, arrival: Arrival): PlacedFile {
  if (found === undefined) {
    throw new Fault('SOURCE_CHANGED', `${arrival.name} is gone from its source; send it again`)
  }
  if (isSame(found, arrival)) return found
  throw new Fault(
    'SOURCE_CHANGED',
    `${arrival.name} changed while it was read: ${arrival.bytes} bytes when listed, ${found.bytes} now`,
  )
}
