import { sql, typed } from '../../../pipeline/store/sql.js'
import { addDays, dayAt } from '../../../schemas/time/zone.js'
import { type PanelSource, query } from './query.js'

const daysShown = 14
/** Sampled meters of each commodity. */
const metersMax = 32
/** About how many meters are sorted to pick the sample; all others are skipped. */
const candidates = 4_096

export interface CompleteDay {
  readonly commodity: string
  /** Local. */
  readonly day: string
  readonly present: number
  readonly expected: number
  /** Number of sampled meters. */
  readonly meters: number
}

interface Picked {
  readonly meter: string
  readonly commodity: string
}

interface Day extends Omit<CompleteDay, 'meters'> {
  /** Meters with reads on the day, and the intervals that each should have. */
  readonly seen: number
  readonly each: number
}

/**
 * The share of expected intervals that are present on each day, by a sample of meters. A meter without
 * reads on a day counts as missing as many intervals as the others have.
 */
export async function readCompleteness(source: PanelSource): Promise<readonly CompleteDay[]> {
  const { zone, now } = source
  const today = dayAt(zone, now())
  const registered = await pickRegistered(source)
  const picked = registered.length > 0 ? registered : await pickRead(source, today)
  const meters = picked.map(({ meter }) => meter)
  const days = await query<Day>(
    source,
    sql`SELECT commodity, toString(local_day) AS day,
        toFloat64(sum(intervals_present)) AS present, toFloat64(sum(intervals_expected)) AS expected,
        toUInt32(count()) AS seen, toUInt32(max(intervals_expected)) AS each
      FROM usage_day
      WHERE local_day BETWEEN ${typed('Date', today)} - ${daysShown} AND ${typed('Date', today)}
        AND meter_id IN ${meters}
      GROUP BY commodity, local_day ORDER BY commodity, local_day`,
  )
  const sampled = days.map(({ seen, each, ...day }) => {
    const known = picked.filter(({ commodity }) => commodity === day.commodity).length
    const sampledMeters = Math.max(known, seen)
    const expected = day.expected + (sampledMeters - seen) * each
    return { ...day, expected, meters: sampledMeters }
  })
  return sampled.flatMap((day, at) => [day, ...holesBetween(day, sampled[at + 1])])
}

/** Days without any reads; each expects as many intervals as the day before. */
function holesBetween(day: CompleteDay, next: CompleteDay | undefined): readonly CompleteDay[] {
  const holes: CompleteDay[] = []
  if (day.commodity !== next?.commodity) return holes
  for (let hole = addDays(day.day, 1); hole < next.day; hole = addDays(hole, 1)) {
    holes.push({ ...day, day: hole, present: 0 })
  }
  return holes
}

/**
 * A stable sample of all meters: families by the hash of all but the last character of the number.
 * Meters of a family are adjacent, so a few granules of a day hold its sample.
 */
const family = sql`cityHash64(substring(meter_id, 1, length(meter_id) - 1))`

/** Picks meters in one pass over their numbers, then keeps those with a current tenancy. */
async function pickRegistered(source: PanelSource): Promise<readonly Picked[]> {
  const found = await query<{ meter: string }>(
    source,
    sql`SELECT meter_id AS meter FROM tenancy
      WHERE valid_to IS NULL AND ${family} <= intDiv(18446744073709551615,
        1 + intDiv((SELECT count() FROM tenancy), ${typed('UInt32', candidates)}))
      ORDER BY ${family}, meter LIMIT ${metersMax} BY meter_type`,
  )
  const meters = found.map(({ meter }) => meter)
  return query<Picked>(
    source,
    sql`SELECT DISTINCT meter_id AS meter, toString(meter_type) AS commodity FROM tenancy FINAL
      WHERE valid_to IS NULL AND meter_id IN ${meters}`,
  )
}

/** Without registered customers: the first meters of the newest day. */
function pickRead(source: PanelSource, today: string): Promise<readonly Picked[]> {
  return query<Picked>(
    source,
    sql`SELECT meter_id AS meter, toString(commodity) AS commodity FROM usage_read
      WHERE local_day = (
        SELECT local_day FROM usage_read WHERE local_day <= ${typed('Date', today)}
        ORDER BY local_day DESC LIMIT 1
      )
      ORDER BY local_day, meter_id LIMIT 1 BY meter_id, commodity
      LIMIT ${metersMax}`,
  )
}
