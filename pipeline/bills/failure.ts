import { Fault } from '../../schemas/fault.js'
import { isLeftAlone, pauseMsOf } from '../queues/back-off.js'
import type { JobName } from '../queues/jobs.js'
import { type Sql, sql } from '../store/sql.js'

/** Why a run failed last, and when it is tried again; instants are ms since 1970. */
export interface RunFailure {
  /** In a row. */
  readonly failures: number
  readonly code: string
  readonly detail: string
  /** When it failed first. */
  readonly since: number
  readonly retryAt: number
}

const pauseMs = { firstMs: 60_000, mostMs: 3_600_000 }

/** The record of a failed run, with exponential back-off. */
export function nextFailure(
  before: Pick<RunFailure, 'failures' | 'since'>,
  error: unknown,
  { job, now }: { readonly job: JobName; readonly now: Date },
): RunFailure {
  const failures = before.failures + 1
  const { code, detail } =
    error instanceof Fault
      ? error
      : { code: 'unexpected', detail: `unexpected failure: see the worker log, job ${job}` }
  return {
    failures,
    code,
    detail,
    since: before.failures > 0 ? before.since : now.getTime(),
    retryAt: now.getTime() + pauseMsOf(failures, pauseMs),
  }
}

/** Whether a failed run is not due for its next attempt yet. */
export function isPausing({ retryAt }: Pick<RunFailure, 'retryAt'>, now: Date): boolean {
  return isLeftAlone({ untilMs: retryAt, nowMs: now.getTime(), mostMs: pauseMs.mostMs })
}
/** SQL of an instant as ms since 1970, in a type that JSON has as a number. */
export function msOf(at: Sql): Sql {
  return sql`toFloat64(toUnixTimestamp64Milli(${at}))`
}

/** An instant in ms since 1970 as the engine reads it. */
export function instantOf(ms: number): string {
  return new Date(ms).toISOString()
}

/** A failure, or that there is none, as the columns of the tables that remember runs. */
export function failureColumns(failure: RunFailure | undefined): Readonly<Record<string, unknown>> {
  const { since = 0, retryAt = 0, ...more } = failure ?? {}
  return { since: instantOf(since), retry_at: instantOf(retryAt), ...more }
}
