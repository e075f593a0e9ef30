import { dayAt } from '../../../schemas/time/zone.js'
import { ask, type PanelSource } from './ask.js'

const cyclesMax = 40

/** A billing cycle in the period that runs, or in one that ended yesterday and is billed today. */
export interface CycleDay {
  readonly cycle: string
  readonly company: string
  readonly from: string
  readonly to: string
  /** Of the period, from 1; one more than it has where it ended yesterday. */
  readonly day: number
  readonly days: number
  /** Bills of the latest run that have a total, and all of them. */
  readonly billed: number
  readonly bills: number
  /** When that run was published, ISO 8601; empty where there was none. */
  readonly billedAt: string
}

export interface CycleDays {
  readonly today: string
  /** How many cycles have a period that runs. */
  readonly running: number
  /** Those whose period ends first. */
  readonly cycles: readonly CycleDay[]
}

/**
 * How far the cycles have come, those that end first at the top. What a run published tells how many
 * bills there are: customers are not counted for it.
 */
export async function readCycleDays(source: PanelSource): Promise<CycleDays> {
  const { zone, now } = source
  const today = dayAt(zone, now())
  const rows = await ask<CycleDay & { running: number }>(source, {
    sql: `SELECT c.billing_cycle_id AS cycle, c.company_code AS company,
        toString(c.start_date) AS from, toString(c.last_date) AS to,
        toUInt32({today:Date} - c.start_date + 1) AS day,
        toUInt32(c.last_date - c.start_date + 1) AS days,
        toUInt32(r.bills['computed'] + r.bills['incomplete'] + r.bills['projected']) AS billed,
        toUInt32(arraySum(mapValues(r.bills))) AS bills,
        if(r.run = '', '', formatDateTime(r.at, '%FT%TZ')) AS billedAt,
        toUInt32(countIf(c.last_date >= {today:Date}) OVER ()) AS running
      FROM billing_cycle AS c
      LEFT JOIN (
        SELECT billing_cycle_id, start_date, max(b.run) AS run, argMax(b.bills, b.run) AS bills,
          argMax(b.published_at, b.run) AS at
        FROM bill_run AS b
        WHERE as_of IS NULL AND start_date <= {today:Date} AND last_date + 1 >= {today:Date}
        GROUP BY billing_cycle_id, start_date
      ) AS r ON r.billing_cycle_id = c.billing_cycle_id AND r.start_date = c.start_date
      WHERE c.start_date <= {today:Date} AND c.last_date + 1 >= {today:Date}
      ORDER BY c.last_date, cycle LIMIT {cyclesMax:UInt32}`,
    parameters: { today, cyclesMax },
  })
  const cycles = rows.map(({ running: _, ...cycle }) => cycle)
  return { today, running: rows[0]?.running ?? 0, cycles }
}
