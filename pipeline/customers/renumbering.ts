import type { Store } from '../store/clickhouse.js'
import { literal, sql } from '../store/sql.js'
import { isOfFile } from '../store/versions.js'

/** Above this share of a file's registered meters, new unknown accounts are a renumbering (decision 11). */
const newAccountsShareMax = 0.05

/**
 * A warning for each published file that first names unknown accounts at so many registered meters that
 * the utility has likely given its customers other numbers, by arrival; none for the others.
 */
export async function warnOfRenumbering(
  store: Store,
  arrivals: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const registered = sql`meter_id IN (SELECT meter_id FROM tenancy FINAL WHERE notEmpty(holds))`
  const named = await store.rows<{ of: number; meters: number }>({
    sql: sql`SELECT arrival AS of, toUInt32(uniqExact(meter_id)) AS meters FROM account_meter
      WHERE arrival IN ${literal(arrivals)}
        AND (external_site_id, account_number) NOT IN (
          SELECT external_site_id, account_number FROM registration_fact)
        AND ${registered} GROUP BY of`,
  })
  const warnings = new Map<number, string>()
  for (const { of, meters } of named) {
    const [found] = await store.rows<{ all: number }>({
      sql: sql`SELECT toUInt32(uniqExact(meter_id)) AS all FROM usage_read
        WHERE ${isOfFile(of)} AND ${registered}`,
    })
    const all = found?.all ?? 0
    if (meters <= all * newAccountsShareMax) continue
    warnings.set(
      of,
      `likely a renumbering: ${meters} of ${all} registered meters have reads under accounts that no customer has, which nobody sees; register the customers with their new account numbers`,
    )
  }
  return warnings
}
