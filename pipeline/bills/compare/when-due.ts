import type { PipelineContext } from '../../context.js'
import type { Store } from '../../store/clickhouse.js'
import { insertLatest } from '../../store/latest.js'
import { sql, typed } from '../../store/sql.js'
import { failureColumns, isPausing, msOf, nextFailure, type RunFailure } from '../failure.js'
import { localDay } from '../run.js'
import { compare } from './compare.js'

type DueContext = Pick<PipelineContext, 'store' | 'profile' | 'zone' | 'now' | 'queues' | 'log'>

/** A cycle whose rates are due for comparison, and its failures in a row. */
interface CycleDue extends Pick<RunFailure, 'failures' | 'since' | 'retryAt'> {
  readonly cycleId: string
}

/** Queues a comparison of rates for each cycle of which one is due. Returns whether there are any. */
export async function queueComparisons(context: DueContext): Promise<boolean> {
  const due = await findDue(context)
  for (const { cycleId } of due) await context.queues.add('compare', { v: 1, cycleId })
  return due.length > 0
}

/**
 * Compares the rates of a cycle's meters if that is due: a job that was queued twice, or that another
 * worker has done, changes nothing. A failure is recorded and retried with exponential back-off.
 */
export async function compareWhenDue(context: DueContext, cycleId: string): Promise<void> {
  const due = (await findDue(context)).find((one) => one.cycleId === cycleId)
  if (due === undefined) return
  try {
    const { meters, comparisons } = await compare(context, { cycleId })
    context.log.info({ job: 'compare', cycle: cycleId, meters, comparisons }, 'rates are compared')
  } catch (error) {
    const failure = nextFailure(due, error, { job: 'compare', now: context.now() })
    await recordComparison(context.store, cycleId, failure)
    throw error
  }
  if (due.failures > 0) await recordComparison(context.store, cycleId)
}

const hourMs = 3_600_000

/**
 * The cycles to compare now, once for each of their periods (a read is scanned a dozen times in all):
 * those whose latest ended period is billed, its late reads have had their time, and it is not in a
 * comparison yet. Earlier periods do not count: the 12 months of the latest one include them.
 */
async function findDue({ store, profile, zone, now }: DueContext): Promise<readonly CycleDue[]> {
  const { companyCodes, timeZone, usage, billing } = profile
  const late = new Date(now().getTime() - usage.lateAfterHours * hourMs)
  const before = localDay({ zone, now: () => late })
  const cycles = await store.rows<CycleDue>({
    sql: sql`SELECT c.billing_cycle_id AS cycleId, s.failures AS failures, ${msOf(sql`s.since`)} AS since, ${msOf(sql`s.retry_at`)} AS retryAt
      FROM (
        SELECT billing_cycle_id, max(last_date) AS ended_on, argMax(start_date, last_date) AS started_on
        FROM billing_cycle
        WHERE company_code IN ${companyCodes} AND last_date < ${typed('Date', before)}
          AND toInt32(last_date) >= toInt32(${typed('Date', before)}) - ${typed('Int32', billing.daysBackMax)}
        GROUP BY billing_cycle_id
      ) AS c
      INNER JOIN (
        SELECT DISTINCT billing_cycle_id, start_date FROM bill_run
        WHERE as_of IS NULL AND last_date < toDate(computed_at, ${timeZone})
      ) AS b ON b.billing_cycle_id = c.billing_cycle_id AND b.start_date = c.started_on
      LEFT JOIN comparison_run_current AS r ON r.billing_cycle_id = c.billing_cycle_id
      LEFT JOIN (SELECT * FROM comparison_state FINAL) AS s ON s.billing_cycle_id = c.billing_cycle_id
      WHERE r.last_date < c.ended_on
        AND c.billing_cycle_id IN (SELECT toString(billing_cycle_id) FROM tenancy FINAL)
      ORDER BY c.ended_on, cycleId`,
  })
  return cycles.filter((one) => !isPausing(one, now()))
}

/** Records that the rates of a cycle were compared, or why that failed. */
async function recordComparison(
  store: Store,
  cycleId: string,
  failure?: RunFailure,
): Promise<void> {
  const row = { billing_cycle_id: cycleId, ...failureColumns(failure) }
  await insertLatest(store, 'comparison_state', [row])
}
