import { isSchedule } from '../schemas/feed.js'
import type { PipelineContext } from './context.js'
import { toRefusal } from './failure.js'
import { type FileState, isGroup, isOpen } from './ledger/file-state.js'
import { hold } from './ledger/verdict.js'
import type { JobName } from './queues/jobs.js'
import { togetherWith } from './records/set.js'
import { forward } from './steps/forward.js'
import { isVisible } from './steps/publish.js'
import { blankState } from './steps/receive.js'
import { isPublishing, release, rollForward } from './steps/reconcile.js'

/**
 * Quarantines a file that could not be read, loaded or attached after all attempts. Once it has a
 * verdict, only the failure of its reconcile counts; that of a late load is ignored. A file that
 * readers may see is only completed.
 */
export async function failFile(
  context: PipelineContext,
  step: FailedStep,
  error: unknown,
): Promise<void> {
  if (isGroup(step.arrival)) return failGroup(context, step, error)
  const arrival = await context.ledger.arrival(step.arrival)
  if (arrival === undefined) return
  const state = (await context.ledger.state(step.arrival)) ?? blankState(context, arrival)
  if (state.status === 'publishing' && step.job === 'reconcile') {
    return failPublishing(context, await togetherWith(context, state), error)
  }
  // A set has one verdict: its reconcile loads what is missing, and fails for all.
  if (step.job === 'load' && isSchedule(state.feed)) return
  const isAlone = state.status === 'received' && state.groupId === 0
  if (isAlone) await refuse(context, [state], error)
}

interface FailedStep {
  readonly job: JobName
  readonly arrival: number
}

async function failPublishing(
  context: PipelineContext,
  members: readonly FileState[],
  error: unknown,
): Promise<void> {
  const publishing = members.filter(isPublishing)
  if (await isVisible(context, publishing)) return rollForward(context, members)
  return refuse(context, publishing, error)
}

/** A group that cannot be decided is given up: its files are loaded one by one. */
async function failGroup(
  context: PipelineContext,
  { job, arrival: group }: FailedStep,
  error: unknown,
): Promise<void> {
  const members = await context.ledger.grouped(group)
  if (job !== 'reconcile' || members.length === 0) return
  if (members.some(isPublishing)) return failPublishing(context, members, error)
  const open = members.filter(isOpen).map((one) => ({ ...one, groupId: 0 }))
  await context.ledger.recordVerdicts(open, group)
  for (const one of await heldOf(context, open)) await release(context, one)
}

async function refuse(
  context: PipelineContext,
  states: readonly FileState[],
  error: unknown,
): Promise<void> {
  const { ledger } = context
  const decided = states.map((state) => hold(state, toRefusal(error)))
  await (states.some(isPublishing) ? ledger.record(...decided) : ledger.recordVerdicts(decided))
  for (const state of await heldOf(context, decided)) await forward(context, state)
}

/** What the ledger holds of files: of two verdicts the first. */
function heldOf(
  { ledger }: PipelineContext,
  states: readonly FileState[],
): Promise<readonly FileState[]> {
  return ledger.states(states.map(({ arrival }) => arrival))
}
