import { sql, typed } from '../../../pipeline/store/sql.js'
import { dayAt } from '../../../schemas/time/zone.js'
import { type PanelSource, query } from './query.js'

const cyclesMax = 40

/** A billing cycle in its current period, or in one that ended yesterday and is billed today. */
export interface CycleDay {
  readonly cycle: string
  readonly company: string
  readonly from: string
  readonly to: string
  /** Day of the period, from 1; `days` + 1 if the period ended yesterday. */
  readonly day: number
  readonly days: number
  /** Bills of the latest run that have a total, and all its bills. */
  readonly billed: number
  readonly bills: number
  /** When that run was published, ISO 8601; empty without a run. */
  readonly billedAt: string
}

export interface CycleDays {
  readonly today: string
  /** Number of cycles with a current period. */
  readonly running: number
  /** Sorted by the end of their period. */
  readonly cycles: readonly CycleDay[]
}

/**
 * The progress of the billing cycles, those that end first at the top. The number of bills is that of
 * the latest run: customers are not counted.
 */
export async function readCycleDays(source: PanelSource): Promise<CycleDays> {
  const { zone, now } = source
  const today = dayAt(zone, now())
  const date = typed('Date', today)
  const rows = await query<CycleDay & { running: number }>(
    source,
    sql`SELECT c.billing_cycle_id AS cycle, c.company_code AS company,
        toString(c.start_date) AS from, toString(c.last_date) AS to,
        toUInt32(${date} - c.start_date + 1) AS day,
        toUInt32(c.last_date - c.start_date + 1) AS days,
        toUInt32(r.bills['computed'] + r.bills['incomplete'] + r.bills['projected']) AS billed,
        toUInt32(arraySum(mapValues(r.bills))) AS bills,
        if(r.run = '', '', formatDateTime(r.at, '%FT%TZ')) AS billedAt,
        toUInt32(countIf(c.last_date >= ${date}) OVER ()) AS running
      FROM billing_cycle AS c
      LEFT JOIN (
        SELECT billing_cycle_id, start_date, max(b.run) AS run, argMax(b.bills, b.run) AS bills,
          argMax(b.published_at, b.run) AS at
        FROM bill_run AS b
        WHERE as_of IS NULL AND start_date <= ${date} AND last_date + 1 >= ${date}
        GROUP BY billing_cycle_id, start_date
      ) AS r ON r.billing_cycle_id = c.billing_cycle_id AND r.start_date = c.start_date
      WHERE c.start_date <= ${date} AND c.last_date + 1 >= ${date}
      ORDER BY c.last_date, cycle LIMIT ${cyclesMax}`,
  )
  const cycles = rows.map(({ running: _, ...cycle }) => cycle)
  return { today, running: rows[0]?.running ?? 0, cycles }
}
