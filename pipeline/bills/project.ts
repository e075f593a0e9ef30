import {
  type Days,
  hourTypeCount,
  type Projection,
  pastDays,
  toProjectedBuckets,
} from '../../schemas/rating/projection.js'
import { dayStarts } from '../../schemas/rating/slots.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, join, literal, type Sql, sql } from '../store/sql.js'
import { scanPasses } from './compile.js'
import { blocks, completenessMin } from './price.js'
import type { Scan } from './scan/reads.js'
import { createVectors, scanLastYear } from './scan/scan.js'

export interface Projecting {
  readonly scan: Scan
  readonly projection: Projection
}

/**
 * Projects the days ahead of each member from the reads of the last weeks, else from those of the year
 * before, and adds them to the sums of the past days.
 */
export async function project(store: Store, projecting: Projecting): Promise<void> {
  const { tables } = projecting.scan
  await store.command(createVectors(tables.lastYear))
  await store.command(createVectors(tables.projected))
  const unknown = sql`SELECT meter_id FROM (${knownOf(projecting)}) WHERE is_open AND NOT is_known`
  const [found] = await store.rows<{ meters: string }>({
    sql: sql`SELECT toString(count()) AS meters FROM (${unknown})`,
    settings: blocks,
  })
  if (found?.meters !== '0') {
    const scanning = scanLastYear(projecting.scan, unknown, projecting.projection.ahead)
    const { max_joined_block_size_rows } = blocks
    await store.command({ ...scanning, settings: { max_joined_block_size_rows } })
  }
  await store.command(writeProjected(projecting))
}

/** Members with the sums of past days, and whether those are enough to project the days ahead. */
function knownOf({ scan, projection }: Projecting): Sql {
  const { members, vectors } = scan.tables
  const { pastTypes, hourTypes, quarters, noons } = bucketsOf(projection, scan)
  const typesOf = (own: typeof quarters) => [
    ...new Set(hourTypes.filter((type, at) => type > 0 && own[at]?.length)),
  ]
  const byType = literal(`sumResample(1, ${hourTypeCount + 1}, 1)`)
  const size = literal(pastTypes.length)
  const odd = sql`pass = ${literal(scanPasses.odd)}`
  const enough = [
    sql`bitCount(seen) >= ${literal(pastDays.min)}`,
    ...projection.needed.map(
      (days) => sql`bitCount(bitAnd(seen, ${literal(days)})) >= ${literal(pastDays.ofTypeMin)}`,
    ),
  ]
  return sql`WITH ${literal(pastTypes)} AS past_types
      SELECT m.meter_id AS meter_id, m.external_site_id AS external_site_id, m.account_number AS account_number,
        m.client_id AS client_id, m.first_day AS first_day, m.last_day AS last_day,
        if(v.seconds = 0, toUInt8(m.is_odd), v.pass) AS pass, v.seconds AS seconds,
        v.vector AS vector, v.daily AS daily, v.present AS present, v.estimated AS estimated, v.negative AS negative,
        last_day >= ${literal(projection.ahead.from)} AS is_open,
        arrayReduce(${byType}, arrayMap(own -> toInt128(own), arrayResize(vector, ${size})), past_types) AS sums,
        arrayReduce(${byType}, arrayResize(v.covered, ${size}), past_types) AS known_seconds,
        ${join(enough, sql` AND `)} AND arrayAll(b -> known_seconds[b] > 0,
          if(seconds >= 86400, ${literal(typesOf(noons))}, ${literal(typesOf(quarters))})) AS is_known
      FROM ${id(members)} AS m
      LEFT JOIN (
        SELECT * FROM ${id(vectors)}
        WHERE ${odd} OR meter_id NOT IN (SELECT meter_id FROM ${id(vectors)} WHERE ${odd})
      ) AS v ON v.meter_id = m.meter_id AND v.external_site_id = m.external_site_id
        AND v.account_number = m.account_number AND v.client_id = m.client_id AND v.first_day = m.first_day`
}

/**
 * A quarter hour ahead gets the mean of its past hours, a daily read that of its noon: in millionths, what
 * it adds to those before it in its hour type, rounded towards zero. So it is the same whatever the classes.
 */
function writeProjected(projecting: Projecting): Statement {
  const { scan, projection } = projecting
  const { hourTypes, quarters, noons } = bucketsOf(projection, scan)
  const { projected, lastYear } = scan.tables
  const firstDay = scan.slots.periodDay[0] as number
  const starts = [...dayStarts(scan.slots), scan.slots.count]
  const { ahead } = projection
  const mean = (count: Sql) => sql`intDiv(sum * ${count} * step, toInt128(greatest(known, 1)))`
  const size = literal(hourTypes.length)
  return {
    sql: sql`INSERT INTO ${id(projected)} (meter_id, external_site_id, account_number, client_id, first_day, pass, seconds,
        vector, daily, present, estimated, negative, covered, seen, method)
      WITH ${literal(hourTypes)} AS hour_types, ${literal(quarters)} AS quarters, ${literal(noons)} AS noons,
        ${literal(starts)} AS day_starts,
        greatest(k.first_day, ${literal(ahead.from)}) AS from_day,
        k.seconds >= 86400 AS is_daily, if(is_daily, 86400, 900) AS step,
        if(l.seconds >= 86400, k.last_day - from_day + 1,
          intDiv((day_starts[k.last_day - ${literal(firstDay)} + 2] - day_starts[from_day - ${literal(firstDay)} + 1]) * 900, greatest(l.seconds, 1))) AS year_expected,
        l.seconds > 0 AND (k.seconds = 0 OR l.seconds <= k.seconds) AND l.present >= year_expected * ${literal(completenessMin)} AS has_year,
        multiIf(NOT is_open, '', is_known, 'recent', has_year, 'lastYear', 'none') AS way
      SELECT k.meter_id, k.external_site_id, k.account_number, k.client_id, k.first_day, k.pass,
        if(k.seconds = 0, l.seconds, k.seconds),
        arrayMap((b, own, last_year, sum, known, stretches) -> multiIf(
            b = 0, own,
            way = 'recent', arraySum(s -> toInt64(${mean(sql`s[2]`)} - ${mean(sql`s[1]`)}), stretches),
            way = 'lastYear', last_year,
            toInt64(0)),
          hour_types, arrayResize(k.vector, ${size}), arrayResize(l.vector, ${size}),
          ${ofClasses(sql`sums`, hourTypes)}, ${ofClasses(sql`known_seconds`, hourTypes)}, if(is_daily, noons, quarters)),
        k.daily, k.present, k.estimated, k.negative, [], 0, way
      FROM (${knownOf(projecting)}) AS k
      LEFT JOIN ${id(lastYear)} AS l ON l.meter_id = k.meter_id AND l.external_site_id = k.external_site_id
        AND l.account_number = k.account_number AND l.client_id = k.client_id AND l.first_day = k.first_day
      WHERE k.seconds > 0 OR l.seconds > 0`,
    settings: blocks,
  }
}

/**
 * Of each class the value of its hour type, where it lies ahead. Values are repeated and put in their order: a
 * lambda that looks them up would hold all of them once for each class.
 */
function ofClasses(values: Sql, hourTypes: readonly number[]): Sql {
  const places = [...hourTypes.keys()].sort((a, b) => Number(hourTypes[a]) - Number(hourTypes[b]))
  const counts = new Array<number>(hourTypeCount + 1).fill(0)
  for (const type of hourTypes) counts[type] = (counts[type] ?? 0) + 1
  return sql`arraySort((own, place) -> place,
            arrayFlatten(arrayMap((own, count) -> arrayWithConstant(count, own), arrayPushFront(${values}, 0), ${literal(counts)})),
            ${literal(places)})`
}

function bucketsOf(projection: Projection, { classes, slots }: Scan) {
  return toProjectedBuckets(projection, classes, slots)
}

/** The days of an open period to project: those after the last day with reads. */
export function daysAhead(period: Days, newest: number): Days {
  return { from: Math.max(period.from, newest + 1), to: period.to }
}
