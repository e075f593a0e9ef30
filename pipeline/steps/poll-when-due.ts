import { Fault, type FaultCode } from '../../schemas/fault.js'
import type { PipelineContext } from '../context.js'
import { recordHealed } from '../ledger/healed.js'
import { isLeftAlone, pauseMsOf } from '../queues/back-off.js'
import { letPass } from '../queues/wait.js'
import { readSources, recordFailure, recordOthers, type SourceFailure } from '../sources/state.js'
import { digestOf, poll, type Stability } from './poll.js'

/** Faults of the source itself. */
const blames: ReadonlySet<FaultCode> = new Set([
  'SOURCE_UNREACHABLE',
  'SOURCE_LOGIN',
  'SOURCE_IDENTITY',
  'SOURCE_REFUSED',
  'PERMISSION',
])

const pauseMsMax = 300_000
/** For so long neither the store nor the ledger is asked about a source that lists the same. */
const quietMs = 60_000

/** What a worker remembers of a source between its polls. */
export interface Remembered {
  readonly stability: Stability
  /** The last poll, if the source was neither paused nor failing and needed nothing. */
  quiet?:
    | { readonly listing: string; readonly others: string; readonly untilMs: number }
    | undefined
}

/**
 * Polls a source unless an operator paused it. A failing source is polled with exponential back-off,
 * five minutes at most; the store keeps the failure until the source responds again. What other workers
 * record of a source is seen with its next file, or within a minute.
 */
export async function pollWhenDue(
  context: PipelineContext,
  name: string,
  remembered: Remembered,
): Promise<void> {
  if (await isStillQuiet(context, name, remembered)) return
  remembered.quiet = undefined
  const { pausedAt, failure, others = '' } = (await readSources(context.store)).get(name) ?? {}
  if (pausedAt !== undefined) return
  if (failure !== undefined && isPaused(failure, context.now())) return
  try {
    const listing = await poll(context, name, remembered.stability)
    if (failure !== undefined) await recordRecovered(context, name, failure)
    const seen = await reportOthers(context, name, others)
    const untilMs = context.now().getTime() + quietMs
    if (listing !== undefined) remembered.quiet = { listing, others: seen, untilMs }
  } catch (error) {
    if (error instanceof Fault && blames.has(error.code)) {
      await recordFailure(context.store, name, nextFailure(context, { name, failure, error }))
    }
    throw error
  }
}

/**
 * Runs a poll, and lists its source among the waits while it fails with what is not recorded with the source:
 * no file is claimed then.
 */
export async function pollOrHold(
  { queues }: Pick<PipelineContext, 'queues'>,
  source: string,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    const isHeld = error instanceof Fault && !blames.has(error.code)
    const change = isHeld ? queues.polls.hold(source, error) : queues.polls.release(source)
    await change.catch(letPass)
    throw error
  }
  await queues.polls.release(source).catch(letPass)
}

/** Whether a source lists what it did when it needed nothing. A fault of the listing is left to the poll. */
async function isStillQuiet(
  { sources, now }: PipelineContext,
  name: string,
  { quiet, stability }: Remembered,
): Promise<boolean> {
  const source = sources.get(name)
  if (source === undefined || quiet === undefined) return false
  const { listing, others, untilMs } = quiet
  if (!isLeftAlone({ untilMs, nowMs: now().getTime(), mostMs: quietMs })) return false
  const beganMs = now().getTime()
  try {
    if (digestOf(await source.list()) !== listing) return false
    stability.listedMs = beganMs
    return (source.others?.() ?? '') === others
  } catch (error) {
    if (error instanceof Fault) return false
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
async function reportOthers(
  context: PipelineContext,
  name: string,
  known: string,
): Promise<string> {
  const others = context.sources.get(name)?.others?.() ?? ''
  if (others === known) return others
  await recordOthers(context.store, name, { others, at: context.now() })
  if (others !== '') context.log.warn({ source: name }, others)
  return others
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
