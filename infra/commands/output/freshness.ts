import type { Store } from '../../../pipeline/store/clickhouse.js'
import type { Profile } from '../../../schemas/settings/profile.js'

export interface Freshness {
  readonly company_code: string
  readonly commodity: string
  readonly newest: string
  readonly age_hours: number
  /** Older than the profile's `usage.lateAfterHours`. */
  readonly late: boolean
}

/** How new the data of each company and commodity is. */
export function readFreshness(store: Store, { usage }: Profile): Promise<readonly Freshness[]> {
  return store.rows({ sql: freshnessSql, parameters: { lateAfterHours: usage.lateAfterHours } })
}

/** A read of a time to come is none of the newest: it would call the data fresh until then. */
const freshnessSql = `SELECT company_code, feed AS commodity,
    max(least(last_interval_end, received_at)) AS newest_end,
    formatDateTime(newest_end, '%F %T') AS newest,
    toInt32(dateDiff('hour', newest_end, now())) AS age_hours,
    age_hours > {lateAfterHours:Float64} AS late
FROM file_load
WHERE status = 'published' AND last_interval_end IS NOT NULL
GROUP BY company_code, feed
ORDER BY company_code, feed`
