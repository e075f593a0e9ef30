import { readDismissed } from '../../../pipeline/ledger/dismissals.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { toInstant } from '../../../pipeline/store/columns.js'
import { sql } from '../../../pipeline/store/sql.js'
import type { Profile } from '../../../schemas/settings/profile.js'

/** Bills of a period, or a comparison of a cycle's rates, that keep failing. */
export interface FailingRun {
  /** Of the problem, for its dismissal. */
  readonly key: string
  readonly job: 'bill' | 'compare'
  readonly cycle: string
  /** First and last day of the period; empty for a comparison. */
  readonly first: string
  readonly last: string
  /** When it failed first, and when it is tried again; UTC. */
  readonly since: string
  readonly retryAt: string
  /** In a row. */
  readonly failures: number
  readonly code: string
  readonly detail: string
}

/** Those that are not dismissed. Faults: the store's. */
export async function readOpenRuns(store: Store, profile: Profile): Promise<readonly FailingRun[]> {
  const [runs, isDismissed] = await Promise.all([
    store.rows<FailingRun>({ sql: failingRuns(profile) }),
    readDismissed(store),
  ])
  const open = runs.filter(({ key, since }) => !isDismissed({ key, since: toInstant(since) }))
  return open.sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** A run by hand ends the failure of its period; a period that is too old is not tried again. */
const failingRuns = ({ companyCodes, timeZone, billing }: Profile) => {
  const today = sql`toInt32(toDate(now(), ${timeZone}))`
  const periods = sql`SELECT * FROM billing_cycle WHERE company_code IN ${companyCodes}
      AND toInt32(last_date) >= ${today} - ${billing.daysBackMax}`
  const failure = sql`formatDateTime(s.since, '%F %T') AS since, formatDateTime(s.retry_at, '%F %T') AS retryAt,
      s.failures AS failures, toString(s.code) AS code`
  return sql`SELECT concat('bill:', s.billing_cycle_id, ':', first) AS key, 'bill' AS job,
      s.billing_cycle_id AS cycle, toString(s.start_date) AS first, toString(c.last_date) AS last, ${failure}, s.detail AS detail
    FROM (SELECT * FROM bill_state FINAL WHERE failures > 0) AS s
    ANY INNER JOIN (${periods}) AS c ON c.billing_cycle_id = s.billing_cycle_id AND c.start_date = s.start_date
    LEFT JOIN (
      SELECT billing_cycle_id, start_date, max(published_at) AS ended_at
      FROM bill_run WHERE as_of IS NULL GROUP BY billing_cycle_id, start_date
    ) AS r ON r.billing_cycle_id = s.billing_cycle_id AND r.start_date = s.start_date
    WHERE r.ended_at < s.recorded_at
    UNION ALL
    SELECT concat('compare:', s.billing_cycle_id) AS key, 'compare', s.billing_cycle_id, '', '', ${failure},
      concat('rate comparison failed: ', s.detail)
    FROM (SELECT * FROM comparison_state FINAL WHERE failures > 0) AS s
    LEFT JOIN comparison_run_current AS r ON r.billing_cycle_id = s.billing_cycle_id
    WHERE r.published_at < s.recorded_at AND s.billing_cycle_id IN (
      SELECT billing_cycle_id FROM (${periods}) WHERE toInt32(last_date) < ${today})`
}
