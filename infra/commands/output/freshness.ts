import type { Store } from '../../../pipeline/store/clickhouse.js'
import { sql, typed } from '../../../pipeline/store/sql.js'
import type { Profile } from '../../../schemas/settings/profile.js'

export interface DataAge {
  readonly company_code: string
  readonly commodity: string
  readonly newest: string
  /** Whole hours. */
  readonly age_hours: number
  /** Older than the profile's `usage.lateAfterHours`. */
  readonly late: boolean
}

/** The newest interval of each company and commodity. */
export function readDataAges(store: Store, { usage }: Profile): Promise<readonly DataAge[]> {
  return store.rows({ sql: agesSql(usage.lateAfterHours) })
}

/** A read with a future time counts from its reception: else the data would look fresh until then. */
const agesSql = (lateAfterHours: number) => sql`SELECT company_code, feed AS commodity,
    max(least(last_interval_end, received_at)) AS newest_end,
    formatDateTime(newest_end, '%F %T') AS newest,
    dateDiff('second', newest_end, now()) / 3600 AS age,
    toInt32(floor(age)) AS age_hours, age > ${typed('Float64', lateAfterHours)} AS late
FROM file_load
WHERE status = 'published' AND last_interval_end IS NOT NULL
GROUP BY company_code, feed
ORDER BY company_code, feed`
