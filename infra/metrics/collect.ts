import { withDeadline } from '../../pipeline/deadline.js'
import { Fault } from '../../schemas/fault.js'
import type { MetricName } from './catalogue.js'
import type { MetricSample, Metrics } from './registry.js'

/** Gauges that one query fills. */
export interface Collector {
  /** What `read` reports; all of them are cleared when it fails. */
  readonly names: readonly MetricName[]
  /** Reports whether `read` succeeded. */
  readonly up?: 'tieline_store_up' | 'tieline_queue_up'
  read(): Promise<readonly MetricSample[]>
}

/** Below the timeouts of Prometheus (10 s) and of a probe (5 s). */
const answerMsMax = 4_000
/** A store that is silent for longer does not answer; its requests do not pile up. */
export const silentMsMax = 3_500

/** Runs a collector for a scrape: never rejects, and ends within 4 seconds. */
export async function collect(
  { names, up, read }: Collector,
  metrics: Metrics,
  onFailure: (error: unknown) => void,
): Promise<void> {
  const samples = await withTimeout(read()).catch((error: unknown) => {
    onFailure(error)
    return undefined
  })
  for (const name of names) metrics.clear(name)
  for (const one of samples ?? []) metrics.record(one)
  if (up !== undefined) metrics.set(up, {}, Number(samples !== undefined))
}

/** The result, or `OVERLOAD` when it takes longer. */
export function withTimeout<T>(result: Promise<T>, msMax = answerMsMax): Promise<T> {
  return withDeadline(result, msMax, () => {
    throw new Fault('OVERLOAD', `no answer within ${msMax} ms`)
  })
}

/** Caches a result for some time; a failure is not cached. */
export function keepFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined
  let readAt = 0
  return () => {
    if (kept !== undefined && performance.now() - readAt < ms) return kept
    readAt = performance.now()
    const result = read()
    kept = result
    result.catch(() => {
      if (kept === result) kept = undefined
    })
    return result
  }
}
