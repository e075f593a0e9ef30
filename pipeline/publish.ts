import { forward } from './forward.js'
import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'
import { attachStaging, freeMerges, holdMerges } from './stores/staging.js'

/**
 * Makes a whole file visible at once. The engine attaches all its parts in one step; readers leave
 * them out until the ledger says published, and nothing is merged meanwhile. Attaching the same rows
 * twice changes nothing: they have the same key and version.
 */
export async function publish(line: Line, state: FileState): Promise<void> {
  await line.store.command(holdMerges)
  await line.store.command(attachStaging(state.arrival))
  const published: FileState = { ...state, status: 'published', publishedAt: line.now() }
  await line.ledger.record(published)
  await line.store.command(freeMerges)
  await forward(line, published)
}
