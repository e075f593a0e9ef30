import type { Store } from '../../../../pipeline/store/clickhouse.js'

const published = [
  'projected_bill',
  'projected_bill_line',
  'bill_variance',
  'day_cost',
  'day_cost_line',
]

/** All that readers see of some bills, by view, a text for each row, without what names runs. */
export async function seenOf(
  store: Pick<Store, 'rows'>,
  where: string,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const each = published.map(async (view) => {
    const rows = await store.rows({
      sql: `SELECT * EXCEPT (run, published_at, published_seq) FROM ${view} WHERE ${where} ORDER BY ALL`,
    })
    return [view, rows.map((row) => JSON.stringify(row))] as const
  })
  return Object.fromEntries(await Promise.all(each))
}
