import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { pushedColumns, toPushedText } from '../../schemas/gateway/pushed-rows.js'
import type { Naming } from '../../schemas/name-pattern.js'
import { qualityColumn } from '../../schemas/quantity.js'
import type { Intake, PushedRows } from '../../schemas/settings/intake.js'
import type { TimestampFormat } from '../../schemas/time/timestamp.js'
import { dayAt, type Zone } from '../../schemas/time/zone.js'
import { refuseFullDisk } from '../files/disk.js'
import { attempt, ifThere, syncFolder, writeAll } from '../sources/disk.js'
import type { PushedLines } from './ambiguous-rows.js'
import type { Arrive } from './arrive.js'
import { claimAll, finishParts } from './gathered.js'
import { pushedAs } from './sender.js'

export interface PushOptions {
  readonly folder: string
  readonly companyCodeOf: (sender: string) => string
  readonly zone: Zone
  readonly gatherSeconds: number
  readonly freeDiskBytesMin: number
  readonly naming: Naming
  readonly arrive: Pick<Arrive, 'claim'>
  readonly now: () => Date
  readonly onFailure: (error: unknown) => void
  /** Runs with each gathering, so that uploads that nobody claimed are as late as rows. */
  readonly claimUploads?: (() => Promise<void>) | undefined
  /** Finds why the rows of a call cannot be right, whatever is stored. */
  readonly findProblem?: ((lines: PushedLines) => string | undefined) | undefined
}

export interface Pushes {
  readonly push: Intake['push']
  /** Submits what was gathered. */
  close(): Promise<void>
}

/** What the rows of one file have in common. */
interface Shape {
  readonly timestamps: TimestampFormat | undefined
  readonly hasQuality: boolean
}

/** Rows of one call that are not flushed yet. */
interface Waiting {
  readonly text: string
  readonly done: (fileName: string) => void
  readonly failed: (error: unknown) => void
}

interface Gathering {
  readonly name: string
  /** Of the complete file. */
  readonly path: string
  readonly file: FileHandle
  /** Of the header, and of all that is flushed. */
  headerBytes: number
  bytes: number
}

const fileBytesMax = 64_000_000

/**
 * Gathers pushed rows into files, for each sender and timestamp format its own, and for rows with a
 * quality: a file has one format, and too many rejected rows quarantine all of it. The rows of all
 * calls that arrive while the disk is busy are written and flushed together; only then are the calls
 * answered. After `gatherSeconds` a file gets its name and becomes an arrival; any process that gathers
 * in the same folder finishes files of a dead one.
 */
export async function createPushes(options: PushOptions): Promise<Pushes> {
  const gatherers = new Map<string, Gatherer>()
  const gathererOf = (
    { feed, sender }: PushedRows,
    { timestamps, hasQuality }: Shape,
  ): Gatherer => {
    const key = JSON.stringify([feed, sender, timestamps, hasQuality])
    const known = pushedColumns.get(feed) ?? []
    const columns = hasQuality ? [...known, qualityColumn] : known
    const gatherer = gatherers.get(key) ?? createGatherer(options, { feed, columns, sender })
    gatherers.set(key, gatherer)
    return gatherer
  }
  let known: ReadonlySet<string> = new Set()
  let isGathering = false
  const gather = async () => {
    isGathering = true
    for (const gatherer of gatherers.values()) await gatherer.end().catch(options.onFailure)
    await options.claimUploads?.().catch(options.onFailure)
    await finishParts(options)
    known = await claimAll(options, known)
  }
  const ended = () => {
    isGathering = false
  }
  let working: Promise<void> = gather().catch(options.onFailure).finally(ended)
  const work = () => {
    working = working.then(gather).catch(options.onFailure).finally(ended)
  }
  // What takes longer, as while the store is away, is not begun again before its end.
  const timer = setInterval(() => isGathering || work(), options.gatherSeconds * 1_000)
  return {
    push: async (rows) => {
      const read = toPushedText(rows)
      if (read.problem !== undefined) return { kind: 'wrong', detail: read.problem }
      const problem = options.findProblem?.({ feed: rows.feed, text: read.text })
      if (problem !== undefined) return { kind: 'wrong', detail: problem }
      const fileName = await gathererOf(rows, read).add(read.text)
      return { kind: 'gathered', fileName, rows: read.rows }
    },
    close: async () => {
      clearInterval(timer)
      work()
      await working
    },
  }
}

interface Gatherer {
  /** Resolves with the name of the file when the rows are flushed. */
  add(text: string): Promise<string>
  end(): Promise<void>
}

/** What the files of one gatherer have in common. */
interface PushedFeed {
  readonly sender: string
  readonly feed: string
  readonly columns: readonly string[]
}

function createGatherer(options: PushOptions, of: PushedFeed): Gatherer {
  let waiting: Waiting[] = []
  let gathering: Gathering | undefined
  let working: Promise<void> = Promise.resolve()
  const end = async () => {
    if (gathering === undefined) return
    const ending = gathering
    gathering = undefined
    await attempt(ending.path, () => finish(ending).finally(() => ending.file.close()))
  }
  const flush = async () => {
    const calls = waiting
    waiting = []
    if (calls.length === 0) return
    try {
      gathering ??= await begin(options, of)
      const { name } = gathering
      await append(options, gathering, calls.map(({ text }) => text).join(''))
      if (gathering.bytes >= fileBytesMax) await end()
      for (const call of calls) call.done(name)
    } catch (error) {
      for (const call of calls) call.failed(error)
      await end().catch(options.onFailure)
    }
  }
  const next = (run: () => Promise<void>) => {
    const result = working.then(run)
    working = result.catch(() => undefined)
    return result
  }
  return {
    add: (text) =>
      new Promise((done, failed) => {
        waiting.push({ text, done, failed })
        if (waiting.length === 1) void next(flush)
      }),
    end: () => next(end),
  }
}

/** Makes a complete file of a part; one without rows is removed. The name is durable before it is claimed. */
async function finish(ending: Gathering): Promise<void> {
  const { path, file, headerBytes, bytes } = ending
  if (!(await isOwn(ending))) return
  if (bytes === headerBytes) return rm(`${path}.part`)
  await file.truncate(bytes)
  await file.sync()
  await rename(`${path}.part`, path)
  await syncFolder(dirname(path))
}

/**
 * A new file with its header; its number is the millisecond of the local day, which no earlier file of
 * that day has, or the next free one. A file that was there before would be taken for an old arrival.
 */
async function begin(
  options: PushOptions,
  { feed, columns, sender }: PushedFeed,
): Promise<Gathering> {
  const at = options.now().getTime()
  const localDay = dayAt(options.zone, new Date(at))
  const [year, month, day] = localDay.split('-')
  const stem = `${options.companyCodeOf(sender)}_${day}${month}${year}_${feed}`
  const header = `${columns.join(',')}\n`
  for (let number = at - options.zone.dayStart(localDay) * 1_000; ; number++) {
    const name = `${stem}_${number}.csv`
    const whole = join(options.folder, pushedAs({ sender, name }))
    const path = `${whole}.part`
    const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') return attempt(path, () => Promise.reject(error))
      return undefined
    })
    if (file === undefined) continue
    // Only now nobody else can give a part this name.
    if ((await attempt(whole, () => ifThere(stat(whole)))) !== undefined) {
      await file.close()
      await rm(path)
      continue
    }
    const gathering = { name, path: whole, file, headerBytes: 0, bytes: 0 }
    try {
      await append(options, gathering, header)
      gathering.headerBytes = gathering.bytes
      await attempt(options.folder, () => syncFolder(options.folder))
      return gathering
    } catch (error) {
      await file.close()
      await rm(path, { force: true })
      throw error
    }
  }
}

async function append(
  { folder, freeDiskBytesMin }: PushOptions,
  gathering: Gathering,
  text: string,
): Promise<void> {
  const bytes = Buffer.from(text)
  const { name, path, file } = gathering
  await refuseFullDisk(folder, { name, bytes: bytes.length }, freeDiskBytesMin)
  await proveOwn(gathering)
  await attempt(path, async () => {
    await writeAll(file, bytes, gathering.bytes)
    await file.datasync()
  })
  await proveOwn(gathering)
  gathering.bytes += bytes.length
}

/**
 * Another process may have taken the file over: what is written to it then may be lost, or change a file
 * that is being loaded.
 */
async function proveOwn(gathering: Gathering): Promise<void> {
  if (await isOwn(gathering)) return
  const { path } = gathering
  throw new Fault('SOURCE_CHANGED', `${path} was submitted by another process; push the rows again`)
}

async function isOwn({ path, file }: Gathering): Promise<boolean> {
  const own = await file.stat()
  const there = await attempt(path, () => ifThere(stat(`${path}.part`)))
  return there?.ino === own.ino
}
