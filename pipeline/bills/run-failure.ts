import { type Sql, sql } from '../store/sql.js'
import type { RunFailure } from './failure.js'

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
