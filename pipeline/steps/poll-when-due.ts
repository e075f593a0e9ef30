import { Fault, type FaultCode } from '../../schemas/fault.js'
import type { PipelineContext } from '../context.js'
import { recordHealed } from '../ledger/healed.js'
import { isLeftAlone, pauseMsOf } from '../queues/back-off.js'
import { readSources, recordFailure, recordOthers, type SourceFailure } from '../sources/state.js'
import { poll, type Stability } from './poll.js'

/** Faults of the source itself. */
const blames: ReadonlySet<FaultCode> = new Set([
  'SOURCE_UNREACHABLE',
  'SOURCE_LOGIN',
  'SOURCE_IDENTITY',
  'SOURCE_REFUSED',
  'PERMISSION',
])

const pauseMsMax = 300_000

/**
 * Polls a source unless an operator paused it. A failing source is polled with exponential back-off,
 * five minutes at most; the store keeps the failure until the source responds again.
 */
export async function pollWhenDue(
  context: PipelineContext,
  name: string,
  stability: Stability,
): Promise<void> {
  const { pausedAt, failure, others = '' } = (await readSources(context.store)).get(name) ?? {}
  if (pausedAt !== undefined) return
  if (failure !== undefined && isPaused(failure, context.now())) return
  try {
    await poll(context, name, stability)
    if (failure !== undefined) await recordRecovered(context, name, failure)
    await reportOthers(context, name, others)
  } catch (error) {
    if (error instanceof Fault && blames.has(error.code)) {
      await recordFailure(context.store, name, nextFailure(context, { name, failure, error }))
    }
    throw error
  }
}

/** What healed is recorded first: a step that ends in between records the same again. */
async function recordRecovered(
  { store, now }: PipelineContext,
  name: string,
  { since: beganAt, code, detail }: SourceFailure,
): Promise<void> {
  const healedAt = now()
  await recordHealed(store, { kind: 'source', subject: name, beganAt, healedAt, code, detail })
  await recordFailure(store, name, undefined)
}

/** A link, a folder or a special file is logged when it appears, not with each poll. */
async function reportOthers(context: PipelineContext, name: string, known: string): Promise<void> {
  const others = context.sources.get(name)?.others?.() ?? ''
  if (others === known) return
  await recordOthers(context.store, name, { others, at: context.now() })
  if (others !== '') context.log.warn({ source: name }, others)
}

function isPaused({ retryAt }: SourceFailure, now: Date): boolean {
  return isLeftAlone({ untilMs: retryAt.getTime(), nowMs: now.getTime(), mostMs: pauseMsMax })
}

function nextFailure(
  context: PipelineContext,
  { name, failure, error }: { name: string; failure: SourceFailure | undefined; error: Fault },
): SourceFailure {
  const { pollSeconds = 1 } = context.profile.sources.find((one) => one.name === name) ?? {}
  const failures = (failure?.failures ?? 0) + 1
  const pauseMs = pauseMsOf(failures, { firstMs: pollSeconds * 1_000, mostMs: pauseMsMax })
  const at = context.now()
  return {
    failures,
    code: error.code,
    detail: error.detail,
    since: failure?.since ?? at,
    retryAt: new Date(at.getTime() + pauseMs),
  }
}
