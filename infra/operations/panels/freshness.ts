import { sql } from '../../../pipeline/store/sql.js'
import { queryCycles } from '../../metrics/ledger.js'
import { type PanelSource, query } from './query.js'

/** The newest interval of a commodity of a company, or of a sample of a billing cycle. */
export interface Age {
  readonly company: string
  readonly cycle: string
  readonly commodity: string
  /** End of the newest interval, seconds since 1970. */
  readonly newest: number
}

export interface Freshness {
  readonly lateAfterHours: number
  readonly ages: readonly Age[]
}

const agesMax = 64

/** By company from the ledger, by cycle from a few of its meters, at most a week back. */
export async function readFreshness(source: PanelSource): Promise<Freshness> {
  const [companies, cycles] = await Promise.all([
    query<{ company: string; commodity: string; newest: number }>(
      source,
      sql`SELECT toString(company_code) AS company, toString(feed) AS commodity,
          toUnixTimestamp(max(least(last_interval_end, received_at))) AS newest
        FROM file_state FINAL
        WHERE status = 'published' AND last_interval_end IS NOT NULL
        GROUP BY company, commodity ORDER BY company, commodity LIMIT ${agesMax}`,
    ),
    queryCycles(source.store),
  ])
  return {
    lateAfterHours: source.profile.usage.lateAfterHours,
    ages: [
      ...companies.map((one) => ({ ...one, cycle: '' })),
      ...cycles.map((one) => ({ ...one, company: '', newest: Number(one.newest) })),
    ],
  }
}
