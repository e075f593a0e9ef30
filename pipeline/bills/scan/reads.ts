import type { PriceBuckets } from '../../../schemas/rating/price-buckets.js'
import type { Days } from '../../../schemas/rating/projection.js'
import { type Slots, slotSeconds, slotsOnWall } from '../../../schemas/rating/slots.js'
import type { Statement } from '../../store/clickhouse.js'
import { seriesNumber } from '../../store/series.js'
import { id, literal, type Sql, sql } from '../../store/sql.js'
import type { RunTables } from '../tables.js'

export interface Scan {
  readonly tables: RunTables
  readonly slots: Slots
  readonly classes: PriceBuckets
  /**
   * The buckets of single days, by which costs are spread; undefined where only bills are wanted. In an ended
   * period each lies in one of `classes`, so that a read is added to one sum.
   */
  readonly dayBuckets: PriceBuckets | undefined
  /** The slots of the period, or of what has passed of it; the second one exclusive. */
  readonly period: { readonly from: number; readonly to: number }
  /** Days since 1970 from which the rest of the period is projected; undefined where it has ended. */
  readonly past?: Days
  /** Reads as they were known at an instant, ISO 8601; the current ones where not given. */
  readonly asOf?: string
}

/** Quarter hours without a class ahead of the first: the days asked for begin less than one earlier. */
const slotsAhead = 96
/** The quarter hour of the clock. */
const noon = 48

/**
 * Reads as all scans take them. The read of a day is at the noon of the local day on which it starts, at
 * whatever hour, as all views have it. A read outside the slots is of class 0, which no vector takes.
 */
export function readsOf({ slots, classes, dayBuckets, asOf }: Scan, which: Sql, back?: Back): Sql {
  const ahead = new Uint8Array(slotsAhead)
  const codesOf = ({ bucketOf }: PriceBuckets) => [
    ...ahead,
    ...Array.from(bucketOf, (one) => one + 1),
  ]
  const dayCodes = dayBuckets === undefined ? [] : codesOf(dayBuckets)
  const day = (slot: number) => slots.day[Math.min(Math.max(slot, 0), slots.count - 1)] as number
  const { from, to, days } = back ?? { from: day(0), to: day(slots.count), days: 0 }
  const where = sql`local_day BETWEEN toDate(${literal(from - days)}) AND toDate(${literal(to - days)}) AND ${which}`
  const slot =
    back === undefined
      ? sql`intDiv(toUInt32(starts_at), ${literal(slotSeconds)}) - ${literal(slots.startsAt / slotSeconds)}`
      : slotOnWall(slots, back)
  const noons = slotsOnWall(slots, { from, to }).filter((_, at) => at % slotsAhead === noon)
  const noonOf = sql`${literal(noons)}[toInt32(local_day) - ${literal(from - days)} + 1]`
  return sql`
    WITH ${literal(codesOf(classes))} AS classes, CAST(${literal(dayCodes)}, 'Array(UInt16)') AS day_classes
    SELECT meter_id, external_site_id, account_number, starts_at, local_day, seconds, toUInt64(seconds) AS length, series,
      reinterpret(quantity, 'Int64') AS micros, quality = 'estimated' AS is_estimate,
      toInt32(if(seconds >= 86400, ${noonOf}, ${slot})) AS slot,
      classes[slot + ${literal(slotsAhead + 1)}] AS class,
      day_classes[slot + ${literal(slotsAhead + 1)}] AS day_class
    FROM (${readsWhere(where, asOf)})`
}

/** The slot of a read some days later, at the same time of the clock. */
function slotOnWall(slots: Slots, { from, to, days }: Back): Sql {
  const offset = (slots.quarter[0] as number) + 4 - ((slots.startsAt / slotSeconds) % 4)
  const quarter = sql`(intDiv(toUInt32(starts_at), ${literal(slotSeconds)}) + ${literal(offset)}) % 4`
  return sql`${literal(slotsOnWall(slots, { from, to }))}[(toInt32(local_day) - ${literal(from - days)}) * ${literal(slotsAhead)} + local_hour * 4 + ${quarter} + 1]`
}

export const ofMeters = (meters: Sql) => sql`meter_id IN (${meters})`

/** Reads that are shifted by some days to later ones. */
export interface Back extends Days {
  readonly days: number
}

/** Current reads, or those that were known at an instant. */
function readsWhere(where: Sql, asOf?: string): Sql {
  return asOf === undefined
    ? sql`SELECT * FROM usage_current WHERE ${where}`
    : knownReads(asOf, where)
}

/** The last day up to one of which some member of each run has reads; 0 where none has. */
export function newestDays({ members }: RunTables, days: Days, asOf?: string): Statement {
  const where = sql`local_day BETWEEN toDate(${literal(days.from)}) AND toDate(${literal(days.to)})
      AND meter_id IN (SELECT meter_id FROM ${id(members)})`
  return {
    sql: sql`SELECT run, toUInt32(max(u.day)) AS day FROM ${id(members)} AS m
      LEFT JOIN (SELECT meter_id, max(local_day) AS day FROM (${readsWhere(where, asOf)}) GROUP BY meter_id) AS u
        ON u.meter_id = m.meter_id
      GROUP BY run`,
  }
}

/**
 * Reads as sent that had been published at an instant, and what later files replaced or are about to.
 */
function knownReads(asOf: string, where: Sql): Sql {
  const known = sql`SELECT toUInt64(arrival) FROM publication
      WHERE arrival != 0 AND published_at <= toDateTime64(${literal(asOf)}, 3, 'UTC')`
  const isKnown = (change: Sql) =>
    sql`(${change} = 0 OR ${change} > 4294967295 OR ${change} IN (${known}))`
  const later = sql`SELECT toUInt64(arrival) FROM file_state FINAL
      WHERE status IN ('publishing', 'published') AND toUInt64(arrival) NOT IN (${known})`
  const replaced = sql`FROM restatement FINAL WHERE bitShiftRight(old_version, 32) IN (${known})
        AND bitShiftRight(new_version, 32) IN (${later}) AND ${isKnown(sql`old_change`)} AND ${where}`
  const series = seriesNumber(sql`meter_id`, sql`old_account_number`, sql`old_external_site_id`)
  return sql`SELECT meter_id, external_site_id, account_number, starts_at, local_day, local_hour, seconds, series, quantity, quality
      FROM usage_current WHERE toUInt64(arrival) IN (${known}) AND ${isKnown(sql`change`)} AND version NOT IN (SELECT old_version ${replaced}) AND ${where}
      UNION ALL
      SELECT meter_id, old_external_site_id, old_account_number, starts_at, local_day, local_hour, seconds, ${series}, old_quantity, old_quality
      ${replaced}`
}
