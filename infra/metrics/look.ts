import { withDeadline } from '../../pipeline/deadline.js'
import { Fault } from '../../schemas/fault.js'
import type { MetricName } from './catalogue.js'
import type { Metrics } from './registry.js'
import type { Sample } from './sample.js'

export interface Look {
  /** What it tells; none of them is told where it fails. */
  readonly names: readonly MetricName[]
  /** Tells whether it could be told. */
  readonly up?: 'tieline_store_up' | 'tieline_queue_up'
  read(): Promise<readonly Sample[]>
}

/** Less than the 10 s after which Prometheus gives a scrape up, and the 5 s of a probe. */
const answerMsMax = 4_000
/** A store that is silent for longer is away: what was asked of it does not pile up until it is back. */
export const silentMsMax = 3_500

/** Makes of a look what takes it for a scrape: it never rejects, and ends within 4 seconds. */
export function createLook(
  metrics: Metrics,
  onFailure: (error: unknown) => void,
): (look: Look) => () => Promise<void> {
  return ({ names, up, read }) =>
    async () => {
      const samples = await within(read()).catch((error: unknown) => {
        onFailure(error)
        return undefined
      })
      for (const name of names) metrics.clear(name)
      for (const one of samples ?? []) metrics.tell(one)
      if (up !== undefined) metrics.set(up, {}, Number(samples !== undefined))
    }
}

/** What was asked for, unless it takes longer: `OVERLOAD`. */
export function within<T>(asked: Promise<T>, msMax = answerMsMax): Promise<T> {
  return withDeadline(asked, msMax, () => {
    throw new Fault('OVERLOAD', `no answer within ${msMax} ms`)
  })
}

/** Asks once in a stretch of time and tells that again; a failure is not kept. */
export function keepFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined
  let askedAt = 0
  return () => {
    if (kept !== undefined && performance.now() - askedAt < ms) return kept
    askedAt = performance.now()
    const asked = ask()
    kept = asked
    asked.catch(() => {
      if (kept === asked) kept = undefined
    })
    return asked
  }
}
