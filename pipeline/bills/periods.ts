import type { Store } from '../store/clickhouse.js'
import { insertLatest } from '../store/latest.js'
import { type Sql, sql, typed } from '../store/sql.js'
import { failureColumns, instantOf, msOf, type RunFailure } from './failure.js'

/** A period of a cycle that has customers, and how far its bills are. Instants are ms since 1970. */
export interface PeriodState {
  readonly cycleId: string
  readonly first: string
  readonly last: string
  /**
   * Files published until then have been checked; 0 for none, also where it has no bills and its days,
   * customers or rates have changed since.
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
export function readPeriods(
  store: Store,
  { companyCodes, today, daysBackMax }: PeriodsWanted,
): Promise<readonly PeriodState[]> {
  return store.rows<PeriodState>({
    sql: sql`SELECT c.billing_cycle_id AS cycleId, toString(c.start_date) AS first, toString(c.last_date) AS last,
        greatest(t.changed_at, (SELECT max(published_at) FROM schedule_in_force WHERE feed != 'BillingCycles')) AS changed_at,
        r.run = '' AND greatest(changed_at, c.published_at) > s.recorded_at AS is_new,
        if(is_new, 0, ${msOf(sql`greatest(r.known_at, s.known_at)`)}) AS knownAt,
        ${msOf(sql`r.computed_at`)} AS billedAt, ${msOf(sql`changed_at`)} AS changedAt,
        s.failures AS failures, ${msOf(sql`s.since`)} AS since, ${msOf(sql`s.retry_at`)} AS retryAt
      FROM billing_cycle AS c
      LEFT JOIN (
        SELECT billing_cycle_id, start_date, last_date, max(b.run) AS run, argMax(b.known_at, b.run) AS known_at,
          argMax(b.computed_at, b.run) AS computed_at
        FROM bill_run AS b WHERE as_of IS NULL GROUP BY billing_cycle_id, start_date, last_date
      ) AS r ON r.billing_cycle_id = c.billing_cycle_id AND r.start_date = c.start_date AND r.last_date = c.last_date
      LEFT JOIN (SELECT * FROM bill_state FINAL) AS s
        ON s.billing_cycle_id = c.billing_cycle_id AND s.start_date = c.start_date
      INNER JOIN (
        SELECT arrayJoin(arrayDistinct(o.codes.3)) AS cycle, max(o.changed_at) AS changed_at
        FROM tenancy AS o FINAL GROUP BY cycle
      ) AS t ON t.cycle = c.billing_cycle_id
      WHERE c.company_code IN ${companyCodes}
        AND c.start_date <= ${typed('Date', today)} AND toInt32(c.last_date) >= toInt32(${typed('Date', today)}) - ${typed('Int32', daysBackMax)}
      ORDER BY last DESC, cycleId`,
  })
}

type PeriodId = Pick<PeriodState, 'cycleId' | 'first' | 'knownAt'>

/** Records how far a period has been checked, and its failure if it has one. */
export async function recordPeriod(
  store: Store,
  { cycleId, first, knownAt }: PeriodId,
  failure?: RunFailure,
): Promise<void> {
  const period = { billing_cycle_id: cycleId, start_date: first, known_at: instantOf(knownAt) }
  await insertLatest(store, 'bill_state', [{ ...period, ...failureColumns(failure) }])
}

/** A published file that bills may depend on. Instants are ms since 1970. */
export interface BillFile {
  readonly arrival: number
  readonly publishedAt: number
  /** The time that its reads cover; unbounded where it has none. */
  readonly from: number
  readonly to: number
}

/** Files of usage and of what was billed that were published after an instant, in that order. */
export function readFilesSince(store: Store, since: number): Promise<readonly BillFile[]> {
  const bound = (at: Sql, open: Sql) =>
    sql`if(${at} IS NULL, ${open}, toFloat64(toUnixTimestamp(assumeNotNull(${at}))) * 1000)`
  return store.rows<BillFile>({
    sql: sql`SELECT arrival, ${msOf(sql`assumeNotNull(published_at)`)} AS publishedAt,
        ${bound(sql`first_interval_start`, sql`0`)} AS from, ${bound(sql`last_interval_end`, sql`1e15`)} AS to
      FROM file_load
      WHERE status = 'published' AND feed IN ('Electric', 'Gas', 'Billing', 'BillingLines')
        AND published_at > fromUnixTimestamp64Milli(${typed('Int64', since)})
      ORDER BY published_at`,
  })
}

export interface Touching {
  readonly period: Pick<PeriodState, 'cycleId' | 'first' | 'last'>
  readonly files: readonly BillFile[]
  /** Days after the last on which reads of the period may lie: one where it ends in standard time. */
  readonly daysBehind: number
}

/** Whether some of the files have a read or a bill of the cycle's customers in a period. */
export async function isTouched(
  store: Store,
  { period: { cycleId, first, last }, files, daysBehind }: Touching,
): Promise<boolean> {
  const arrivals = files.map(({ arrival }) => arrival)
  const ofCycle = sql`meter_id IN (
        SELECT meter_id FROM tenancy FINAL WHERE has(codes.3, ${cycleId}))`
  const isOf = (column: Sql) => sql`${column} IN ${typed('Array(UInt64)', arrivals)}`
  const brought = isOf(sql`bitShiftRight(version, 32)`)
  const own = sql`${brought} AND ${ofCycle}`
  const found = await store.rows({
    sql: sql`SELECT 1 FROM usage_read
      WHERE local_day BETWEEN ${typed('Date', first)} AND ${typed('Date', last)} + ${typed('UInt8', daysBehind)} AND (${brought} OR ${isOf(sql`change`)}) AND ${ofCycle} LIMIT 1
      UNION ALL
      SELECT 1 FROM billing_period_row
      WHERE billing_start_date <= ${typed('Date', last)} AND billing_end_date >= ${typed('Date', first)} AND ${own} LIMIT 1
      UNION ALL
      SELECT 1 FROM bill_line_row
      WHERE billing_start_date BETWEEN ${typed('Date', first)} AND ${typed('Date', last)} AND ${own} LIMIT 1`,
  })
  return found.length > 0
}
