import { rateSetOf } from '../../schemas/file-name.js'
import type { Line } from '../context.js'
import type { FileState } from '../ledger/file-state.js'
import type { Entry } from '../ledger/ledger.js'
import { membersOf } from '../records/set.js'
import type { Listed } from '../sources/source.js'
import { begin } from './forward.js'

/** What the last polls of a source showed: how often in a row each file stood still, and since when. */
export type Stillness = Map<
  string,
  { readonly seen: string; readonly polls: number; readonly since: number }
>

/** A file untouched for so long is not being written any more. */
const restingMs = 60_000

/**
 * Lists one source and queues a receive job for each file that is finished: its sender says so, it
 * has rested, or its size and time stood still over `settlePolls` polls. A settled file has left the
 * source before it was called so: one that stands there again, time and all, has come again. Where
 * the source keeps its files, one that was settled is known by its path, size and time.
 */
export async function poll(line: Line, name: string, stillness: Stillness): Promise<void> {
  const source = line.sources.get(name)
  const profile = line.profile.sources.find((one) => one.name === name)
  if (source === undefined || profile === undefined) return
  const known = new Set((await line.ledger.knownOf(source)).map(keyOf))
  const listed = await source.list()
  const present = new Set(listed.map((one) => one.path))
  for (const path of stillness.keys()) if (!present.has(path)) stillness.delete(path)
  const { settlePolls } = profile
  const fresh = listed.filter((one) => !known.has(keyOf(one)))
  const finished = new Set(fresh.filter((one) => isFinished(line, one, { stillness, settlePolls })))
  const groups = groupSets(line, fresh).filter(
    (group) => group.every((one) => finished.has(one)) && isComplete(line, group, stillness),
  )
  if (groups.length === 0) return
  const awaited = await replaceWaiting(line, name, groups.flat())
  for (const group of groups) {
    if (group.some((one) => awaited.has(rateSetOf(one.name, line.profile)?.key))) continue
    const arrivals = await line.ledger.claimAll(group.map(toEntry))
    for (const arrival of arrivals) await begin(line, arrival)
  }
}

function toEntry({ announced: _, setAnnounced: __, ...entry }: Listed): Entry {
  return { ...entry, force: false }
}

/** Each file by itself, but for those of a set, which are taken together (decision 27). */
function groupSets({ profile }: Line, listed: readonly Listed[]): readonly (readonly Listed[])[] {
  const groups = new Map<string, Listed[]>()
  for (const one of listed) {
    const key = rateSetOf(one.name, profile)?.key ?? `/${one.path}`
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()]
}

/** A set is complete when its sender says so, or when nothing of it has changed for a while. */
function isComplete(line: Line, group: readonly Listed[], stillness: Stillness): boolean {
  const [first] = group
  if (first === undefined || rateSetOf(first.name, line.profile) === undefined) return true
  if (group.some((one) => one.setAnnounced)) return true
  const now = line.now().getTime()
  const latest = Math.max(...group.map(({ path }) => stillness.get(path)?.since ?? now))
  return now - latest >= line.profile.rates.quietMinutes * 60_000
}

function keyOf(file: { path: string; bytes: number; modifiedMs: number }): string {
  return `${file.bytes} ${file.modifiedMs} ${file.path}`
}

function isFinished(
  line: Line,
  file: Listed,
  options: { readonly stillness: Stillness; readonly settlePolls: number },
): boolean {
  const { stillness, settlePolls } = options
  const now = line.now().getTime()
  const seen = keyOf(file)
  const known = stillness.get(file.path)
  const before = known?.seen === seen ? known : { seen, polls: 0, since: now }
  stillness.set(file.path, { ...before, polls: before.polls + 1 })
  if (file.announced || now - file.modifiedMs > restingMs) return true
  return before.polls + 1 >= settlePolls
}

/**
 * Files that wait for their rest are let go when the source shows another state of them, and with
 * them those of their set. Returns the sets of which files stand there that come again only at the
 * next poll: all of such a set is then taken together.
 */
async function replaceWaiting(
  line: Line,
  source: string,
  files: readonly Listed[],
): Promise<ReadonlySet<string | undefined>> {
  const paths = new Set(files.map((file) => file.path))
  const { states } = await line.ledger.unfinished()
  const awaited = new Set<string | undefined>()
  for (const state of states) {
    if (state.status !== 'waiting' || state.source !== source || !paths.has(state.path)) continue
    const members = await membersOf(line, state)
    const undecided = members.filter(({ status }) => status === 'received' || status === 'waiting')
    const settledAt = line.now()
    await line.ledger.record(
      ...[state, ...undecided.filter(({ arrival }) => arrival !== state.arrival)].map(
        (one): FileState => ({ ...one, status: 'replaced', settledAt }),
      ),
    )
    for (const { path, fileName } of undecided) {
      if (!paths.has(path)) awaited.add(rateSetOf(fileName, line.profile)?.key)
    }
  }
  return awaited
}
