import { toDay } from '../../../schemas/zone.js'
import { ask, type PanelSource } from './ask.js'

const daysShown = 14
/** Meters of each commodity that are looked at; a day of each is a granule of the table. */
const metersMax = 32

export interface CompleteDay {
  readonly commodity: string
  /** Local. */
  readonly day: string
  readonly present: number
  readonly expected: number
  /** How many meters that is. */
  readonly meters: number
}

/** Some meters, of the registered ones, else of those that the newest reads are of. */
const sampled = `picked AS (
    SELECT meter_id, commodity FROM (
      SELECT meter_id, toString(meter_type) AS commodity FROM tenancy FINAL WHERE valid_to IS NULL
      ORDER BY cityHash64(meter_id) LIMIT {metersMax:UInt32} BY commodity
    )
    UNION ALL
    SELECT DISTINCT meter_id, commodity FROM (
      SELECT meter_id, toString(commodity) AS commodity FROM usage_read
      WHERE local_day = (SELECT max(local_day) FROM usage_read WHERE local_day <= {today:Date})
        AND (SELECT count() FROM tenancy WHERE valid_to IS NULL) = 0
      ORDER BY local_day, meter_id LIMIT 1 BY meter_id, commodity
      LIMIT {metersMax:UInt32}
    )
  )`

/**
 * How much of what a day should have is there, by a sample of meters: those that have nothing on a
 * day count as missing, with as many intervals as the others have.
 */
export async function readCompleteness(source: PanelSource): Promise<readonly CompleteDay[]> {
  const { zone, now } = source
  const today = toDay(zone.toWall(Math.floor(now().getTime() / 1_000)))
  return ask<CompleteDay>(source, {
    sql: `WITH ${sampled}
      SELECT commodity, toString(local_day) AS day, toFloat64(sum(intervals_present)) AS present,
        toFloat64(sum(intervals_expected)
          + (meters - count()) * max(intervals_expected)) AS expected,
        toUInt32(any(known)) AS meters
      FROM usage_day AS d
      INNER JOIN (SELECT commodity, count() AS known FROM picked GROUP BY commodity) AS k
        ON k.commodity = d.commodity
      WHERE local_day BETWEEN {today:Date} - {days:UInt16} AND {today:Date}
        AND meter_id IN (SELECT meter_id FROM picked)
      GROUP BY commodity, local_day ORDER BY commodity, local_day`,
    parameters: { today, days: daysShown, metersMax },
  })
}
