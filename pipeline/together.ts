import { setKeyOf, skimFileName } from '../schemas/file-name.js'
import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'

/**
 * The files that are judged and published as one with a file: those of its set, company and day
 * that were claimed with it (decision 27), mostly the file alone. None while one of them is not
 * taken in: its own reconcile comes later and finds all. A file that its source has replaced by
 * another state comes again.
 */
export async function membersOf(line: Line, state: FileState): Promise<readonly FileState[]> {
  const key = setKeyOf(state)
  if (key === undefined) return [state]
  const { arrivals, states } = await line.ledger.claimedWith(state.arrival)
  const isAwaited = arrivals.some(({ name }) => {
    const skimmed = skimFileName(name, line.profile)
    return skimmed !== undefined && setKeyOf(skimmed) === key
  })
  if (isAwaited) return []
  return states.filter((one) => setKeyOf(one) === key && one.status !== 'replaced')
}
