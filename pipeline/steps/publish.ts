import type { PipelineContext } from '../context.js'
import { toRefusal } from '../failure.js'
import { kindOf } from '../kinds.js'
import { type FileState, isRekeying, numberOf } from '../ledger/file-state.js'
import { lookForNumber, publishSubjects, type Seen } from '../ledger/publication.js'
import { forward } from './forward.js'

/**
 * Publishes complete files. The engine attaches each file in one step, which is when readers see its
 * usage. A repeated call changes nothing: the rows have the same keys and versions, and a file keeps
 * its number.
 */
export async function publish(
  context: PipelineContext,
  states: readonly FileState[],
): Promise<void> {
  const arrivals = states.map(({ arrival }) => arrival)
  const [seen] = await Promise.all([
    // Only the first bid needs it, and looks again without.
    lookForNumber(context.store, arrivals).catch(() => undefined),
    attachAll(context, states),
  ])
  await completeAll(context, states, seen)
}

/** Attaches files; why one could not be is recorded with all of them. */
export async function attachAll(
  context: PipelineContext,
  states: readonly FileState[],
): Promise<void> {
  try {
    const [first] = states
    if (first !== undefined) await kindOf(first).attach(context, states)
  } catch (error) {
    await recordFailure(context, states, error)
    throw error
  }
}

/**
 * Files of a set are attached one after the other, those of a group in one step: one that has rows
 * shows it.
 */
export async function isVisible(
  { store }: PipelineContext,
  states: readonly FileState[],
): Promise<boolean> {
  const withRows = states.filter(({ rows }) => rows.accepted > 0)
  const attached = withRows.length === 0 ? states : withRows
  const isGrouped = states.some(({ groupId }) => groupId !== 0)
  const apart = isGrouped ? attached.slice(0, 1) : states
  const seen = apart.map((one) => kindOf(one).isVisible(store, one))
  return (await Promise.all(seen)).includes(true)
}

/**
 * Gives files that are attached their numbers of publication, all in one insert, which is when readers
 * see records. Then the ledger records `published`.
 */
export async function completeAll(
  context: PipelineContext,
  states: readonly FileState[],
  seen?: Seen,
): Promise<void> {
  const subjects = states.map((state) => {
    const { arrival, fileId } = state
    return { kind: 'file', arrival, fileId, rekeys: isRekeying(state) } as const
  })
  const publications = await publishSubjects(context, subjects, seen)
  const published = states.map((state): FileState => {
    const publishedAt = publications.find(({ arrival }) => arrival === state.arrival)?.at
    return { ...state, status: 'published', publishedAt, ...noFault }
  })
  await context.ledger.record(...published)
  for (const state of distinct(published)) await forward(context, state)
}

/** One file of each number: the next step of a group is a single one. */
function distinct(states: readonly FileState[]): readonly FileState[] {
  return [...new Map(states.map((state) => [numberOf(state), state])).values()]
}

const noFault = { fault: '', reason: '' } as const

/** Records the reason with the files, because they block all others. */
async function recordFailure(
  context: PipelineContext,
  states: readonly FileState[],
  error: unknown,
): Promise<void> {
  const { fault, reason } = toRefusal(error)
  const news = states.filter((state) => state.fault !== fault || state.reason !== reason)
  await context.ledger.record(...news.map((state) => ({ ...state, fault, reason })))
}
