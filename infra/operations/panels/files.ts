import { dayAt } from '../../../schemas/time/zone.js'
import { ask, type PanelSource } from './ask.js'

/** The newest of a day's files that are listed; all are counted. */
const filesMax = 50

/** A file as the page lists it. */
export interface FileShown {
  readonly arrival: number
  readonly name: string
  readonly source: string
  readonly feed: string
  /** That of the ledger; arrived where it was not taken in yet. */
  readonly status: string
  readonly fault: string
  readonly arrivedAt: string
  readonly bytes: number
  readonly read: number
  readonly accepted: number
  readonly rejected: number
  readonly held: number
  /** Rows that loads have a receipt for; of a file that is not decided. */
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

/**
 * Arrivals have ascending numbers, by which both tables are ordered: from the first of the day on
 * only the last granules are read.
 */
const todays = `WITH (
    SELECT ifNull(minOrNull(arrival), 4294967295) FROM arrival
    WHERE arrived_at >= fromUnixTimestamp64Milli({from:Int64})
  ) AS first`

const joined = `(SELECT * FROM arrival WHERE arrival >= first) AS a
  LEFT JOIN (
    SELECT arrival, status, feed, fault, rows_read, rows_accepted, rows_rejected, rows_held
    FROM file_state FINAL WHERE arrival >= first
  ) AS s ON s.arrival = a.arrival`

const statusOf = "if(s.status = '', 'arrived', s.status)"

/** Today's files by feed and state, and the newest of them with what became of their rows. */
export async function readToday(source: PanelSource): Promise<Today> {
  const { zone, now } = source
  const day = dayAt(zone, now())
  const parameters = { from: String(zone.dayStart(day) * 1_000), filesMax }
  const [counts, files] = await Promise.all([
    ask<Today['counts'][number]>(source, {
      sql: `${todays} SELECT toString(s.feed) AS feed, ${statusOf} AS status,
          toUInt32(count()) AS files
        FROM ${joined} GROUP BY feed, status ORDER BY feed, status LIMIT 200`,
      parameters,
    }),
    ask<FileShown>(source, {
      sql: `${todays} SELECT a.arrival AS arrival, a.name AS name, toString(a.source) AS source,
          toString(s.feed) AS feed, ${statusOf} AS status, toString(s.fault) AS fault,
          formatDateTime(a.arrived_at, '%FT%TZ') AS arrivedAt, toFloat64(a.bytes) AS bytes,
          toFloat64(s.rows_read) AS read,
          if(status = 'published', toFloat64(s.rows_accepted), 0) AS accepted,
          toFloat64(s.rows_rejected) AS rejected, toFloat64(s.rows_held) AS held,
          toFloat64(r.loaded) AS loaded
        FROM ${joined}
        LEFT JOIN (
          SELECT arrival, sum(rows_read) AS loaded FROM chunk_receipt FINAL
          WHERE arrival >= first GROUP BY arrival
        ) AS r ON r.arrival = a.arrival
        ORDER BY arrival DESC LIMIT {filesMax:UInt32}`,
      parameters,
    }),
  ])
  return { day, counts, files }
}
