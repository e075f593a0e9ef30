import { groupBy } from '../../schemas/lists/group-by.js'
import type { BillStatus } from '../../schemas/rating/kind.js'
import { publishSubjects } from '../ledger/publication.js'
import type { RowReader } from '../store/replicas.js'
import { sql, typed } from '../store/sql.js'
import { onServerOf } from '../whole.js'
import type { BillContext, BillRuns } from './context.js'
import { toShortfall } from './price.js'
import type { RatesInForce } from './rates.js'
import { runsOf } from './tables.js'

/** What a run was made from. */
export interface Inputs extends Newest {
  readonly rates: RatesInForce
}

/** How many bills a run has published, and what they come to. */
export interface BillCounts {
  readonly bills: Readonly<Partial<Record<BillStatus, number>>>
  /** Sum of the bills, dollars. */
  readonly total: string
  /** Why bills could not be computed or are incomplete, and how many; the most frequent first. */
  readonly reasons: readonly { status: BillStatus; reason: string; bills: number }[]
}

interface Counted {
  readonly run: string
  readonly status: BillStatus
  readonly reason: string
  readonly n: string
  /** Of all bills of the run. */
  readonly total: string
}

/**
 * Sums up the bills of each run, writes the rows of all runs and publishes them at once: from then on readers
 * see their bills. Returns the counts of the runs in their order.
 */
export async function publishBills(
  context: BillContext,
  { runs, period, request, tables }: BillRuns,
  inputs: Inputs,
): Promise<readonly BillCounts[]> {
  const { store, profile, now } = context
  const shortfall = toShortfall(profile.billing)
  const found = await store.rows<Counted>({
    sql: sql`SELECT run, toString(status) AS status, ${typed('Map(String, String)', shortfall)} AS shortfall,
        multiIf(mapContains(shortfall, status), shortfall[status],
          status = 'projected' AND bill_row.reason != '', shortfall['incomplete'], bill_row.reason) AS reason,
        toString(count()) AS n,
        toString(sum(sum(ifNull(bill_row.total, toDecimal64(0, 6)))) OVER (PARTITION BY run)) AS total
      FROM bill_row WHERE run IN ${runsOf(tables)} AND ${onServerOf(tables.masks)}
      GROUP BY run, status, reason ORDER BY count() DESC, status, reason`,
  })
  const byRun = new Map(groupBy(found, ({ run }) => run).map((own) => [own[0].run, own]))
  const counts = runs.map(({ run }) => toCounts(byRun.get(run) ?? []))
  await store.insert(
    'bill_run_row',
    runs.map(({ run, cycleId, fileId }, at) => ({
      run,
      billing_cycle_id: cycleId,
      start_date: period.first,
      last_date: period.last,
      as_of: request.asOf?.toISOString() ?? null,
      bills: counts[at]?.bills,
      total: counts[at]?.total,
      usage_version: inputs.arrival,
      known_at: inputs.publishedAt,
      rate_file_ids: inputs.rates.fileIds,
      cycle_file_id: fileId,
      settings: JSON.stringify(profile.billing),
      computed_at: now().toISOString(),
    })),
  )
  await publishSubjects(
    context,
    runs.map(({ run }) => ({ kind: 'bills', run })),
  )
  return counts
}

function toCounts(found: readonly Counted[]): BillCounts {
  const bills: Partial<Record<BillStatus, number>> = {}
  for (const { status, n } of found) bills[status] = (bills[status] ?? 0) + Number(n)
  const reasons = found
    .filter(({ reason }) => reason !== '')
    .map(({ status, reason, n }) => ({ status, reason, bills: Number(n) }))
  return { bills, total: found[0]?.total ?? '0', reasons }
}

/** Files are published one after the other, so the newest represents all of them. */
interface Newest {
  readonly arrival: number
  /** As ClickHouse writes it, UTC. */
  readonly publishedAt: string
}

export async function newestFile(store: RowReader): Promise<Newest> {
  const [found] = await store.rows<Newest>({
    sql: sql`SELECT max(arrival) AS arrival, toString(ifNull(max(published_at), toDateTime64(0, 3, 'UTC'))) AS publishedAt
      FROM file_state WHERE status = 'published'`,
  })
  return found as Newest
}
