import type { Store } from '../../store/clickhouse.js'
import { type Sql, sql, typed } from '../../store/sql.js'

/** Local days, both inclusive. */
interface Days {
  readonly firstDay: string
  readonly lastDay: string
}

export function inDays({ firstDay, lastDay }: Days): Sql {
  return sql`local_day BETWEEN ${typed('Date', firstDay)} AND ${typed('Date', lastDay)}`
}

/** Many: this many times the rows of the file. */
const sparseFactor = 4

/** Whether the store has no reads in the days of a file, about as many as the file, or many more. */
export type StoredDays = 'none' | 'alike' | 'many'

/** What the store has in the days of some rows. */
export async function findDays(
  store: Store,
  { rows, ...days }: Days & { readonly rows: number },
): Promise<StoredDays> {
  if (rows === 0) return 'none'
  const most = rows * sparseFactor
  const [found] = await store.rows<{ stored: string }>({
    sql: sql`SELECT count() AS stored FROM (
      SELECT 1 FROM usage_read WHERE ${inDays(days)} LIMIT ${typed('UInt64', most)})`,
  })
  const stored = Number(found?.stored ?? 0)
  if (stored === 0) return 'none'
  return stored < most ? 'alike' : 'many'
}
