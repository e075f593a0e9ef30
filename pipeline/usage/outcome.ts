import type { Counted } from '../ledger/sums.js'
import type { Store } from '../store/clickhouse.js'
import { id, sql } from '../store/sql.js'
import { type Decision, derivedOf } from '../store/staging.js'
import { precedenceOf } from '../store/versions.js'
import { type Grid, irregularMeters, type StagingTotals } from './irregular-meters.js'

/** Rows whose meter, interval start and length are not repeated by a later row of the table. */
export async function countFinal(store: Store, table: string): Promise<number> {
  const [row] = await store.rows<{ survivors: string }>({
    sql: sql`SELECT count() AS survivors FROM ${id(table)} FINAL`,
  })
  return Number(row?.survivors ?? 0)
}

/** The same for the reads of a file as loaded: only irregular meters have repeats. */
export async function countSurvivors(
  store: Store,
  staged: Decision & { readonly grid: Grid },
  totals: StagingTotals,
): Promise<number> {
  if (totals.irregularMeters === 0) return totals.rows
  const { whole } = derivedOf(staged)
  const irregular = irregularMeters(staged, staged.grid)
  const [row] = await store.rows<{ survivors: string }>({
    sql: sql`SELECT count() AS survivors FROM ${id(whole)} FINAL
      WHERE meter_id IN (${irregular})`,
  })
  return totals.rows - totals.irregularRows + Number(row?.survivors ?? 0)
}

export interface Repeats {
  readonly duplicate: Counted
  readonly superseded: Counted
}

/**
 * Rows of a file that another row of the same file outranks, mostly a later one: duplicate where they equal
 * the one of their key that counts, else superseded.
 */
export async function repeatsWithin(store: Store, table: string): Promise<Repeats> {
  const same = sql`(row.1, row.2, row.3, row.4) = (rows[1].1, rows[1].2, rows[1].3, rows[1].4)`
  const [row] = await store.rows<Record<string, string>>({
    sql: sql`SELECT toString(sum(length(same))) AS duplicate_rows,
        toString(sum(arraySum(row -> row.1, same))) AS duplicate_quantity,
        toString(sum(length(others))) AS superseded_rows,
        toString(sum(arraySum(row -> row.1, others))) AS superseded_quantity
      FROM (
        SELECT
          arrayReverseSort(row -> row.5, groupArray(
            (quantity, account_number, external_site_id, quality, ${precedenceOf()}))) AS rows,
          arrayFilter(row -> ${same}, arraySlice(rows, 2)) AS same,
          arrayFilter(row -> NOT (${same}), arraySlice(rows, 2)) AS others
        FROM ${id(table)}
        GROUP BY local_day, meter_id, starts_at, seconds
        HAVING count() > 1
        SETTINGS optimize_aggregation_in_order = 1
      )`,
  })
  const counted = (kind: string): Counted => ({
    rows: Number(row?.[`${kind}_rows`] ?? 0),
    quantity: row?.[`${kind}_quantity`] ?? '0',
  })
  return { duplicate: counted('duplicate'), superseded: counted('superseded') }
}
