import type { Store } from '../store/clickhouse.js'
import { insertLatest } from '../store/latest.js'
import type { RowReader } from '../store/replicas.js'
import { literal, type Sql, sql, typed } from '../store/sql.js'
import { failureColumns, instantOf, msOf, type RunFailure } from './failure.js'
import type { Period } from './period.js'
import { ratePublications } from './rates.js'
import { invoiceDaysMax } from './variance/billed.js'

/** A period of a cycle that has customers, and how far its bills are. Instants are ms since 1970. */
export interface PeriodState extends Period {
  /** Tenancies that have had the cycle. */
  readonly tenancies: number
  /**
   * Files published until then have been checked; 0 for none, also where it has no bills and its days,
   * customers or rates have changed since.
   */
  readonly knownAt: number
  /** When its bills were published last; 0 where they never were. */
  readonly billedAt: number
  /** When its customers, their reads or rates changed last, other than by files. */
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

/**
 * All periods that have begun and did not end long ago, the latest first; one where the schedules of several
 * companies have it.
 */
export function readPeriods(
  store: RowReader,
  { companyCodes, today, daysBackMax }: PeriodsWanted,
): Promise<readonly PeriodState[]> {
  return store.rows<PeriodState>({
    sql: sql`SELECT c.billing_cycle_id AS cycleId, toString(c.start_date) AS first, toString(c.last_date) AS last, c.file_id AS fileId, t.tenancies AS tenancies,
        greatest(t.changed_at, (SELECT max(published_at) FROM (${ratePublications}))) AS changed_at,
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
        SELECT arrayJoin(arrayDistinct(o.codes.3)) AS cycle, toUInt32(count()) AS tenancies, max(greatest(o.changed_at, u.others_at)) AS changed_at
        FROM tenancy AS o FINAL LEFT JOIN (${changesOfOthers}) AS u ON u.meter_id = o.meter_id GROUP BY cycle
      ) AS t ON t.cycle = c.billing_cycle_id
      WHERE c.company_code IN ${companyCodes}
        AND c.start_date <= ${typed('Date', today)} AND toInt32(c.last_date) >= toInt32(${typed('Date', today)}) - ${typed('Int32', daysBackMax)}
      ORDER BY last DESC, cycleId, c.version DESC LIMIT 1 BY cycleId, first`,
  })
}

/**
 * When the reads of a client without an account number changed last because an account was registered or
 * erased: the client has those of accounts that nobody has (decision 11).
 */
const changesOfOthers = sql`SELECT meter_id, max(published_at) AS others_at FROM usage_change
    WHERE meter_id IN (SELECT meter_id FROM tenancy WHERE account_number = '') AND cause IN ('ownership', 'erasure')
    GROUP BY meter_id`

type PeriodId = Pick<PeriodState, 'cycleId' | 'first' | 'knownAt'>

/** Records how far periods have been checked, and their failure if they have one. */
export async function recordPeriods(
  store: Store,
  periods: readonly PeriodId[],
  failure?: RunFailure,
): Promise<void> {
  const rows = periods.map(({ cycleId, first, knownAt }) => ({
    billing_cycle_id: cycleId,
    start_date: first,
    known_at: instantOf(knownAt),
    ...failureColumns(failure),
  }))
  await insertLatest(store, 'bill_state', rows)
}

/** A published file that bills may depend on. Instants are ms since 1970. */
export interface BillFile {
  /** That of its rows: of a file that brings rows back, the arrival that it repairs. */
  readonly arrival: number
  readonly publishedAt: number
  /** The time that its reads cover; unbounded where it has none, or stored earlier reads under another length. */
  readonly from: number
  readonly to: number
}

/** Files of usage, of what was billed and of plans that were published after an instant, in that order. */
export function readFilesSince(store: RowReader, since: number): Promise<readonly BillFile[]> {
  const bound = (at: Sql, open: Sql) =>
    sql`if(${at} IS NULL OR l.arrival IN (SELECT arrival FROM publication WHERE rekeys), ${open}, toFloat64(toUnixTimestamp(assumeNotNull(${at}))) * 1000)`
  return store.rows<BillFile>({
    sql: sql`SELECT if(r.repairs = 0, l.arrival, r.repairs) AS arrival, ${msOf(sql`assumeNotNull(published_at)`)} AS publishedAt,
        ${bound(sql`first_interval_start`, sql`0`)} AS from, ${bound(sql`last_interval_end`, sql`1e15`)} AS to
      FROM file_load AS l LEFT JOIN (SELECT arrival, repairs FROM arrival WHERE repairs != 0) AS r ON r.arrival = l.arrival
      WHERE status = 'published' AND feed IN ('Electric', 'Gas', 'Billing', 'BillingLines', 'Invoices', 'PaymentPlans')
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

/**
 * Whether some of the files have a read or a bill of the cycle's customers in a period, or an invoice or a
 * plan that what was billed then may be explained by.
 */
export async function isTouched(
  store: RowReader,
  { period: { cycleId, first, last }, files, daysBehind }: Touching,
): Promise<boolean> {
  const arrivals = files.map(({ arrival }) => arrival)
  const ofCycle = sql`meter_id IN (
        SELECT meter_id FROM tenancy FINAL WHERE has(codes.3, ${cycleId}))`
  const isOf = (column: Sql) => sql`${column} IN ${typed('Array(UInt64)', arrivals)}`
  const brought = isOf(sql`bitShiftRight(version, 32)`)
  const own = sql`${brought} AND ${ofCycle}`
  const documents = sql`billing_period_row
      WHERE billing_start_date <= ${typed('Date', last)} AND billing_end_date >= ${typed('Date', first)}`
  const found = await store.rows({
    sql: sql`SELECT 1 FROM usage_read
      WHERE local_day BETWEEN ${typed('Date', first)} AND ${typed('Date', last)} + ${typed('UInt8', daysBehind)} AND (${brought} OR ${isOf(sql`change`)}) AND ${ofCycle} LIMIT 1
      UNION ALL
      SELECT 1 FROM ${documents} AND ${own} LIMIT 1
      UNION ALL
      SELECT 1 FROM bill_line_row
      WHERE ${own} AND (account_number, meter_id, billing_start_date) IN (
        SELECT account_number, meter_id, billing_start_date FROM ${documents} AND ${ofCycle}) LIMIT 1
      UNION ALL
      ${changedTerms(brought, sql`SELECT DISTINCT account_number, billing_end_date, document_number FROM ${documents} AND ${ofCycle}`)}`,
  })
  return found.length > 0
}

/** Invoices of some documents, of whatever account their lines were before, and plans that became others on their last days. */
function changedTerms(brought: Sql, documents: Sql): Sql {
  return sql`SELECT 1 FROM invoice_line_row AS i INNER JOIN (${documents}) AS d ON d.account_number = i.account_number
      WHERE i.invoice_number IN (SELECT invoice_number FROM invoice_line_row WHERE ${brought})
        AND (i.invoice_number = d.document_number OR i.invoice_date BETWEEN d.billing_end_date AND d.billing_end_date + ${literal(invoiceDaysMax)})
      LIMIT 1
      UNION ALL
      SELECT 1 FROM (
        SELECT *, ${brought} AS is_brought, start_date <= d.billing_end_date
            AND if(p.end_date IS NULL, p.status = 'Active', p.end_date >= d.billing_end_date) AS is_in_force
        FROM payment_plan_row AS p INNER JOIN (${documents}) AS d ON d.account_number = p.account_number
      )
      GROUP BY account_number, plan_type, start_date, billing_end_date
      HAVING max(is_brought) AND max(is_in_force) AND (min(is_brought) OR uniqExact(is_in_force, installment_amount) > 1)
      LIMIT 1`
}
