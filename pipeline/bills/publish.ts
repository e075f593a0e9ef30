import type { BillStatus } from '../../schemas/rating/kind.js'
import { publishSubjects } from '../ledger/publication.js'
import type { RowReader } from '../store/replicas.js'
import { sql, typed } from '../store/sql.js'
import { onServerOf } from '../whole.js'
import type { BillContext, BillRun } from './context.js'
import { toShortfall } from './price.js'
import type { RatesInForce } from './rates.js'

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

/** Sums up the bills of a run, writes its row and publishes it: from then on readers see its bills. */
export async function publishBills(
  context: BillContext,
  { run, period, request, tables }: BillRun,
  inputs: Inputs,
): Promise<BillCounts> {
  const { store, profile, now } = context
  const shortfall = toShortfall(profile.billing)
  const found = await store.rows<{ status: BillStatus; reason: string; n: string; all: string }>({
    sql: sql`SELECT toString(status) AS status, ${typed('Map(String, String)', shortfall)} AS shortfall,
        multiIf(mapContains(shortfall, status), shortfall[status],
          status = 'projected' AND bill_row.reason != '', shortfall['incomplete'], bill_row.reason) AS reason,
        toString(count()) AS n,
        toString(sum(sum(ifNull(bill_row.total, toDecimal64(0, 6)))) OVER ()) AS all
      FROM bill_row WHERE run = ${run} AND ${onServerOf(tables.masks)}
      GROUP BY status, reason ORDER BY count() DESC, status, reason`,
  })
  const bills: Partial<Record<BillStatus, number>> = {}
  for (const { status, n } of found) bills[status] = (bills[status] ?? 0) + Number(n)
  const total = found[0]?.all ?? '0'
  await store.insert('bill_run_row', [
    {
      run,
      billing_cycle_id: period.cycleId,
      start_date: period.first,
      last_date: period.last,
      as_of: request.asOf?.toISOString() ?? null,
      bills,
      total,
      usage_version: inputs.arrival,
      known_at: inputs.publishedAt,
      rate_file_ids: inputs.rates.fileIds,
      cycle_file_id: period.fileId,
      settings: JSON.stringify(profile.billing),
      computed_at: now().toISOString(),
    },
  ])
  await publishSubjects(context, [{ kind: 'bills', run }])
  const reasons = found
    .filter(({ reason }) => reason !== '')
    .map(({ status, reason, n }) => ({ status, reason, bills: Number(n) }))
  return { bills, total, reasons }
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
