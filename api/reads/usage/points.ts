import { literal, type Sql, sql, typed } from '../../../pipeline/store/sql.js'
import type { Granularity } from '../../../schemas/gateway/reads.js'
import { daySeconds } from '../../../schemas/time/zone.js'
import type { DayRange, Span } from '../range.js'
import type { ReadSource } from '../source.js'
import { costRows, type OwnBill } from './costs.js'

export interface PointsWanted {
  readonly clientId: string
  readonly meterId: string
  readonly granularity: Granularity
  readonly timeZone: string
  /** The days that the buckets touch, for the engine to find the rows. */
  readonly days: DayRange
  /** One point each, in order; for intervals the spans in which they start. */
  readonly buckets: readonly Span[]
  /** Where reads are expected: elsewhere nothing is missing. */
  readonly expected: readonly Span[]
  /** Bills whose costs the points have. */
  readonly bills: readonly OwnBill[]
  /** One point more is read, which says where the next page begins. */
  readonly pageMax: number
}

/**
 * The points of a customer's own reads as JSON texts, made by the engine in one statement: of the finest
 * series of each day, as `usage_day` has it, and of the gaps between them. A gap of intervals is one
 * point, however long. A longer read than the bucket it starts in keeps its own span. So does what a bill
 * has for days without reads, and for the projected rest of its period.
 */
export function readPoints(source: ReadSource, wanted: PointsWanted): Promise<readonly string[]> {
  if (wanted.buckets.length === 0) return Promise.resolve([])
  return source.lines({ sql: pointsSql(wanted) })
}

/** The quality of a read; of its reads a point has the last in this order. */
const qualities = ['asSent', 'corrected', 'substituted', 'estimated']

/** Behind all reads, so that a gap before the end of the page is found like any other. */
const endOfTime = 4_294_967_295

function pointsSql(wanted: PointsWanted): Sql {
  const { granularity, timeZone, buckets, expected, pageMax } = wanted
  const isCut = granularity !== 'interval'
  const local = sql`formatDateTime(toDateTime(p.1, ${literal(timeZone)}), '%Y-%m-%dT%H:%i:%S%z')`
  const utc = (at: Sql) => sql`formatDateTime(toDateTime(${at}, 'UTC'), '%Y-%m-%dT%H:%i:%SZ')`
  const missing = sql`if(is_ahead OR ${isCut ? sql`0` : sql`reads > 0`}, toInt64(0),
      greatest(0, toInt64(arraySum(g -> g.2 - g.1, ${overlap(sql`at`, sql`upto`)})) - present))`
  return sql`WITH ${literal(buckets.map(([from]) => from))} AS starts, ${literal(buckets.map(([, to]) => to))} AS ends,
      ${spansSql(expected)} AS spans
    SELECT ${utc(sql`p.1`)} AS start, ${utc(sql`p.2`)} AS end,
      concat(substring(${local}, 1, 22), ':', substring(${local}, 23)) AS localStart,
      p.3 AS quantity, p.4 AS unit,
      multiIf(p.8, 'projected', p.5 = 0, 'missing', p.7 > 0, 'partial', ${literal(qualities)}[p.6]) AS quality,
      p.5 AS reads, p.7 AS secondsMissing, p.9 AS cost, p.10 AS costStatus, ${namedCosts} AS costs
    FROM (SELECT arrayJoin(arrayConcat(
      arrayMap(g -> (g.1, g.2, ${noQuantity}, ${noText}, toUInt64(0), toUInt64(0), toInt64(g.2 - g.1), false, ${noCost}, 'noBill', ${noLines}),
        ${isCut ? cutGaps : sql`gaps`}),
      if(at = ${literal(endOfTime)}, [], [(at, upto, sum_of, unit, reads, worst, ${missing}, is_ahead, cost, status, lines)]))) AS p
    FROM
    (
      SELECT *, max(if(is_ahead, toUInt32(0), upto)) OVER (ORDER BY at, unit ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
        ${overlap(sql`before`, sql`at`)} AS gaps
      FROM
      (
        ${bucketRows(wanted)}
        UNION ALL
        SELECT toUInt32(${literal(endOfTime)}), toUInt32(${literal(endOfTime)}), false, ${noQuantity}, ${noText}, 0, 0, 0, ${noCost}, '', ${noLines}
      )
    ))
    ORDER BY p.1, p.8, p.4 LIMIT ${pageMax + 1}`
}

const noQuantity = sql`CAST(NULL, 'Nullable(Decimal(38, 9))')`
const noText = sql`CAST(NULL, 'Nullable(String)')`
const noCost = sql`CAST(NULL, 'Nullable(Decimal(38, 6))')`
const noLines = sql`CAST(([], []), 'Tuple(Array(String), Array(Decimal(38, 6)))')`

/** The costs of a point by line: its key has four parts. */
const namedCosts = sql`arrayMap((line, cost) -> CAST((line[1], line[2], line[3], toUInt16(line[4]), cost),
    'Tuple(kind String, component String, name String, tier UInt16, cost Decimal(38, 6))'),
  arrayMap(key -> splitByChar('\n', key), p.11.1), p.11.2)`

function spansSql(spans: readonly Span[]): Sql {
  return sql`CAST(${literal(spans)}, 'Array(Array(UInt32))')`
}

/** The parts of the expected spans between two instants. */
function overlap(from: Sql, to: Sql): Sql {
  return sql`arrayFilter(g -> g.1 < g.2,
    arrayMap(x -> (greatest(x[1], toUInt32(${from})), least(x[2], toUInt32(${to}))), spans))`
}

/** Gaps divided where a bucket starts. */
const cutGaps = sql`arrayFlatten(arrayMap(g -> arrayMap((a, b) -> (a, b),
  arrayConcat([g.1], arrayFilter(c -> c > g.1 AND c < g.2, starts)),
  arrayConcat(arrayFilter(c -> c > g.1 AND c < g.2, starts), [g.2])), gaps))`

/**
 * The customer's reads of the finest series of each day, and what his bills cost, added up by bucket. A
 * bucket with days that no bill has is `noBill`; else a status that explains a lack of costs comes first.
 */
function bucketRows(wanted: PointsWanted): Sql {
  return sql`SELECT at, if(max(is_read), maxIf(row_upto, is_read), max(row_upto)) AS upto, is_ahead, sum(row_quantity) AS sum_of, unit,
      sum(is_read) AS reads, max(row_rank) AS worst, toInt64(sum(row_present)) AS present, sum(row_cost) AS cost,
      if(hasAll(groupUniqArrayIf(day, NOT is_read), groupUniqArrayIf(day, is_read)),
        argMinIf(row_status, (row_cost IS NOT NULL, row_status = 'computed', row_status), NOT is_read), 'noBill') AS status,
      CAST(sumMap(keys, costs), 'Tuple(Array(String), Array(Decimal(38, 6)))') AS lines
    FROM
    (
      SELECT *, ifNull(own_unit, max(own_unit) OVER (PARTITION BY at, is_ahead)) AS unit
      FROM (${readRows(wanted)}${wanted.bills.length === 0 ? sql`` : sql` UNION ALL ${billedRows(wanted)}`})
    )
    GROUP BY at, is_ahead, unit`
}

function billedRows(wanted: PointsWanted): Sql {
  return sql`SELECT toUInt32(if(is_whole, cost_at, starts[bucket])) AS at, toUInt32(if(is_whole, cost_upto, ends[bucket])) AS row_upto,
      is_projected AS is_ahead, if(is_projected, toNullable(quantity), NULL) AS row_quantity, if(is_projected, cost_unit, NULL) AS own_unit,
      false AS is_read, toUInt64(0) AS row_rank, 0 AS row_present, local_day AS day, cost AS row_cost, status AS row_status, line_keys AS keys, line_costs AS costs
    FROM (SELECT *, indexOf(starts, roundDown(cost_at, starts)) AS bucket FROM (${costRows(wanted, wanted.bills)}))
    WHERE cost_at >= starts[1] AND cost_at < ends[bucket]`
}

function readRows({ clientId, meterId, granularity, timeZone, days }: PointsWanted): Sql {
  const own = sql`meter_id = ${meterId}
    AND local_day BETWEEN ${typed('Date', days.from)} AND ${typed('Date', days.to)}`
  const isWhole = {
    interval: sql`1`,
    hour: sql`seconds > 3600`,
    day: sql`0`,
    month: sql`0`,
    billingPeriod: sql`0`,
  }[granularity]
  return sql`SELECT toUInt32(if(${isWhole}, read_at, starts[bucket])) AS at,
      toUInt32(if(${isWhole}, read_upto, ends[bucket])) AS row_upto,
      false AS is_ahead, toNullable(quantity) AS row_quantity, toNullable(read_unit) AS own_unit, true AS is_read, row_rank,
      if(seconds = ${literal(daySeconds)}, toInt64(${dayStart(sql`day + 1`, timeZone)}) - ${dayStart(sql`day`, timeZone)}, read_upto - read_at) AS row_present, day, CAST(NULL, 'Nullable(Decimal(18, 6))') AS row_cost, '' AS row_status,
      CAST([], 'Array(String)') AS keys, CAST([], 'Array(Decimal(18, 6))') AS costs
    FROM
    (
      SELECT toUnixTimestamp(u.starts_at) AS read_at, u.local_day AS day,
        ${readEnd(timeZone)} AS read_upto,
        u.quantity AS quantity, u.unit AS read_unit, u.seconds AS seconds,
        min(u.seconds) OVER (PARTITION BY u.local_day) AS finest,
        indexOf(${literal(qualities)}, if(u.quality = 'asSent' AND r.restated_by != 0 AND r.restated_by <= u.version,
          'corrected', u.quality)) AS row_rank,
        indexOf(starts, roundDown(read_at, starts)) AS bucket
      FROM (SELECT * FROM registered_usage WHERE ${own} AND has(client_ids, ${clientId})) AS u
      LEFT JOIN
      (
        SELECT starts_at, seconds, min(new_version) AS restated_by
        FROM restatement WHERE ${own} AND old_quantity != new_quantity
        GROUP BY starts_at, seconds
      ) AS r ON r.starts_at = u.starts_at AND r.seconds = u.seconds
    )
    WHERE seconds = finest AND read_at >= starts[1] AND read_at < ends[bucket]`
}

/**
 * Where a read ends. One of a day lasts until the next one, an hour sooner or later where the clock changes;
 * without a next one until midnight if it starts at midnight.
 */
function readEnd(timeZone: string): Sql {
  const next = sql`leadInFrame(toInt64(read_at)) OVER (PARTITION BY u.seconds ORDER BY read_at ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)`
  return sql`multiIf(u.seconds != ${literal(daySeconds)}, read_at + u.seconds,
          abs(${next} - read_at - u.seconds) <= ${literal(clockChangeMax)}, ${next},
          read_at = ${dayStart(sql`u.local_day`, timeZone)}, ${dayStart(sql`u.local_day + 1`, timeZone)}, read_at + u.seconds)`
}

/** Seconds by which a clock may change. */
const clockChangeMax = 7_200

const dayStart = (day: Sql, timeZone: string) =>
  sql`toUnixTimestamp(toDateTime(${day}, ${literal(timeZone)}))`
