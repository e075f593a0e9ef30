import type { Store } from '../store/clickhouse.js'
import { sql, typed } from '../store/sql.js'
import { isOfFile } from './stored-facts.js'

/** Above this share of a file's registered meters, new unknown accounts are a renumbering (decision 11). */
const newAccountsShareMax = 0.05

/**
 * A warning where a published file first names unknown accounts at so many registered meters that the
 * utility has likely given its customers other numbers; no warning otherwise.
 */
export async function warnOfRenumbering(store: Store, arrival: number): Promise<readonly string[]> {
  const registered = sql`SELECT meter_id FROM tenancy FINAL WHERE notEmpty(holds)`
  const count = async (rows: ReturnType<typeof sql>): Promise<number> => {
    const [found] = await store.rows<{ meters: number }>({
      sql: sql`SELECT toUInt32(uniqExact(meter_id)) AS meters FROM ${rows} AND meter_id IN (${registered})`,
    })
    return found?.meters ?? 0
  }
  const foreign = await count(sql`account_meter WHERE arrival = ${typed('UInt32', arrival)}
    AND (external_site_id, account_number) NOT IN (
      SELECT external_site_id, account_number FROM registration_fact)`)
  if (foreign === 0) return []
  const all = await count(sql`usage_read WHERE ${isOfFile(arrival)}`)
  if (foreign <= all * newAccountsShareMax) return []
  return [
    `likely a renumbering: ${foreign} of ${all} registered meters have reads under accounts that no customer has, which nobody sees; register the customers with their new account numbers`,
  ]
}
