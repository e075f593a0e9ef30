import type { Line } from '../context.js'
import type { FileState } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import { type LoadTask, toLoadTask } from '../load-task.js'

/** Queues the first step of an arrival: a file that lies elsewhere is fetched before it is received. */
export function begin(line: Line, { arrival, source }: Pick<Arrival, 'arrival' | 'source'>) {
  const isHere = line.sources.get(source)?.fetch === undefined
  return line.queues.add(isHere ? 'receive' : 'fetch', { v: 1, arrival })
}

/** The loads of a file as its manifest has them. */
export function loadTasks(state: FileState): readonly LoadTask[] {
  return state.manifest.chunks.map((chunk) => toLoadTask(state, state.manifest, chunk))
}

/**
 * Queues what comes next for a file by what the ledger says of it, the one rule by which steps
 * follow each other and by which the sweep repairs what a lost queue forgot.
 */
export async function forward(line: Line, state: FileState): Promise<void> {
  const { arrival } = state
  if (state.settledAt !== undefined || state.status === 'waiting') return
  if (state.status === 'publishing') return line.queues.add('reconcile', { v: 1, arrival })
  if (state.status !== 'received') return line.queues.add('settle', { v: 1, arrival })
  if (state.fault !== '' || state.duplicateOf !== 0) {
    return line.queues.add('reconcile', { v: 1, arrival })
  }
  const loads = loadTasks(state).map((task) => ({ v: 3 as const, ...task }))
  return line.queues.addFlow({ v: 1, arrival }, loads)
}
