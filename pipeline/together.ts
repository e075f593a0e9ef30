import { recordFeedOf } from '../schemas/feed.js'
import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'

/**
 * The files that are judged and published as one with a file: those of its set, company and day
 * that were claimed with it (decision 27), mostly the file alone. None while one of them is not
 * taken in: its own reconcile comes later and finds all. A file that its source has replaced by
 * another state comes again.
 */
export async function membersOf(line: Line, state: FileState): Promise<readonly FileState[]> {
  const set = setOf(state.feed)
  if (set === undefined) return [state]
  const { arrivals, states } = await line.ledger.claimedWith(state.arrival)
  const isOfSet = (name: string) => sameSet(name, state)
  if (arrivals.some(({ name }) => isOfSet(name))) return []
  return states.filter(({ fileName, status }) => isOfSet(fileName) && status !== 'replaced')
}

export function setOf(feed: string): string | undefined {
  return recordFeedOf(feed)?.schedule?.set
}

function sameSet(name: string, { fileName, feed }: FileState): boolean {
  const [company, date, other = ''] = name.split(/[_.]/)
  const [ownCompany, ownDate] = fileName.split(/[_.]/)
  return company === ownCompany && date === ownDate && setOf(other) === setOf(feed)
}
