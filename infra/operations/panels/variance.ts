import { sql, typed } from '../../../pipeline/store/sql.js'
import { type PanelSource, query } from './query.js'

/** Bounds of the histogram classes, in dollars. */
const edges = [-100, -20, -5, -1, -0.05, 0.05, 1, 5, 20, 100]

/** Bills by computed minus billed dollars, from `from` to below `to`. */
export interface DollarClass {
  readonly from?: number
  readonly to?: number
  readonly bills: number
}

export interface Variance {
  readonly cycle: string
  readonly from: string
  readonly to: string
  readonly publishedAt: string
  /** Bills that were compared with billed ones, by the status of their cost. */
  readonly statuses: readonly { readonly status: string; readonly bills: number }[]
  /** From the lowest class to the highest. */
  readonly histogram: readonly DollarClass[]
  /** Dollars and bills by cause, the largest amount first. */
  readonly causes: readonly {
    readonly cause: string
    readonly bills: number
    readonly dollars: number
  }[]
}

type Run = Pick<Variance, 'cycle' | 'from' | 'to' | 'publishedAt'> & { readonly run: string }

/**
 * How the latest compared run differs from the billed amounts, other than runs as of an earlier instant;
 * null if no run was compared.
 */
export async function readVariance(source: Pick<PanelSource, 'store'>): Promise<Variance | null> {
  const [latest] = await query<Run>(
    source,
    sql`SELECT run, billing_cycle_id AS cycle, toString(start_date) AS from, toString(last_date) AS to,
        formatDateTime(published_at, '%FT%TZ') AS publishedAt
      FROM bill_run WHERE as_of IS NULL AND run IN (SELECT DISTINCT run FROM bill_variance_row)
      ORDER BY run DESC LIMIT 1`,
  )
  if (latest === undefined) return null
  const { run, ...period } = latest
  const [statuses, classes, causes] = await Promise.all([
    query<Variance['statuses'][number]>(
      source,
      sql`SELECT toString(cost_status) AS status, toUInt32(count()) AS bills FROM bill_variance_row
        WHERE run = ${run} GROUP BY status ORDER BY bills DESC, status`,
    ),
    query<{ class: number; bills: number }>(
      source,
      sql`SELECT toUInt8(arrayCount(edge -> toFloat64(cost_computed - cost_billed) >= edge,
            ${typed('Array(Float64)', edges)})) AS class,
          toUInt32(count()) AS bills
        FROM bill_variance_row
        WHERE run = ${run} AND cost_computed IS NOT NULL AND cost_billed IS NOT NULL
        GROUP BY class`,
    ),
    query<Variance['causes'][number]>(
      source,
      sql`SELECT toString(cause) AS cause, toUInt32(count()) AS bills, toFloat64(sum(worth)) AS dollars
        FROM bill_variance_row
        ARRAY JOIN mapKeys(cost_causes) AS cause, mapValues(cost_causes) AS worth
        WHERE run = ${run} GROUP BY cause ORDER BY abs(dollars) DESC, cause`,
    ),
  ])
  const histogram = [...edges, undefined].map((to, at) => {
    const from = edges[at - 1]
    const bills = classes.find((one) => one.class === at)?.bills ?? 0
    return { ...(from !== undefined && { from }), ...(to !== undefined && { to }), bills }
  })
  return { ...period, statuses, histogram, causes }
}
