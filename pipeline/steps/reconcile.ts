import { Fault } from '../../schemas/fault.js'
import { isSchedule } from '../../schemas/feed.js'
import type { PipelineContext } from '../context.js'
import { findAsked } from '../customers/held.js'
import { claimHeld } from '../customers/registrations.js'
import { logFailure, toRefusal } from '../failure.js'
import { decideGroup } from '../groups/decide.js'
import type { LoadedFile } from '../kind.js'
import { kindOf } from '../kinds.js'
import { type FileState, isGroup, isOpen, numberOf } from '../ledger/file-state.js'
import { hold, type Refusal, toDuplicate } from '../ledger/verdict.js'
import { runsElsewhere } from '../machine.js'
import { isReplaced, mayGrow, membersOf, replaceOpen, togetherWith } from '../records/set.js'
import { type Decision, dropDerived } from '../store/staging.js'
import { isStagingLost } from '../whole.js'
import { forward } from './forward.js'
import { drawDecision, loadAndBalance } from './load.js'
import { attachAll, completeAll, isVisible, publish } from './publish.js'

const waitingMsMax = 24 * 3_600_000

/**
 * Decides a file's fate; nothing else does. Rows and control total on arrival, in the receipts and in
 * staging must be equal, or nothing is published. A verdict `publishing` is carried out at once;
 * after a crash it only rolls forward.
 */
export async function reconcile(context: PipelineContext, number: number): Promise<void> {
  if (isGroup(number)) return reconcileGroup(context, number)
  const [state, found] = await Promise.all([context.ledger.state(number), lookAround(context)])
  if (state === undefined) return
  if (state.groupId !== 0) return forward(context, state)
  if (state.status === 'publishing') return rollForward(context, await togetherWith(context, state))
  if (found.hasAsked) await storeAsked(context, await togetherWith(context, state))
  if (state.status !== 'received' && !isOverdue(context, state)) return forward(context, state)
  const now = context.now()
  const members = await membersOf(context, state)
  if (members === undefined || members.some((one) => isAwaited(context, one))) return
  if (mayGrow(context, members, now)) return
  await (members.some(isReplaced) ? replaceOpen(context, members) : judge(context, members, found))
}

/** What is under way beside a file. */
interface Around {
  /** Whether a registration has asked for held reads. */
  readonly hasAsked: boolean
  readonly publishing: readonly FileState[]
}

async function lookAround({ store, ledger }: PipelineContext): Promise<Around> {
  const [asked, publishing] = await Promise.all([findAsked(store), ledger.publishing()])
  return { hasAsked: asked !== undefined, publishing }
}

async function reconcileGroup(context: PipelineContext, group: number): Promise<void> {
  const members = await context.ledger.grouped(group)
  const [first] = members
  if (first === undefined) return
  if (members.some(isPublishing)) return rollForward(context, members)
  const found = await lookAround(context)
  if (found.hasAsked) await storeAsked(context, members)
  await (isOpen(first) ? judge(context, members, found) : forward(context, first))
}

async function judge(
  context: PipelineContext,
  members: readonly FileState[],
  around: Around,
): Promise<void> {
  // Before held reads were stored, these were published.
  if (!around.hasAsked) await publishPending(context, members, around.publishing)
  const valid = await recordFirst(context, await decide(context, members), members)
  const publishing = valid.filter(isPublishing)
  if (publishing.length > 0) await publish(context, publishing)
  for (const one of valid) if (!isPublishing(one)) await release(context, one)
}

/** A file that has left its group is landed and loaded by itself. */
export async function release(context: PipelineContext, state: FileState): Promise<void> {
  if (isOpen(state)) await kindOf(state).createStaging(context.store, state)
  await forward(context, state)
}

/** The group of files that are judged together; undefined of all others. */
function groupOf([first]: readonly FileState[]): number | undefined {
  return first?.groupId === 0 ? undefined : first?.groupId
}

/**
 * Stores held reads that a registration has asked for. No file is between its verdict and its attach
 * then, and none is decided: so each file is compared with all reads of a claim or with none. A claim
 * that fails for good does not keep the file up; the sweep tries it again.
 */
async function storeAsked(context: PipelineContext, members: readonly FileState[]): Promise<void> {
  await publishPending(context, members, await context.ledger.publishing())
  try {
    await claimHeld(context)
  } catch (error) {
    if (error instanceof Fault && error.retry) throw error
    logFailure(context.log, { job: 'reconcile' }, error)
  }
}

export function isPublishing({ status }: FileState): boolean {
  return status === 'publishing'
}

/**
 * Records the verdicts on files that are judged together, unless they have verdicts, and returns those
 * that hold. A reconcile whose lock has expired may run twice at once, and the first verdict counts.
 */
async function recordFirst(
  context: PipelineContext,
  decided: readonly FileState[],
  before: readonly FileState[],
): Promise<readonly FileState[]> {
  const numbers = before.map(({ arrival }) => arrival)
  const held = new Map((await context.ledger.states(numbers)).map((one) => [one.arrival, one]))
  const isDecided = before.some((one) => {
    const now = held.get(one.arrival)
    return now?.status !== one.status || now.groupId !== one.groupId
  })
  const news = decided.filter((one) => !before.includes(one))
  if (!isDecided) await context.ledger.recordVerdicts(news, groupOf(before))
  const valid = await context.ledger.states(numbers)
  await forgetDecisions(
    context,
    news.filter((one) => !valid.some(({ decision }) => decision === one.decision)),
  )
  return valid
}

async function forgetDecisions(
  { store }: PipelineContext,
  states: readonly FileState[],
): Promise<void> {
  const numbered = states.map((one): [string, Decision] => {
    const arrival = numberOf(one)
    return [`${arrival} ${one.decision}`, { arrival, decision: one.decision }]
  })
  for (const one of new Map(numbered).values()) await dropDerived(store, one)
}

/**
 * Carries out a verdict whose worker died. What readers may see is attached already. Where the staging
 * of what they have not seen is gone, it is loaded and judged again.
 */
export async function rollForward(
  context: PipelineContext,
  members: readonly FileState[],
): Promise<void> {
  const publishing = members.filter(isPublishing)
  try {
    if (!(await isVisible(context, publishing))) await attachAll(context, publishing)
    return await completeAll(context, publishing)
  } catch (error) {
    if (!isStagingLost(error)) throw error
  }
  for (const one of publishing) await refuseElsewhere(context, one)
  const undecided = members.map((one) => {
    if (!isPublishing(one)) return one
    return { ...one, status: 'received' as const, groupId: 0, fault: '', reason: '' }
  })
  const again = (await decide(context, undecided)).filter((one) => !members.includes(one))
  await context.ledger.record(...again)
  await publish(context, again.filter(isPublishing))
  for (const one of again) if (!isPublishing(one)) await forward(context, one)
}

/** A submitted file is only where it landed: there it is loaded again. */
async function refuseElsewhere(context: PipelineContext, state: FileState): Promise<void> {
  const { source, arrival, manifest } = state
  if (source !== 'submit' || !(await runsElsewhere(context, manifest.machine))) return
  throw new Fault('FILE_AHEAD', `arrival ${arrival} is loaded again where it landed`)
}

/**
 * Publishes a file first whose worker died while publishing it, because its rows may be attached. If
 * that fails, the other file waits (`FILE_AHEAD`) until the first one is published or refused.
 */
async function publishPending(
  context: PipelineContext,
  members: readonly FileState[],
  publishing: readonly FileState[],
): Promise<void> {
  const own = members.map(({ arrival }) => arrival)
  const stuck: number[] = []
  const seen = new Set(members.map(numberOf))
  for (const state of publishing) {
    if (own.includes(state.arrival) || seen.has(numberOf(state))) continue
    seen.add(numberOf(state))
    if (!(await isPublished(context, state))) stuck.push(state.arrival)
  }
  if (stuck.length === 0) return
  throw new Fault('FILE_AHEAD', `arrival ${own.join(', ')} waits for arrival ${stuck.join(', ')}`)
}

/** Publishes a file and its set; a failure that does not pass by itself is logged for that file. */
async function isPublished(context: PipelineContext, state: FileState): Promise<boolean> {
  try {
    await rollForward(context, await togetherWith(context, state))
    return true
  } catch (error) {
    if (error instanceof Fault && error.retry) throw error
    logFailure(context.log, { job: 'reconcile', arrival: state.arrival }, error)
    return false
  }
}

/** The rest of a file may still arrive; files that are judged with it wait too. */
function isAwaited(context: PipelineContext, state: FileState): boolean {
  return state.status === 'waiting' && !isOverdue(context, state)
}

function isOverdue(context: PipelineContext, state: FileState): boolean {
  return (
    state.status === 'waiting' &&
    Math.abs(context.now().getTime() - state.receivedAt.getTime()) > waitingMsMax
  )
}

/**
 * The verdicts on files that are judged together. Loads what has no receipt yet; the ledger keeps the
 * states as they are.
 */
export async function decide(
  context: PipelineContext,
  members: readonly FileState[],
): Promise<readonly FileState[]> {
  const decision = drawDecision()
  const own = members.map((state) => (isOpen(state) ? { ...state, decision } : state))
  try {
    return await decideOnce(context, own)
  } catch (error) {
    await forgetDecisions(context, own.filter(isOpen)).catch(() => undefined)
    throw error
  }
}

async function decideOnce(
  context: PipelineContext,
  members: readonly FileState[],
): Promise<readonly FileState[]> {
  if (groupOf(members) !== undefined) return decideGroup(context, members)
  const ended: FileState[] = []
  const proved: LoadedFile[] = []
  for (const state of members) {
    const found = isOpen(state) ? await toLoaded(context, state) : state
    if ('staged' in found) proved.push(found)
    else ended.push(found)
  }
  const [first] = proved
  if (first === undefined) return ended
  try {
    return [...ended, ...(await kindOf(first.state).reconcile(context, proved, ended))]
  } catch (error) {
    const refusal = toLasting(error)
    return [...ended, ...proved.map(({ state }) => hold(state, refusal))]
  }
}

/** A file with its verdict if it has one by itself, otherwise with its sums, which agree. */
async function toLoaded(
  context: PipelineContext,
  state: FileState,
): Promise<FileState | LoadedFile> {
  if (state.fault !== '') return hold(state, state)
  const sumUp = () =>
    loadAndBalance(context, { ...state, duplicateOf: 0 }).catch((error: unknown) =>
      hold(state, toLasting(error)),
    )
  // What was not a duplicate when it was read is summed up while the ledger is asked again.
  const early = state.duplicateOf === 0 ? [sumUp()] : []
  const looking = firstOf(context, state)
  // A job that has failed must not go on summing up beside its next attempt.
  await Promise.allSettled([looking, ...early])
  const first = await looking
  return first === undefined ? (early[0] ?? sumUp()) : toDuplicate(state, first)
}

/** Why a file is refused; passing faults and programming errors are rethrown. */
function toLasting(error: unknown): Refusal {
  if (!(error instanceof Fault) || (error.retry && error.code !== 'SOURCE_CHANGED')) throw error
  return toRefusal(error)
}

/**
 * The same file, if it was published before this one arrived or while this one loaded. A correction
 * may have come since this one was read.
 */
async function firstOf(context: PipelineContext, state: FileState): Promise<FileState | undefined> {
  if (isSchedule(state.feed)) return undefined
  const same = await context.ledger.published(state)
  if (same === undefined) return undefined
  return (await context.ledger.arrival(state.arrival))?.force ? undefined : same
}
