import { sql } from '../../../pipeline/store/sql.js'
import { dayAt } from '../../../schemas/time/zone.js'
import { type PanelSource, query } from './query.js'

/** The newest files of the day are listed; all are counted. */
const filesMax = 50

/** A file in the list of the page. */
export interface FileShown {
  readonly arrival: number
  readonly name: string
  readonly source: string
  readonly feed: string
  /** The status of the ledger; arrived if it is not received yet. */
  readonly status: string
  readonly fault: string
  readonly arrivedAt: string
  readonly bytes: number
  readonly read: number
  readonly accepted: number
  readonly duplicate: number
  readonly superseded: number
  readonly rejected: number
  readonly unregistered: number
  readonly held: number
  /** Rows with a load receipt, for a file without a verdict. */
  readonly loaded: number
}

export interface Today {
  /** The local day. */
  readonly day: string
  readonly counts: readonly {
    readonly feed: string
    readonly status: string
    readonly files: number
  }[]
  readonly files: readonly FileShown[]
}

const joined = sql`(SELECT * FROM arrival WHERE arrival >= first) AS a
  LEFT JOIN (
    SELECT arrival, status, feed, fault, rows_read, rows_accepted, rows_duplicate, rows_superseded,
      rows_rejected, rows_unregistered, rows_held
    FROM file_state FINAL WHERE arrival >= first
  ) AS s ON s.arrival = a.arrival`

const statusOf = sql`if(s.status = '', 'arrived', s.status)`

/**
 * Today's files by feed and state, and the newest of them with the outcome of their rows. Arrival
 * numbers ascend and order both tables, so only the last granules are read.
 */
export async function readToday(source: PanelSource): Promise<Today> {
  const { zone, now } = source
  const day = dayAt(zone, now())
  const todays = sql`WITH (
      SELECT ifNull(minOrNull(arrival), 4294967295) FROM arrival
      WHERE arrived_at >= fromUnixTimestamp64Milli(${zone.dayStart(day) * 1_000})
    ) AS first`
  const [counts, files] = await Promise.all([
    query<Today['counts'][number]>(
      source,
      sql`${todays} SELECT toString(s.feed) AS feed, ${statusOf} AS status,
          toUInt32(count()) AS files
        FROM ${joined} GROUP BY feed, status ORDER BY feed, status LIMIT 200`,
    ),
    query<FileShown>(
      source,
      sql`${todays} SELECT a.arrival AS arrival, a.name AS name, toString(a.source) AS source,
          toString(s.feed) AS feed, ${statusOf} AS status, toString(s.fault) AS fault,
          formatDateTime(a.arrived_at, '%FT%TZ') AS arrivedAt, toFloat64(a.bytes) AS bytes,
          toFloat64(s.rows_read) AS read,
          if(status = 'published', toFloat64(s.rows_accepted), 0) AS accepted,
          toFloat64(s.rows_duplicate) AS duplicate, toFloat64(s.rows_superseded) AS superseded,
          toFloat64(s.rows_rejected) AS rejected, toFloat64(s.rows_unregistered) AS unregistered,
          toFloat64(s.rows_held) AS held,
          toFloat64(r.loaded) AS loaded
        FROM ${joined}
        LEFT JOIN (
          SELECT arrival, sum(rows_read) AS loaded FROM chunk_receipt FINAL
          WHERE arrival >= first GROUP BY arrival
        ) AS r ON r.arrival = a.arrival
        ORDER BY arrival DESC LIMIT ${filesMax}`,
    ),
  ])
  return { day, counts, files }
}
