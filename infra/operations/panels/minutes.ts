import { sql, typed } from '../../../pipeline/store/sql.js'
import { isRepair } from '../../../pipeline/verify/repaired.js'
import type { Commodity } from '../../../schemas/feed.js'
import { type PanelSource, query } from './query.js'

const commodities = ['Electric', 'Gas'] as const satisfies readonly Commodity[]
const minutesShown = 60
/** The latest arrivals that are read: load receipts are ordered by arrival. */
const arrivalsMax = typed('UInt32', 5_000)

interface Row {
  readonly minute: number
  readonly feed: string
  readonly rows: number
  readonly quantity: number
}

export interface Minutes {
  /** Starts of minutes, seconds since 1970, ascending. */
  readonly minutes: readonly number[]
  readonly rows: readonly number[]
  /** Total quantity by commodity, in the unit in which it was sent. */
  readonly quantity: Readonly<Record<string, readonly number[]>>
  /** The unit of each commodity unless the registration of a meter says otherwise. */
  readonly units: Readonly<Record<string, string>>
}

/** Rows loaded, and the quantity that was published, in each of the last 60 minutes. */
export async function readMinutes(source: PanelSource): Promise<Minutes> {
  const last = Math.floor(source.now().getTime() / 60_000)
  const first = last - minutesShown + 1
  const found = await query<Row>(
    source,
    sql`WITH (SELECT max(arrival) FROM arrival) AS newest, fromUnixTimestamp(${first * 60}) AS since
      SELECT toUInt32(intDiv(toUnixTimestamp(at), 60)) AS minute, toString(of) AS feed,
        toFloat64(sum(read)) AS rows, toFloat64(sum(published)) AS quantity
      FROM (
        SELECT recorded_at AS at, '' AS of, rows_read AS read, 0 AS published FROM chunk_receipt FINAL
        WHERE arrival + ${arrivalsMax} > newest AND recorded_at >= since
        UNION ALL
        SELECT published_at, toString(feed), 0, quantity_accepted FROM file_state FINAL
        WHERE arrival + ${arrivalsMax} > newest AND status = 'published' AND published_at >= since
          AND NOT ${isRepair}
      )
      GROUP BY minute, feed`,
  )
  const minutes = Array.from({ length: minutesShown }, (_, index) => first + index)
  const series = (of: readonly Row[], value: 'rows' | 'quantity') => {
    const sums = new Map<number, number>()
    for (const row of of) sums.set(row.minute, (sums.get(row.minute) ?? 0) + row[value])
    return minutes.map((minute) => sums.get(minute) ?? 0)
  }
  const ofFeed = (feed: string) => found.filter((row) => row.feed === feed)
  return {
    minutes: minutes.map((minute) => minute * 60),
    rows: series(found, 'rows'),
    units: source.profile.usage.unit,
    quantity: Object.fromEntries(commodities.map((one) => [one, series(ofFeed(one), 'quantity')])),
  }
}
