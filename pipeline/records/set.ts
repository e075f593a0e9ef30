import { rateSetOf, setOfName } from '../../schemas/file-name.js'
import type { PipelineContext } from '../context.js'
import { uploadSource } from '../intake/arrive.js'
import { type FileState, isOpen } from '../ledger/file-state.js'

/**
 * The files that are judged and published as one with a file: those of its set, company and day
 * that came with it (decision 27), mostly the file alone. Undefined while one of them is not taken in: its
 * own reconcile comes later and finds all. Among them are files that their source has replaced by another state.
 */
export async function membersOf(
  context: PipelineContext,
  state: FileState,
): Promise<readonly FileState[] | undefined> {
  const own = setOfName(state.fileName, context.profile)
  if (own === undefined) return [state]
  const { arrivals, states } = await (isUpload(state)
    ? uploadedWith(context, state)
    : context.ledger.claimedWith(state.arrival))
  const isOfSet = (name: string) => setOfName(name, context.profile)?.key === own.key
  if (arrivals.some(({ name }) => isOfSet(name))) return undefined
  return states.filter(({ fileName }) => isOfSet(fileName))
}

/** The files that are published with one, as far as they are known. */
export async function togetherWith(
  context: PipelineContext,
  state: FileState,
): Promise<readonly FileState[]> {
  if (state.groupId !== 0) return context.ledger.grouped(state.groupId)
  return ((await membersOf(context, state)) ?? []).filter((one) => !isReplaced(one))
}

export const isReplaced = ({ status }: Pick<FileState, 'status'>) => status === 'replaced'

/**
 * Marks the undecided files of a set as replaced, and returns them. The source has another state of one of them:
 * the others come again with it, as one set.
 */
export async function replaceOpen(
  { ledger, now }: PipelineContext,
  members: readonly FileState[],
): Promise<readonly FileState[]> {
  const settledAt = now()
  const open = members.filter(isOpen)
  await ledger.record(...open.map((one): FileState => ({ ...one, status: 'replaced', settledAt })))
  return open
}

/** Files are uploaded one by one: those that are not settled and have come as far belong together. */
async function uploadedWith({ ledger }: PipelineContext, state: FileState) {
  const { arrivals, states } = await ledger.unfinished()
  return {
    arrivals: arrivals.filter(({ source }) => source === state.source),
    states: states.filter((one) => one.source === state.source && isOpen(one) === isOpen(state)),
  }
}

/**
 * Whether more of a set of rate files may have followed by the instant at which its members were asked for: nobody
 * says of uploads that all are there.
 */
export function mayGrow(
  { profile }: Pick<PipelineContext, 'profile'>,
  members: readonly FileState[],
  now: Date,
): boolean {
  const [first] = members
  if (first === undefined || !isUpload(first) || !isOpen(first)) return false
  if (rateSetOf(first.fileName, profile) === undefined) return false
  const latestMs = Math.max(...members.map(({ receivedAt }) => receivedAt.getTime()))
  const quietMs = profile.rates.quietMinutes * 60_000
  return Math.abs(now.getTime() - latestMs) < quietMs
}

function isUpload({ source }: FileState): boolean {
  return source === uploadSource
}
