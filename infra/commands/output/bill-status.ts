import type { Store } from '../../../pipeline/store/clickhouse.js'
import { sql } from '../../../pipeline/store/sql.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import { readOpenRuns } from './failing-runs.js'
import { grouped, type TableColumn } from './table.js'

/** Bills of a cycle: published, failing, or without a period for today. */
export interface BillsShown {
  readonly cycle: string
  /** First and last day; empty without a period, and for a failing comparison. */
  readonly first: string
  readonly last: string
  readonly state: 'published' | 'failing' | 'no period'
  /** Time of publication, or of the first failure. */
  readonly since: string
  /** Bills with a total, and all bills. */
  readonly billed: string
  readonly bills: string
  readonly failures: number
  readonly retryAt: string
  readonly code: string
  readonly detail: string
}

export const billColumns: readonly TableColumn<BillsShown>[] = [
  { title: 'cycle', cell: ({ cycle }) => cycle },
  { title: 'period', cell: ({ first, last }) => (first === '' ? '' : `${first} to ${last}`) },
  { title: 'bills', cell: ({ state }) => state },
  { title: 'since', cell: ({ since }) => since },
  { title: 'with a total', right: true, cell: ({ billed }) => grouped(billed) },
  { title: 'of', right: true, cell: ({ bills }) => grouped(bills) },
  {
    title: 'failures',
    right: true,
    cell: ({ failures }) => (failures === 0 ? '' : grouped(failures)),
  },
  { title: 'next attempt', cell: ({ retryAt }) => retryAt },
  { title: 'reason', cell: ({ code }) => code },
]

/** The latest run of each cycle, failing runs and comparisons, and cycles without a period for today. */
export async function readBills(store: Store, profile: Profile): Promise<readonly BillsShown[]> {
  const [bills, failing] = await Promise.all([
    store.rows<BillsShown>({ sql: billsSql(profile) }),
    readOpenRuns(store, profile),
  ])
  const all = failing.map(({ key: _, job: __, ...run }): BillsShown => {
    return { ...run, state: 'failing', billed: '', bills: '' }
  })
  return [...bills, ...all].sort((a, b) => {
    const inOrder = [a, b].map(({ cycle, first, state }) => [cycle, first, state].join(' '))
    return a.cycle.length - b.cycle.length || ((inOrder[0] ?? '') < (inOrder[1] ?? '') ? -1 : 1)
  })
}

const billsSql = ({
  companyCodes,
  timeZone,
}: Profile) => sql`SELECT billing_cycle_id AS cycle, toString(start_date) AS first, toString(last_date) AS last,
    'published' AS state, formatDateTime(published_at, '%F %T') AS since,
    toString(r.bills['computed'] + r.bills['incomplete'] + r.bills['projected']) AS billed,
    toString(arraySum(mapValues(r.bills))) AS bills, toUInt32(0) AS failures, '' AS retryAt, '' AS code, '' AS detail
FROM (SELECT * FROM bill_run WHERE as_of IS NULL ORDER BY run DESC LIMIT 1 BY billing_cycle_id) AS r
UNION ALL
SELECT toString(t.billing_cycle_id), '', '', 'no period', '', '', '', 0, '', 'NO_PERIOD',
    concat('the schedule has no period of cycle ', toString(t.billing_cycle_id), ' for today, and ', toString(uniqExact(meter_id)), ' meters have no bill: load a newer BillingCycles file')
FROM tenancy AS t FINAL
WHERE valid_to IS NULL AND (SELECT count() FROM billing_cycle) > 0 AND billing_cycle_id NOT IN (
    SELECT billing_cycle_id FROM billing_cycle
    WHERE company_code IN ${companyCodes} AND toDate(now(), ${timeZone}) BETWEEN start_date AND last_date)
GROUP BY t.billing_cycle_id`
