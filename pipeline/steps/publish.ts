import type { PipelineContext } from '../context.js'
import { toRefusal } from '../failure.js'
import { kindOf } from '../kinds.js'
import type { FileState } from '../ledger/file-state.js'
import { forward } from './forward.js'

/**
 * Makes whole files visible at once. The engine attaches all parts of each in one step, and readers
 * leave them out until the ledger says published, of all of them in one row of parts. Doing any of
 * it twice changes nothing: rows have the same key and version.
 */
export async function publish(
  context: PipelineContext,
  states: readonly FileState[],
): Promise<void> {
  try {
    for (const state of states) await kindOf(state).attach(context, state)
  } catch (error) {
    await recordFailure(context, states, error)
    throw error
  }
  const publishedAt = context.now()
  const published = states.map(
    (state): FileState => ({ ...state, status: 'published', publishedAt, ...noFault }),
  )
  await context.ledger.record(...published)
  for (const state of published) {
    await kindOf(state).release(context, state)
    await forward(context, state)
  }
}

const noFault = { fault: '', reason: '' } as const

/** The files hold all others up: whoever looks for what is in their way finds the reason there. */
async function recordFailure(
  context: PipelineContext,
  states: readonly FileState[],
  error: unknown,
): Promise<void> {
  const { fault, reason } = toRefusal(error)
  const news = states.filter((state) => state.fault !== fault || state.reason !== reason)
  await context.ledger.record(...news.map((state) => ({ ...state, fault, reason })))
}

/**
 * Ends files that could not be published: what was attached, which no reader has seen, is deleted,
 * so that it stays unseen; then the verdict is written, and the files behind these can go on.
 */
export async function rollBack(
  context: PipelineContext,
  quarantined: readonly FileState[],
): Promise<void> {
  for (const state of quarantined) await kindOf(state).detach(context, state)
  await context.ledger.record(...quarantined)
  for (const state of quarantined) {
    await kindOf(state).release(context, state)
    await forward(context, state)
  }
}
