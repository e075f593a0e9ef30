import type { Store } from '../../pipeline/store/clickhouse.js'
import { literal, sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import { slotSeconds } from '../../schemas/rating/slots.js'
import { daySeconds, wallSeconds, type Zone } from '../../schemas/time/zone.js'

const weekSeconds = 7 * daySeconds
/** Reads of so many years are compared, and those of the next ones. */
const years = { before: 10, ahead: 2 } as const

/**
 * Compares the time zone data of Node.js, which says when a read was, with that of the engine, which shows it.
 * Throws `STORE_REFUSED` with the first instant at which their clocks differ.
 */
export async function testZone(store: Store, zone: Zone, now = new Date()): Promise<void> {
  const { timeZone } = zone
  const instants = changesOf(zone, Math.floor(now.getTime() / 1_000))
  const wall = sql`toUnixTimestamp(toDateTime(toString(toDateTime(at, ${literal(timeZone)})), 'UTC'))`
  const [row] = await store.rows<{ offsets: readonly number[] }>({
    sql: sql`SELECT arrayMap(at -> toInt32(${wall} - at), ${literal(instants)}) AS offsets`,
  })
  for (const [index, at] of instants.entries()) {
    const [own, engine] = [wallSeconds(zone.toWall(at)) - at, row?.offsets[index]]
    if (own === engine) continue
    const hours = (seconds = Number.NaN) =>
      `UTC${seconds < 0 ? '-' : '+'}${Math.abs(seconds) / 3_600}`
    throw new Fault(
      'STORE_REFUSED',
      `${timeZone} is at ${hours(own)} on ${new Date(at * 1_000).toISOString()} in the time zone data of Node.js (${process.versions['tz']}) and at ${hours(engine)} in that of ClickHouse; update the older one`,
    )
  }
}

/** The quarter hours around each change of the clock, and at the end of each week without one. */
function changesOf({ changeWithin }: Zone, now: number): readonly number[] {
  const weeks = Math.round(((years.before + years.ahead) * 365.25 * daySeconds) / weekSeconds)
  const first = now - Math.round(years.before * 365.25) * daySeconds
  return Array.from({ length: weeks }, (_, week) => first + week * weekSeconds).flatMap((from) => {
    const change = changeWithin(from, from + weekSeconds)
    return [Math.floor(change / slotSeconds) - 1, Math.ceil(change / slotSeconds)].map(
      (slot) => slot * slotSeconds,
    )
  })
}
