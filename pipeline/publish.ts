import { toRefusal } from './failure.js'
import { forward } from './forward.js'
import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'
import { recordRestatements } from './stores/overlap.js'
import { attach, detach, freeMerges, holdMerges } from './stores/staging.js'

/**
 * Makes a whole file visible at once. What it replaces is written down first; then the engine
 * attaches all its parts in one step; readers leave both out until the ledger says published, and
 * nothing is merged meanwhile where it replaces anything. Doing any of it twice changes nothing:
 * rows have the same key and version.
 */
export async function publish(line: Line, state: FileState): Promise<void> {
  try {
    if (state.restates) {
      await line.store.command(recordRestatements(state.arrival))
      await line.store.command(holdMerges)
    }
    await line.store.command(attach(state.attaches))
  } catch (error) {
    await recordFailure(line, state, error)
    throw error
  }
  const published: FileState = {
    ...state,
    status: 'published',
    publishedAt: line.now(),
    ...noFault,
  }
  await line.ledger.record(published)
  if (state.restates) await line.store.command(freeMerges)
  await forward(line, published)
}

const noFault = { fault: '', reason: '' } as const

/** The file holds all others up: whoever looks for what is in their way finds the reason there. */
async function recordFailure(line: Line, state: FileState, error: unknown): Promise<void> {
  const { fault, reason } = toRefusal(error)
  if (state.fault === fault && state.reason === reason) return
  await line.ledger.record({ ...state, fault, reason })
}

/**
 * Ends a file that could not be published: what was attached, which no reader has seen, is deleted,
 * so that it stays unseen; then the verdict is written, and the files behind this one can go on.
 */
export async function takeBack(line: Line, quarantined: FileState): Promise<void> {
  for (const statement of detach(quarantined.arrival)) await line.store.command(statement)
  await line.ledger.record(quarantined)
  if (quarantined.restates) await line.store.command(freeMerges)
  await forward(line, quarantined)
}
