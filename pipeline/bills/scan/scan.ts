import { coarserOf, type PriceBuckets } from '../../../schemas/rating/price-buckets.js'
import { type Days, yearDays } from '../../../schemas/rating/projection.js'
import { dayStarts, slotSeconds, slotsOf } from '../../../schemas/rating/slots.js'
import type { Statement } from '../../store/clickhouse.js'
import { seriesNumber, upperHalf } from '../../store/series.js'
import { id, literal, type Sql, sql } from '../../store/sql.js'
import { scanPasses } from '../compile.js'
import type { RunTables } from '../tables.js'
import { type Back, ofMeters, readsOf, type Scan } from './reads.js'

export function createVectors(table: string): Statement {
  return {
    sql: sql`CREATE TABLE ${id(table)}
      (
        meter_id String, external_site_id String, account_number String, client_id String, first_day Int32,
        pass UInt8, seconds UInt32, vector Array(Int64), daily Array(Int64), present UInt32, estimated UInt32, negative UInt32,
        covered Array(UInt64), seen UInt32, method LowCardinality(String)
      )
      ENGINE = MergeTree ORDER BY meter_id`,
  }
}

/** The energy of some reads by class, and by day: where days are finer, classes are sums of them. */
function sumsOf({ classes, dayBuckets, past }: Scan): Sql {
  const resample = ({ count }: PriceBuckets) => sql`sumResample(1, ${literal(count + 1)}, 1)`
  const byClass = sql`${resample(classes)}(micros, class)`
  const [vector, daily] =
    dayBuckets === undefined
      ? [byClass, sql`CAST([], 'Array(Int64)')`]
      : [
          past === undefined ? addedUp(dayBuckets, classes) : byClass,
          sql`${resample(dayBuckets)}(micros, day_class)`,
        ]
  const [covered, seen] =
    past === undefined
      ? [sql`CAST([], 'Array(UInt64)')`, sql`toUInt32(0)`]
      : [
          sql`${resample(classes)}(length, class)`,
          sql`groupBitOr(if(local_day BETWEEN toDate(${literal(past.from)}) AND toDate(${literal(past.to)}), bitShiftLeft(toUInt32(1), toUInt8(local_day - toDate(${literal(past.from)}))), 0))`,
        ]
  return sql`${daily} AS daily, ${vector} AS vector, ${covered} AS covered, ${seen} AS seen`
}

/** The sums `daily` by the class of each. */
function addedUp(days: PriceBuckets, classes: PriceBuckets): Sql {
  const sum = literal(`sumResample(0, ${classes.count}, 1)`)
  return sql`arrayReduce(${sum}, daily, ${literal(coarserOf(days, classes))})`
}

/** The same of reads of one length, with how many of them the period has, are estimates and are below 0. */
function countedSumsOf(scan: Scan): Sql {
  const isPresent = sql`slot >= ${literal(scan.period.from)} AND slot < ${literal(scan.period.to)}`
  return sql`${sumsOf(scan)}, toUInt32(countIf(${isPresent})) AS present,
          toUInt32(countIf(is_estimate AND ${isPresent})) AS estimated, toUInt32(countIf(micros < 0 AND ${isPresent})) AS negative`
}

const columns = sql`meter_id, external_site_id, account_number, client_id, first_day, pass, seconds, vector, daily, present, estimated, negative, covered, seen`

const owner = sql`m.meter_id, m.external_site_id, m.account_number, m.client_id, m.first_day`

/** The meters that one tenancy has had alone and whose reads no scan has summed yet. */
function leftMeters({ members, vectors }: RunTables): Sql {
  return sql`SELECT meter_id FROM ${id(members)}
    WHERE NOT is_odd AND meter_id NOT IN (SELECT meter_id FROM ${id(vectors)})`
}

export function countLeft(tables: RunTables): Statement {
  return { sql: sql`SELECT count() AS meters FROM (${leftMeters(tables)})` }
}

/**
 * Of more meters nearly every granule has one, and to look for them in the index takes longer than to
 * read what could be left out: 3 ns for each of them and granule.
 */
const hintedMetersMax = 5_000

/** The meters that one tenancy has had alone. */
export function countAlone({ members }: RunTables): Statement {
  return { sql: sql`SELECT count() AS meters FROM ${id(members)} WHERE NOT is_odd` }
}

/**
 * The one pass over the reads of meters that only one tenancy has had. It takes those whose reads are
 * all of one series, the member's own or that of no account, and never looks at their text: meters are
 * identified by half of a hash; where two share it, neither is taken here.
 */
export function scanWhole(scan: Scan, meters: number): Statement {
  const { members, vectors } = scan.tables
  const alone = sql`SELECT meter_id FROM ${id(members)} WHERE NOT is_odd`
  const hint = meters > hintedMetersMax ? sql`` : sql`indexHint(meter_id IN (${alone})) AND `
  const bySeries = sql`${hint}${upperHalf(sql`series`)} IN (SELECT ${upperHalf(sql`cityHash64(meter_id)`)} FROM (${alone}))`
  const which = scan.asOf === undefined ? bySeries : ofMeters(alone)
  return {
    sql: sql`INSERT INTO ${id(vectors)} (${columns})
      SELECT ${owner}, ${literal(scanPasses.whole)}, seconds, vector, daily, present, estimated, negative, covered, seen
      FROM (
        SELECT *, ${upperHalf(sql`series`)} AS meter, count() OVER (PARTITION BY meter) AS found
        FROM (
          SELECT series, any(seconds) AS seconds, ${countedSumsOf(scan)}
          FROM (${readsOf(scan, which)})
          GROUP BY series
        )
      ) AS u
      INNER JOIN (SELECT *, ${upperHalf(sql`cityHash64(meter_id)`)} AS meter FROM ${id(members)} WHERE NOT is_odd) AS m ON m.meter = u.meter
      WHERE found = 1 AND (series = ${seriesNumber(sql`m.meter_id`, sql`m.account_number`, sql`m.external_site_id`)}
        OR (m.holds_none AND series = ${seriesNumber(sql`m.meter_id`, sql`''`, sql`m.external_site_id`)}))`,
    settings: inMemory,
  }
}

/** Whether a read `u` at an instant is one of a member `m`: by its account and its premise (decision 11). */
const isHeld = (at: Sql) => sql`NOT (u.external_site_id != m.external_site_id)
        AND arrayExists(h -> h.2 <= ${at} AND h.3 > ${at} AND (h.1 = u.account_number
          OR (h.1 = '\\0' AND u.account_number NOT IN (SELECT account_number FROM tenancy))), m.holds)`

/**
 * The reads of meters that one tenancy has had alone and that are of several series. Each hold of such a
 * member has all that is scanned or nothing of it.
 */
export function scanLeft(scan: Scan): Statement {
  const { members, vectors } = scan.tables
  const start = sql`toDateTime(${literal(scan.slots.startsAt + scan.period.from * slotSeconds)}, 'UTC')`
  return {
    sql: sql`INSERT INTO ${id(vectors)} (${columns})
      SELECT ${owner}, ${literal(scanPasses.whole)}, seconds, sumForEach(vector), sumForEach(daily), sum(present), sum(estimated), sum(negative),
        sumForEach(covered), groupBitOr(seen)
      FROM (
        SELECT meter_id, external_site_id, account_number, seconds,
          ${countedSumsOf(scan)}
        FROM (${readsOf(scan, ofMeters(leftMeters(scan.tables)))})
        GROUP BY meter_id, external_site_id, account_number, seconds
      ) AS u
      INNER JOIN (SELECT * FROM ${id(members)} WHERE NOT is_odd) AS m ON m.meter_id = u.meter_id
      WHERE ${isHeld(start)}
      GROUP BY ${owner}, seconds`,
    settings: inMemory,
  }
}

const inMemory = { max_bytes_before_external_group_by: 0 }

/** Irregular meters, whose reads are assigned one by one: several tenancies, or series of several lengths. */
function oddMeters({ members, vectors }: RunTables): Sql {
  return sql`SELECT meter_id FROM ${id(members)} WHERE is_odd
    UNION DISTINCT SELECT meter_id FROM ${id(vectors)} WHERE pass = ${literal(scanPasses.whole)}
      GROUP BY meter_id HAVING uniqExact(seconds) > 1`
}

export function countOdd(tables: RunTables): Statement {
  return { sql: sql`SELECT count() AS meters FROM (${oddMeters(tables)})` }
}

/** The reads of irregular meters. */
export function scanOdd(scan: Scan): Statement {
  const { tables } = scan
  return pickReads(scan, { meters: oddMeters(tables), into: tables.vectors, ...scan.period })
}

/** What the days ahead had in the year before, for meters of which too little is known otherwise. */
export function scanLastYear(scan: Scan, meters: Sql, ahead: Days): Statement {
  const slots = slotsOf(scan.slots, ahead)
  const into = scan.tables.lastYear
  return pickReads(scan, { meters, into, ...slots, back: { ...ahead, days: yearDays } })
}

interface Picked {
  readonly meters: Sql
  readonly into: string
  /** The slots of which reads are counted, the second one exclusive. */
  readonly from: number
  readonly to: number
  readonly back?: Back
}

/**
 * Each read goes to the tenancy at its start; of several series of a tenancy the finest of each day counts.
 * Those of an ended period alone decide their length; beside reads of whole days shorter ones count as
 * their share of their day, which may have 23 or 25 hours. `day_starts` has the first slot of each period day.
 */
function pickReads(scan: Scan, { meters, into, from, to, back }: Picked): Statement {
  const { slots, tables } = scan
  const firstDay = slots.periodDay[0] as number
  const starts = [...dayStarts(slots), slots.count]
  const isPresent = sql`slot >= greatest(${literal(from)}, day_starts[first_day - ${literal(firstDay)} + 1])
            AND slot < least(${literal(to)}, day_starts[last_day - ${literal(firstDay)} + 2])`
  const day = sql`toInt32(local_day) + ${literal((back?.days ?? 0) - firstDay)}`
  const ofDay = sql`if(seconds >= 86400, 1, seconds / (${literal(slotSeconds)} * (day_starts[${day} + 2] - day_starts[${day} + 1])))`
  const longest = scan.past === undefined ? sql`maxIf(seconds, ${isPresent})` : sql`max(seconds)`
  return {
    sql: sql`INSERT INTO ${id(into)} (${columns})
      WITH ${literal(starts)} AS day_starts
      SELECT meter_id, external_site_id, account_number, client_id, first_day, ${literal(scanPasses.odd)}, longest,
        vector, daily, present, estimated, negative, covered, seen
      FROM (
        SELECT meter_id, external_site_id, account_number, client_id, first_day, ${longest} AS longest,
          if(longest >= 86400, toUInt32(floor(sumIf(${ofDay}, ${isPresent}) + 0.001)), intDivOrZero(sumIf(seconds, ${isPresent}), longest)) AS present,
          toUInt32(countIf(is_estimate AND ${isPresent})) AS estimated, toUInt32(countIf(micros < 0 AND ${isPresent})) AS negative, ${sumsOf(scan)}
        FROM (
          SELECT m.meter_id AS meter_id, m.external_site_id AS external_site_id, m.account_number AS account_number,
            m.client_id AS client_id, m.first_day AS first_day, m.last_day AS last_day, u.local_day AS local_day,
            u.seconds AS seconds, u.length AS length, u.micros AS micros, u.is_estimate AS is_estimate, u.slot AS slot, u.class AS class, u.day_class AS day_class,
            min(u.seconds) OVER (PARTITION BY ${owner}, u.local_day) AS finest
          FROM (${readsOf(scan, ofMeters(meters), back)}) AS u
          INNER JOIN (SELECT * FROM ${id(tables.members)} WHERE meter_id IN (${meters})) AS m
            ON m.meter_id = u.meter_id
          WHERE ${isHeld(sql`u.starts_at`)}
        )
        WHERE seconds = finest
        GROUP BY meter_id, external_site_id, account_number, client_id, first_day
      )`,
  }
}
