import { addDays, dayAt } from '../../../schemas/time/zone.js'
import { ask, type PanelSource } from './ask.js'

const daysShown = 14
/** Meters of each commodity that are looked at. */
const metersMax = 32
/** Meters that are put in order to pick them, about; all others are passed by. */
const candidates = 4_096

export interface CompleteDay {
  readonly commodity: string
  /** Local. */
  readonly day: string
  readonly present: number
  readonly expected: number
  /** How many meters that is. */
  readonly meters: number
}

interface Picked {
  readonly meter: string
  readonly commodity: string
}

interface Day extends Omit<CompleteDay, 'meters'> {
  /** Meters that have something on the day, and the intervals that each should have. */
  readonly seen: number
  readonly each: number
}

/**
 * How much of what a day should have is there, by a sample of meters: those that have nothing on a
 * day count as missing, with as many intervals as the others have.
 */
export async function readCompleteness(source: PanelSource): Promise<readonly CompleteDay[]> {
  const { zone, now } = source
  const today = dayAt(zone, now())
  const registered = await pickRegistered(source)
  const picked = registered.length > 0 ? registered : await pickRead(source, today)
  const days = await ask<Day>(source, {
    sql: `SELECT commodity, toString(local_day) AS day,
        toFloat64(sum(intervals_present)) AS present, toFloat64(sum(intervals_expected)) AS expected,
        toUInt32(count()) AS seen, toUInt32(max(intervals_expected)) AS each
      FROM usage_day
      WHERE local_day BETWEEN {today:Date} - {days:UInt16} AND {today:Date}
        AND meter_id IN {meters:Array(String)}
      GROUP BY commodity, local_day ORDER BY commodity, local_day`,
    parameters: { today, days: daysShown, meters: picked.map(({ meter }) => meter) },
  })
  const told = days.map(({ seen, each, ...day }) => {
    const known = picked.filter(({ commodity }) => commodity === day.commodity).length
    const meters = Math.max(known, seen)
    return { ...day, expected: day.expected + (meters - seen) * each, meters }
  })
  return told.flatMap((day, at) => [day, ...holesBetween(day, told[at + 1])])
}

/** Days on which no meter has anything, as long as the one before them. */
function holesBetween(day: CompleteDay, next: CompleteDay | undefined): readonly CompleteDay[] {
  const holes: CompleteDay[] = []
  if (day.commodity !== next?.commodity) return holes
  for (let hole = addDays(day.day, 1); hole < next.day; hole = addDays(hole, 1)) {
    holes.push({ ...day, day: hole, present: 0 })
  }
  return holes
}

/**
 * The same meters each time, from everywhere: families by the hash of all but the last character of
 * the number. Those of a family lie side by side, so that a few granules of a day hold a sample of it.
 */
const family = 'cityHash64(substring(meter_id, 1, length(meter_id) - 1))'

/** One pass over the numbers of meters, and of those that it finds the ones that somebody holds. */
async function pickRegistered(source: PanelSource): Promise<readonly Picked[]> {
  const found = await ask<{ meter: string }>(source, {
    sql: `SELECT meter_id AS meter FROM tenancy
      WHERE valid_to IS NULL AND ${family} <= intDiv(18446744073709551615,
        1 + intDiv((SELECT count() FROM tenancy), {candidates:UInt32}))
      ORDER BY ${family}, meter LIMIT {metersMax:UInt32} BY meter_type`,
    parameters: { candidates, metersMax },
  })
  return ask<Picked>(source, {
    sql: `SELECT DISTINCT meter_id AS meter, toString(meter_type) AS commodity FROM tenancy FINAL
      WHERE valid_to IS NULL AND meter_id IN {meters:Array(String)}`,
    parameters: { meters: found.map(({ meter }) => meter) },
  })
}

/** Nobody is registered: the first meters that the newest day has. */
function pickRead(source: PanelSource, today: string): Promise<readonly Picked[]> {
  return ask<Picked>(source, {
    sql: `SELECT meter_id AS meter, toString(commodity) AS commodity FROM usage_read
      WHERE local_day = (
        SELECT local_day FROM usage_read WHERE local_day <= {today:Date}
        ORDER BY local_day DESC LIMIT 1
      )
      ORDER BY local_day, meter_id LIMIT 1 BY meter_id, commodity
      LIMIT {metersMax:UInt32}`,
    parameters: { today, metersMax },
  })
}
