import { createHash } from 'node:crypto'
import { rateSetOf } from '../../schemas/file-name.js'
import type { SourceSettings } from '../../schemas/settings/source.js'
import type { PipelineContext } from '../context.js'
import { isOpen } from '../ledger/file-state.js'
import type { FileEntry } from '../ledger/ledger.js'
import { jobId } from '../queues/jobs.js'
import { membersOf, replaceOpen } from '../records/set.js'
import type { Listed, Source } from '../sources/source.js'
import { batchesOf } from '../store/batches.js'
import { beginAll } from './forward.js'

/** What a worker knows of the files of a source from one poll to the next. */
export interface Stability {
  /** By path: how many polls in a row showed a file unchanged, since when, and when it was written. */
  readonly files: Map<
    string,
    {
      readonly seen: string
      readonly polls: number
      readonly since: number
      readonly writtenMs: number
    }
  >
  /** When the last listing began. */
  listedMs: number
}

export function createStability(): Stability {
  return { files: new Map(), listedMs: 0 }
}

/** A file unmodified for this long is considered complete. */
const restingMs = 60_000

/**
 * Lists one source and queues a receive job for each complete file: it has a done-file, was
 * unmodified for a minute, or had the same size and time over `settlePolls` polls. A settled file has
 * left the source, so a file at its path is a new one. If the source keeps its files, a settled file
 * is recognized by path, size and time, while no other came there. Of a source that was empty and still
 * is the ledger is not asked. Resolves with the listing if it needs nothing, now or later.
 */
export async function poll(
  context: PipelineContext,
  name: string,
  stability: Stability,
): Promise<string | undefined> {
  const source = context.sources.get(name)
  const profile = context.profile.sources.find((one) => one.name === name)
  if (source === undefined || profile === undefined) return undefined
  if (stability.files.size === 0 && !source.keeps) {
    const beganMs = context.now().getTime()
    if ((await source.list()).length === 0) {
      stability.listedMs = beganMs
      return digestOf([])
    }
  }
  const task = jobId('poll', { v: 1, source: name })
  return context.store.runTask(task, () => takeListed(context, { source, profile }, stability))
}

interface Polled {
  readonly source: Source
  readonly profile: SourceSettings
}

/** The ledger is asked before the source: what is settled in between is listed no more. */
async function takeListed(
  context: PipelineContext,
  { source, profile }: Polled,
  stability: Stability,
): Promise<string | undefined> {
  const { name, settlePolls } = profile
  const arrivals = await context.ledger.knownOf(source)
  const known = new Map(arrivals.map((one) => [one.path, keyOf(one)]))
  const beganMs = context.now().getTime()
  const listed = await source.list()
  const present = new Set(listed.map((one) => one.path))
  for (const path of stability.files.keys()) if (!present.has(path)) stability.files.delete(path)
  const fresh = listed.filter((one) => known.get(one.path) !== keyOf(one))
  const finished = new Set(
    fresh.filter((one) => isFinished(context, one, { stability, settlePolls })),
  )
  stability.listedMs = beganMs
  const groups = groupSets(context, fresh).filter(
    (group) => group.every((one) => finished.has(one)) && isComplete(context, group, stability),
  )
  if (groups.length === 0) {
    const isSettled = fresh.length === 0 && (source.keeps || listed.length === 0)
    return isSettled ? digestOf(listed) : undefined
  }
  const awaited = await replaceWaiting(context, name, groups.flat())
  const due = groups.filter(
    (group) => !group.some((one) => awaited.has(rateSetOf(one.name, context.profile)?.key ?? '')),
  )
  for (const claimed of togetherOf(context, due)) {
    await beginAll(
      context,
      await context.ledger.claimAll(claimed.map((one) => toEntry(one, profile))),
    )
  }
  return undefined
}

function toEntry(
  { hasDoneFile, hasSetDoneFile: _, ...entry }: Listed,
  { kind }: Pick<SourceSettings, 'kind'>,
): FileEntry {
  const wholeBy = hasDoneFile ? 'done-file' : ''
  return { ...entry, wholeBy: kind === 's3' ? 'object' : wholeBy, force: false }
}

/** Groups the files of a set, which are claimed together (decision 27). */
function groupSets(
  { profile }: PipelineContext,
  listed: readonly Listed[],
): readonly (readonly Listed[])[] {
  const groups = new Map<string, Listed[]>()
  for (const one of listed) {
    const key = rateSetOf(one.name, profile)?.key ?? `/${one.path}`
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()]
}

/** What is claimed in one insert: each set by itself, because a set is what was claimed with it. */
function togetherOf(
  { profile }: PipelineContext,
  groups: readonly (readonly Listed[])[],
): readonly (readonly Listed[])[] {
  const isSet = ([one]: readonly Listed[]) => one && rateSetOf(one.name, profile) !== undefined
  return [
    ...groups.filter(isSet),
    ...batchesOf(groups.filter((one) => !isSet(one)).flat(), claimsMax),
  ]
}

/** Files that are claimed in one insert. */
const claimsMax = 1_000

/**
 * A set is complete if it has a done-file or was unchanged for `rates.quietMinutes`. A listing that is read in
 * parts may have the done-file and lack what came right before it, so the poll before has to have seen all.
 */
function isComplete(
  context: PipelineContext,
  group: readonly Listed[],
  stability: Stability,
): boolean {
  const [first] = group
  if (first === undefined || rateSetOf(first.name, context.profile) === undefined) return true
  const isSeenAgain = group.every(({ path }) => (stability.files.get(path)?.polls ?? 0) > 1)
  if (group.some((one) => one.hasSetDoneFile)) return isSeenAgain
  const now = context.now().getTime()
  const latest = Math.max(...group.map(({ path }) => stability.files.get(path)?.since ?? now))
  return Math.abs(now - latest) >= context.profile.rates.quietMinutes * 60_000
}

/** Of two listings the same if all files have the same paths, sizes and times. */
export function digestOf(listed: readonly Listed[]): string {
  return createHash('sha256')
    .update(JSON.stringify(listed.map(keyOf)))
    .digest('hex')
}

function keyOf(file: { path: string; bytes: number; modifiedMs: number }): string {
  return `${file.bytes} ${file.modifiedMs} ${file.path}`
}

/**
 * A file that is new or changed was written after the listing before. Where its time says otherwise, it is not
 * of our clock, or not of its last write: the source may give local times or none.
 */
function isFinished(
  context: PipelineContext,
  file: Listed,
  options: { readonly stability: Stability; readonly settlePolls: number },
): boolean {
  const { stability, settlePolls } = options
  const now = context.now().getTime()
  const seen = keyOf(file)
  const known = stability.files.get(file.path)
  const writtenMs = file.modifiedMs > stability.listedMs ? file.modifiedMs : now
  const before = known?.seen === seen ? known : { seen, polls: 0, since: now, writtenMs }
  stability.files.set(file.path, { ...before, polls: before.polls + 1 })
  if (file.hasDoneFile || now - before.writtenMs > restingMs) return true
  return before.polls + 1 >= settlePolls
}

/**
 * Marks waiting files as replaced if the source lists another state of them or of their sets, together with
 * the rest of the set. Returns the sets of which files are under way, or will be listed again by the next
 * poll: such a set is not claimed now, but as one later.
 */
async function replaceWaiting(
  context: PipelineContext,
  source: string,
  files: readonly Listed[],
): Promise<ReadonlySet<string>> {
  const paths = new Set(files.map((file) => file.path))
  const { arrivals, states } = await context.ledger.unfinished()
  const open = states.filter((one) => one.source === source && isOpen(one))
  const replaced = new Set<number>()
  const again: string[] = []
  for (const state of open) {
    if (state.status !== 'waiting' || replaced.has(state.arrival)) continue
    const members = (await membersOf(context, state)) ?? []
    if (!members.some((one) => isOpen(one) && paths.has(one.path))) continue
    for (const { arrival, path, fileName } of await replaceOpen(context, members)) {
      replaced.add(arrival)
      if (!paths.has(path)) again.push(fileName)
    }
  }
  const underWay = [
    ...arrivals.filter((one) => one.source === source).map(({ name }) => name),
    ...open.filter(({ arrival }) => !replaced.has(arrival)).map(({ fileName }) => fileName),
  ]
  const keys = [...again, ...underWay].map((name) => rateSetOf(name, context.profile)?.key)
  return new Set(keys.filter((key) => key !== undefined))
}
