import type { Store } from '../../store/clickhouse.js'
import { sql, typed } from '../../store/sql.js'
import { failureColumns, msOf, type RunFailure } from '../failure.js'

/** A cycle whose rates are due for comparison, and its failures in a row. */
export interface CycleDue extends Pick<RunFailure, 'failures' | 'since' | 'retryAt'> {
  readonly cycleId: string
}

export interface CyclesWanted {
  readonly companyCodes: readonly string[]
  /** Local day; the reads of periods that ended before it have arrived. */
  readonly before: string
  readonly daysBackMax: number
  readonly zone: string
}

/**
 * The cycles whose latest ended period is billed and not in a comparison yet. Earlier periods do not
 * count: the 12 months of the latest one include them.
 */
export function readCyclesDue(
  store: Store,
  { companyCodes, before, daysBackMax, zone }: CyclesWanted,
): Promise<readonly CycleDue[]> {
  return store.rows<CycleDue>({
    sql: sql`SELECT c.billing_cycle_id AS cycleId, s.failures AS failures, ${msOf(sql`s.since`)} AS since, ${msOf(sql`s.retry_at`)} AS retryAt
      FROM (
        SELECT billing_cycle_id, max(last_date) AS ended_on, argMax(start_date, last_date) AS started_on
        FROM billing_cycle
        WHERE company_code IN ${companyCodes} AND last_date < ${typed('Date', before)}
          AND toInt32(last_date) >= toInt32(${typed('Date', before)}) - ${typed('Int32', daysBackMax)}
        GROUP BY billing_cycle_id
      ) AS c
      INNER JOIN (
        SELECT DISTINCT billing_cycle_id, start_date FROM bill_run
        WHERE as_of IS NULL AND last_date < toDate(published_at, ${zone})
      ) AS b ON b.billing_cycle_id = c.billing_cycle_id AND b.start_date = c.started_on
      LEFT JOIN comparison_run_current AS r ON r.billing_cycle_id = c.billing_cycle_id
      LEFT JOIN (SELECT * FROM comparison_state FINAL) AS s ON s.billing_cycle_id = c.billing_cycle_id
      WHERE r.last_date < c.ended_on
        AND c.billing_cycle_id IN (SELECT toString(billing_cycle_id) FROM tenancy FINAL)
      ORDER BY c.ended_on, cycleId`,
  })
}

/** Records that the rates of a cycle were compared, or why that failed. */
export async function recordComparison(
  store: Store,
  cycleId: string,
  failure?: RunFailure,
): Promise<void> {
  const row = { billing_cycle_id: cycleId, ...failureColumns(failure) }
  await store.insert('comparison_state', [row])
}
