import { forward } from './forward.js'
import { kindOf } from './kind.js'
import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'

/**
 * Makes whole files visible at once. The engine attaches all parts of each in one step, and readers
 * leave them out until the ledger says published, of all of them in one row of parts. Doing any of
 * it twice changes nothing: rows have the same key and version.
 */
export async function publish(line: Line, states: readonly FileState[]): Promise<void> {
  for (const state of states) await kindOf(state).attach(line, state)
  const publishedAt = line.now()
  const published = states.map((state) => ({ ...state, status: 'published' as const, publishedAt }))
  await line.ledger.record(...published)
  for (const state of published) {
    await kindOf(state).release(line, state)
    await forward(line, state)
  }
}
