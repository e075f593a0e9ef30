import { randomInt } from 'node:crypto'
import { Fault } from '../../schemas/fault.js'
import { isSchedule } from '../../schemas/feed.js'
import type { PipelineContext } from '../context.js'
import { findAsked } from '../customers/held.js'
import { claimHeld } from '../customers/registrations.js'
import { logFailure, toRefusal } from '../failure.js'
import type { LoadedFile } from '../kind.js'
import { kindOf } from '../kinds.js'
import type { FileState } from '../ledger/file-state.js'
import { hold, type Refusal, toDuplicate } from '../ledger/verdict.js'
import type { JobName } from '../queues/jobs.js'
import { mayGrow, membersOf } from '../records/set.js'
import { type Decision, dropDerived } from '../store/staging.js'
import { forward } from './forward.js'
import { isStagingLost, loadAndBalance } from './load.js'
import { attachAll, completeAll, publish } from './publish.js'
import { blankState } from './receive.js'

const waitingMsMax = 24 * 3_600_000

/**
 * Decides a file's fate; nothing else does. Rows and control total on arrival, in the receipts and in
 * staging must be equal, or nothing is published. A verdict `publishing` is carried out at once;
 * after a crash it only rolls forward.
 */
export async function reconcile(context: PipelineContext, arrival: number): Promise<void> {
  const state = await context.ledger.state(arrival)
  if (state === undefined) return
  const members = await membersOf(context, state)
  if (state.status === 'publishing') return resume(context, members)
  await storeAsked(context, arrival)
  if (state.status !== 'received' && !isOverdue(context, state)) return forward(context, state)
  if (members.length === 0 || members.some((one) => isAwaited(context, one))) return
  if (mayGrow(context, members)) return
  await publishPending(context, arrival)
  const valid = await recordFirst(context, await decide(context, members), members)
  const publishing = valid.filter(isPublishing)
  if (publishing.length > 0) await publish(context, publishing)
  for (const one of valid) if (!isPublishing(one)) await forward(context, one)
}

/**
 * Stores held reads that a registration has asked for. No file is between its verdict and its attach
 * then, and none is decided: so each file is compared with all reads of a claim or with none. A claim
 * that fails for good does not keep the file up; the sweep tries it again.
 */
async function storeAsked(context: PipelineContext, arrival: number): Promise<void> {
  if ((await findAsked(context.store)) === undefined) return
  await publishPending(context, arrival)
  try {
    await claimHeld(context)
  } catch (error) {
    if (error instanceof Fault && error.retry) throw error
    logFailure(context.log, { job: 'reconcile' }, error)
  }
}

function isPublishing({ status }: FileState): boolean {
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
  const held = await Promise.all(before.map(({ arrival }) => context.ledger.state(arrival)))
  const isDecided = held.some((now, at) => now?.status !== before[at]?.status)
  const news = decided.filter((one) => !before.includes(one))
  if (!isDecided) await context.ledger.recordVerdicts(...news)
  const states = await Promise.all(before.map(({ arrival }) => context.ledger.state(arrival)))
  const valid = states.filter((state) => state !== undefined)
  await forgetDecisions(
    context,
    news.filter((one) => !valid.some(({ decision }) => decision === one.decision)),
  )
  return valid
}

async function forgetDecisions(
  { store }: PipelineContext,
  decisions: readonly Decision[],
): Promise<void> {
  for (const one of decisions) await dropDerived(store, one)
}

/**
 * Carries out a verdict whose worker died. What readers may see is attached already. Where the staging
 * of what they have not seen is gone, it is loaded and judged again.
 */
async function resume(context: PipelineContext, members: readonly FileState[]): Promise<void> {
  const publishing = members.filter(isPublishing)
  try {
    if (!(await isVisible(context, publishing))) await attachAll(context, publishing)
    return await completeAll(context, publishing)
  } catch (error) {
    if (!isStagingLost(error)) throw error
  }
  const undecided = members.map((one) =>
    isPublishing(one) ? { ...one, status: 'received' as const, fault: '', reason: '' } : one,
  )
  const again = (await decide(context, undecided)).filter((one) => !members.includes(one))
  await context.ledger.record(...again)
  await publish(context, again.filter(isPublishing))
  for (const one of again) if (!isPublishing(one)) await forward(context, one)
}

/** Files that are published together are attached one after the other, but numbered at once. */
async function isVisible(
  { store }: PipelineContext,
  states: readonly FileState[],
): Promise<boolean> {
  const seen = states.map((one) => kindOf(one).isVisible(store, one))
  return (await Promise.all(seen)).includes(true)
}

/**
 * Publishes a file first whose worker died while publishing it, because its rows may be attached. If
 * that fails, the other file waits (`FILE_AHEAD`) until the first one is published or refused.
 */
async function publishPending(context: PipelineContext, arrival: number): Promise<void> {
  const stuck: number[] = []
  for (const state of await context.ledger.publishing()) {
    if (state.arrival === arrival) continue
    if (!(await isPublished(context, state))) stuck.push(state.arrival)
  }
  if (stuck.length === 0) return
  throw new Fault('FILE_AHEAD', `arrival ${arrival} waits for arrival ${stuck.join(', ')}`)
}

/** Publishes a file and its set; a failure that does not pass by itself is logged for that file. */
async function isPublished(context: PipelineContext, state: FileState): Promise<boolean> {
  try {
    await resume(context, await membersOf(context, state))
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
    context.now().getTime() - state.receivedAt.getTime() > waitingMsMax
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
  const decision = randomInt(1, 2 ** 47)
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

function isOpen({ status }: FileState): boolean {
  return status === 'received' || status === 'waiting'
}

/** A file with its verdict if it has one by itself, otherwise with its sums, which agree. */
async function toLoaded(
  context: PipelineContext,
  state: FileState,
): Promise<FileState | LoadedFile> {
  if (state.fault !== '') return hold(state, state)
  const first = await firstOf(context, state)
  if (first !== undefined) return toDuplicate(state, first)
  try {
    return await loadAndBalance(context, state)
  } catch (error) {
    return hold(state, toLasting(error))
  }
}

/** Why a file is refused; passing faults and programming errors are rethrown. */
function toLasting(error: unknown): Refusal {
  if (!(error instanceof Fault) || (error.retry && error.code !== 'SOURCE_CHANGED')) throw error
  return toRefusal(error)
}

/** The same file, if it was published before this one arrived or while this one loaded. */
async function firstOf(context: PipelineContext, state: FileState): Promise<FileState | undefined> {
  if (state.duplicateOf !== 0) return context.ledger.state(state.duplicateOf)
  if (isSchedule(state.feed)) return undefined
  const same = await context.ledger.published(state.fileName, state.fileId)
  if (same === undefined) return undefined
  return (await context.ledger.arrival(state.arrival))?.force ? undefined : same
}

/**
 * Quarantines a file that could not be read, loaded or attached after all attempts. Once it has a
 * verdict, only the failure of its reconcile counts; that of a late load is ignored. A file that
 * readers may see is only completed.
 */
export async function failFile(
  context: PipelineContext,
  step: { readonly job: JobName; readonly arrival: number },
  error: unknown,
): Promise<void> {
  const arrival = await context.ledger.arrival(step.arrival)
  if (arrival === undefined) return
  const state = (await context.ledger.state(step.arrival)) ?? blankState(context, arrival)
  if (state.status === 'publishing' && step.job === 'reconcile') {
    const members = await membersOf(context, state)
    const publishing = members.filter(isPublishing)
    if (await isVisible(context, publishing)) return resume(context, members)
    return refuse(context, publishing, error)
  }
  if (state.status === 'received') await refuse(context, [state], error)
}

async function refuse(
  context: PipelineContext,
  states: readonly FileState[],
  error: unknown,
): Promise<void> {
  const { ledger } = context
  const decided = states.map((state) => hold(state, toRefusal(error)))
  await (states.some(isPublishing) ? ledger.record(...decided) : ledger.recordVerdicts(...decided))
  for (const state of decided) await forward(context, state)
}
