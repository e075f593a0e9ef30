import { begin } from './forward.js'
import type { Line } from './line.js'
import type { Listed } from './sources/source.js'

/** What the last polls of a source showed: how often in a row each file stood still. */
export type Stillness = Map<string, { readonly seen: string; readonly polls: number }>

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
  const finished = listed.filter(
    (one) => !known.has(keyOf(one)) && isFinished(line, one, { stillness, settlePolls }),
  )
  if (finished.length === 0) return
  await replaceWaiting(line, finished)
  for (const one of finished) {
    const { announced: _, ...entry } = one
    const { arrival } = await line.ledger.claim({ ...entry, force: false })
    await begin(line, { arrival, source: name })
  }
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
  if (file.announced) return true
  if (line.now().getTime() - file.modifiedMs > restingMs) return true
  const seen = keyOf(file)
  const before = stillness.get(file.path)
  const polls = before?.seen === seen ? before.polls + 1 : 1
  stillness.set(file.path, { seen, polls })
  return polls >= settlePolls
}

/** Files that wait for their rest are let go when the source shows another state of them. */
async function replaceWaiting(line: Line, files: readonly Listed[]): Promise<void> {
  const paths = new Set(files.map((file) => file.path))
  const { states } = await line.ledger.unfinished()
  for (const state of states) {
    if (state.status !== 'waiting' || !paths.has(state.path)) continue
    await line.ledger.record({ ...state, status: 'replaced', settledAt: line.now() })
  }
}
