import { forward } from './forward.js'
import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'
import { recordRestatements } from './stores/overlap.js'
import { attach, freeMerges, holdMerges } from './stores/staging.js'

/**
 * Makes a whole file visible at once. What it replaces is written down first; then the engine
 * attaches all its parts in one step; readers leave both out until the ledger says published, and
 * nothing is merged meanwhile where it replaces anything. Doing any of it twice changes nothing:
 * rows have the same key and version.
 */
export async function publish(line: Line, state: FileState): Promise<void> {
  if (state.restates) {
    await line.store.command(recordRestatements(state.arrival))
    await line.store.command(holdMerges)
  }
  await line.store.command(attach(state.attaches))
  const published: FileState = { ...state, status: 'published', publishedAt: line.now() }
  await line.ledger.record(published)
  if (state.restates) await line.store.command(freeMerges)
  await forward(line, published)
}
