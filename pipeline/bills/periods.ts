import type { Store } from '../store/clickhouse.js'
import type { RunFailure } from './failure.js'
import { failureColumns, instantOf, msOf } from './run-failure.js'

/** A period of a cycle that has customers, and how far its bills are. Instants are ms since 1970. */
export interface PeriodState {
  readonly cycleId: string
  readonly first: string
  readonly last: string
  /**
   * Files that were published until then have been looked at; 0 where none has, also where it has no
   * bills and its days, customers or rates have changed since.
   */
  readonly knownAt: number
  /** When its bills were published last; 0 where they never were. */
  readonly billedAt: number
  /** When its customers or rates changed last. */
  readonly changedAt: number
  /** Failures in a row, since when, and when it is tried again. */
  readonly failures: number
  readonly since: number
  readonly retryAt: number
}

export interface PeriodsWanted {
  readonly companyCodes: readonly string[]
  /** The local day. */
  readonly today: string
  readonly daysBackMax: number
}

/** All periods that have begun and did not end long ago, the latest first. */
export function readPeriods(store: Store, wanted: PeriodsWanted): Promise<readonly PeriodState[]> {
  return store.rows<PeriodState>({
    sql: `SELECT c.billing_cycle_id AS cycleId, toString(c.start_date) AS first, toString(c.last_date) AS last,
        greatest(t.changed_at, (SELECT max(published_at) FROM schedule_in_force WHERE feed != 'BillingCycles')) AS changed_at,
        r.run = '' AND greatest(changed_at, c.published_at) > s.recorded_at AS is_new,
        if(is_new, 0, ${msOf('greatest(r.known_at, s.known_at)')}) AS knownAt,
        ${msOf('r.published_at')} AS billedAt, ${msOf('changed_at')} AS changedAt,
        s.failures AS failures, ${msOf('s.since')} AS since, ${msOf('s.retry_at')} AS retryAt
      FROM billing_cycle AS c
      LEFT JOIN (
        SELECT billing_cycle_id, start_date, last_date, max(b.run) AS run, argMax(b.known_at, b.run) AS known_at,
          argMax(b.published_at, b.run) AS published_at
        FROM bill_run AS b WHERE as_of IS NULL GROUP BY billing_cycle_id, start_date, last_date
      ) AS r ON r.billing_cycle_id = c.billing_cycle_id AND r.start_date = c.start_date AND r.last_date = c.last_date
      LEFT JOIN (SELECT * FROM bill_state FINAL) AS s
        ON s.billing_cycle_id = c.billing_cycle_id AND s.start_date = c.start_date
      INNER JOIN (
        SELECT toString(billing_cycle_id) AS cycle, max(o.published_at) AS changed_at
        FROM tenancy AS o FINAL GROUP BY cycle
      ) AS t ON t.cycle = c.billing_cycle_id
      WHERE c.company_code IN {companyCodes:Array(String)}
        AND c.start_date <= {today:Date} AND toInt32(c.last_date) >= toInt32({today:Date}) - {daysBackMax:Int32}
      ORDER BY last DESC, cycleId`,
    parameters: { ...wanted },
  })
}

type PeriodId = Pick<PeriodState, 'cycleId' | 'first' | 'knownAt'>

/** Writes down how far a period has been looked at, and its failure where it has one. */
export async function recordPeriod(
  store: Store,
  { cycleId, first, knownAt }: PeriodId,
  failure?: RunFailure,
): Promise<void> {
  const period = { billing_cycle_id: cycleId, start_date: first, known_at: instantOf(knownAt) }
  await store.insert('bill_state', [{ ...period, ...failureColumns(failure) }])
}

/** A published file that bills may be made from. Instants are ms since 1970. */
export interface BillFile {
  readonly arrival: number
  readonly publishedAt: number
  /** The time that its reads are of; everything where it has none. */
  readonly from: number
  readonly to: number
}

/** Files of usage and of what was billed that were published after an instant, in that order. */
export function readFilesSince(store: Store, since: number): Promise<readonly BillFile[]> {
  const bound = (at: string, open: string) =>
    `if(${at} IS NULL, ${open}, toFloat64(toUnixTimestamp(assumeNotNull(${at}))) * 1000)`
  return store.rows<BillFile>({
    sql: `SELECT arrival, ${msOf('assumeNotNull(published_at)')} AS publishedAt,
        ${bound('first_interval_start', '0')} AS from, ${bound('last_interval_end', '1e15')} AS to
      FROM file_load
      WHERE status = 'published' AND feed IN ('Electric', 'Gas', 'Billing', 'BillingLines')
        AND published_at > fromUnixTimestamp64Milli({since:Int64})
      ORDER BY published_at`,
    parameters: { since },
  })
}

export interface Touching {
  readonly period: Pick<PeriodState, 'cycleId' | 'first' | 'last'>
  readonly files: readonly BillFile[]
  /** Days behind the last on which reads of the period may stand: where it ends in standard time, one. */
  readonly daysBehind: number
}

/** Whether some of the files have a read or a bill of the cycle's customers in a period. */
export async function isTouched(
  store: Store,
  { period: { cycleId, first, last }, files, daysBehind }: Touching,
): Promise<boolean> {
  const own = `bitShiftRight(version, 32) IN {arrivals:Array(UInt64)} AND meter_id IN (
        SELECT meter_id FROM tenancy FINAL WHERE billing_cycle_id = {cycleId:String})`
  const found = await store.rows({
    sql: `SELECT 1 FROM usage_read
      WHERE local_day BETWEEN {first:Date} AND {last:Date} + {daysBehind:UInt8} AND ${own} LIMIT 1
      UNION ALL
      SELECT 1 FROM billing_period_row
      WHERE billing_start_date <= {last:Date} AND billing_end_date >= {first:Date} AND ${own} LIMIT 1
      UNION ALL
      SELECT 1 FROM bill_line_row
      WHERE billing_start_date BETWEEN {first:Date} AND {last:Date} AND ${own} LIMIT 1`,
    parameters: { first, last, cycleId, daysBehind, arrivals: files.map(({ arrival }) => arrival) },
  })
  return found.length > 0
}
