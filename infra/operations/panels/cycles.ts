import { toDay } from '../../../schemas/zone.js'
import { ask, type PanelSource } from './ask.js'

const cyclesMax = 40

/** A billing cycle in the period that runs. */
export interface CycleDay {
  readonly cycle: string
  readonly company: string
  readonly from: string
  readonly to: string
  /** Of the period, from 1. */
  readonly day: number
  readonly days: number
  /** Registered meters of the cycle. */
  readonly meters: number
}

export interface CycleDays {
  readonly today: string
  /** How many cycles have a period that runs. */
  readonly running: number
  /** Those whose period ends first. */
  readonly cycles: readonly CycleDay[]
}

/** How far the cycles have come, those that end next first. */
export async function readCycleDays(source: PanelSource): Promise<CycleDays> {
  const { zone, now } = source
  const today = toDay(zone.toWall(Math.floor(now().getTime() / 1_000)))
  const rows = await ask<CycleDay & { running: number }>(source, {
    sql: `SELECT c.billing_cycle_id AS cycle, c.company_code AS company,
        toString(start_date) AS from, toString(last_date) AS to,
        toUInt32({today:Date} - start_date + 1) AS day,
        toUInt32(last_date - start_date + 1) AS days, toUInt32(m.meters) AS meters,
        toUInt32(count() OVER ()) AS running
      FROM billing_cycle AS c
      LEFT JOIN (
        SELECT toString(billing_cycle_id) AS id, count() AS meters FROM tenancy FINAL
        WHERE valid_to IS NULL GROUP BY id
      ) AS m ON m.id = c.billing_cycle_id
      WHERE start_date <= {today:Date} AND last_date >= {today:Date}
      ORDER BY last_date, cycle LIMIT {cyclesMax:UInt32}`,
    parameters: { today, cyclesMax },
  })
  const cycles = rows.map(({ running: _, ...cycle }) => cycle)
  return { today, running: rows[0]?.running ?? 0, cycles }
}
