import type { Line } from '../context.js'
import { toRefusal } from '../failure.js'
import { kindOf } from '../kind.js'
import type { FileState } from '../ledger/file-state.js'
import { forward } from './forward.js'

/**
 * Makes whole files visible at once. The engine attaches all parts of each in one step, and readers
 * leave them out until the ledger says published, of all of them in one row of parts. Doing any of
 * it twice changes nothing: rows have the same key and version.
 */
export async function publish(line: Line, states: readonly FileState[]): Promise<void> {
  try {
    for (const state of states) await kindOf(state).attach(line, state)
  } catch (error) {
    await recordFailure(line, states, error)
    throw error
  }
  const publishedAt = line.now()
  const published = states.map(
    (state): FileState => ({ ...state, status: 'published', publishedAt, ...noFault }),
  )
  await line.ledger.record(...published)
  for (const state of published) {
    await kindOf(state).release(line, state)
    await forward(line, state)
  }
}

const noFault = { fault: '', reason: '' } as const

/** The files hold all others up: whoever looks for what is in their way finds the reason there. */
async function recordFailure(
  line: Line,
  states: readonly FileState[],
  error: unknown,
): Promise<void> {
  const { fault, reason } = toRefusal(error)
  const news = states.filter((state) => state.fault !== fault || state.reason !== reason)
  await line.ledger.record(...news.map((state) => ({ ...state, fault, reason })))
}

/**
 * Ends files that could not be published: what was attached, which no reader has seen, is deleted,
 * so that it stays unseen; then the verdict is written, and the files behind these can go on.
 */
export async function takeBack(line: Line, quarantined: readonly FileState[]): Promise<void> {
  for (const state of quarantined) await kindOf(state).detach(line, state)
  await line.ledger.record(...quarantined)
  for (const state of quarantined) {
    await kindOf(state).release(line, state)
    await forward(line, state)
  }
}
