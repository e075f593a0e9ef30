import { rateSetOf, setOfName } from '../../schemas/file-name.js'
import type { PipelineContext } from '../context.js'
import { uploadSource } from '../intake/arrive.js'
import { type FileState, isOpen } from '../ledger/file-state.js'

/**
 * The files that are judged and published as one with a file: those of its set, company and day
 * that came with it (decision 27), mostly the file alone. None while one of them is not taken in: its
 * own reconcile comes later and finds all. A file that its source has replaced by another state comes
 * again.
 */
export async function membersOf(
  context: PipelineContext,
  state: FileState,
): Promise<readonly FileState[]> {
  const own = setOfName(state.fileName, context.profile)
  if (own === undefined) return [state]
  const { arrivals, states } = await (isUpload(state)
    ? uploadedWith(context, state)
    : context.ledger.claimedWith(state.arrival))
  const isOfSet = (name: string) => setOfName(name, context.profile)?.key === own.key
  if (arrivals.some(({ name }) => isOfSet(name))) return []
  return states.filter(({ fileName, status }) => isOfSet(fileName) && status !== 'replaced')
}

/** Files are uploaded one by one: those that are not settled and have come as far belong together. */
async function uploadedWith({ ledger }: PipelineContext, state: FileState) {
  const { arrivals, states } = await ledger.unfinished()
  return {
    arrivals: arrivals.filter(({ source }) => source === state.source),
    states: states.filter((one) => one.source === state.source && isOpen(one) === isOpen(state)),
  }
}

/** Whether more of a set of rate files may follow: nobody says of uploads that all are there. */
export function mayGrow({ profile, now }: PipelineContext, members: readonly FileState[]): boolean {
  const [first] = members
  if (first === undefined || !isUpload(first) || !isOpen(first)) return false
  if (rateSetOf(first.fileName, profile) === undefined) return false
  const latestMs = Math.max(...members.map(({ receivedAt }) => receivedAt.getTime()))
  const quietMs = profile.rates.quietMinutes * 60_000
  return Math.abs(now().getTime() - latestMs) < quietMs
}

function isUpload({ source }: FileState): boolean {
  return source === uploadSource
}
