import type { Statement } from '../../store/clickhouse.js'
import { id, literal, type Sql, sql } from '../../store/sql.js'
import { onServerOf } from '../../whole.js'
import { amounts, blocks, joined, type Pricing, whyOf } from '../price.js'
import type { RunTables } from '../tables.js'

/** The table in which the periods of a cycle are gathered, until they are summed. */
export function createCompared(compared: string): Statement {
  return {
    sql: sql`CREATE TABLE ${id(compared)}
      (
        meter_id String, external_site_id String, account_number String, client_id String, client_ids Array(String),
        rate_code String, own_rate_code String, first_day Int32, last_day Int32,
        status LowCardinality(String), reason String, expected UInt32, present UInt32,
        quantity Decimal(18, 6), unit LowCardinality(String), total Nullable(Decimal(18, 6))
      )
      ENGINE = MergeTree ORDER BY (meter_id, external_site_id, account_number, client_id, rate_code)`,
  }
}

/** Every member under each rate of its commodity, and under its own whatever that is. */
function tried({ members, variants }: RunTables): Sql {
  return sql`SELECT run, meter_id, external_site_id, account_number, client_id, client_ids, unit AS meter_unit,
          first_day, last_day, begins_at, ends_at, rates[-1].1 AS own_rate_code, rate_code, c.plan AS plan
        FROM ${id(members)} AS m
        INNER JOIN (
          SELECT plan, rate_codes[1] AS rate_code, commodity, toInt32(start_date) AS from_day, toInt32(last_date) AS to_day
          FROM ${id(variants)}
        ) AS c ON c.from_day = m.first_day AND c.to_day = m.last_day
        WHERE commodity = if(meter_unit LIKE '%Wh', 'Electric', 'Gas') OR rate_code = own_rate_code`
}

/** Prices one period of all members under every rate, from the vectors of one scan. */
export function priceRates(pricing: Pricing, compared: string): Statement {
  const { tables, rules } = pricing
  return {
    sql: sql`INSERT INTO ${id(compared)} (meter_id, external_site_id, account_number, client_id, client_ids, rate_code,
        own_rate_code, first_day, last_day, status, reason, expected, present, quantity, unit, total)
      SELECT meter_id, external_site_id, account_number, client_id, client_ids, rate_code,
        own_rate_code, first_day, last_day, outcome, ${whyOf(rules)}, expected, present,
        used / if(meter_unit = 'Wh' AND NOT is_wh, 1000, 1), if(meter_unit = 'Wh', 'kWh', meter_unit), dollars
      FROM (${amounts(pricing, joined(pricing, { members: tried(tables), plans: id(tables.variants) }))})`,
    settings: blocks,
  }
}

export interface Sum {
  readonly run: string
  readonly compared: string
  readonly cycleId: string
  /** The last day of the latest period, since 1970. */
  readonly last: number
}

/**
 * Adds up the periods of a cycle. Only the tenant on the last day is compared. A period without a
 * price leaves the year without a total; one without reads is missing under every rate.
 */
export function sumPeriods({ run, compared, cycleId, last }: Sum): Statement {
  const unpriced = sql`status NOT IN ('computed', 'incomplete', 'noUsage')`
  // In a quarter of the time of groupArrayIntersect, of which each of millions of rates would have one.
  const inAll = sql`arrayFilter(client -> arrayAll(list -> has(list, client), lists), lists[1])`
  return {
    sql: sql`INSERT INTO rate_comparison_row (run, account_number, external_site_id, meter_id, client_ids, billing_cycle_id,
        rate_code, is_own, start_date, last_date, periods, periods_priced, status, reason,
        intervals_expected, intervals_present, quantity, unit, total)
      WITH groupUniqArray(client_ids) AS lists
      SELECT ${run}, account_number, external_site_id, meter_id, arraySort(${inAll}), ${cycleId},
        rate_code, rate_code = argMax(own_rate_code, first_day), toDate(min(first_day)), toDate(max(last_day)),
        count() AS periods, countIf(total IS NOT NULL) AS priced,
        multiIf(
          countIf(${unpriced}) > 0, argMinIf(status, first_day, ${unpriced}),
          priced = 0, 'noUsage',
          countIf(status != 'computed') > 0, 'incomplete',
          'compared') AS outcome,
        multiIf(
          outcome = 'compared', '',
          outcome = 'noUsage', 'no interval of these days has arrived',
          outcome != 'incomplete', argMinIf(reason, first_day, ${unpriced}),
          priced < periods, concat(toString(periods - priced), ' of ', toString(periods), ' periods have no intervals'),
          concat(toString(sum(present)), ' of ', toString(sum(expected)), ' intervals have arrived')),
        sum(expected), sum(present), sum(quantity), argMax(unit, first_day),
        if(outcome IN ('compared', 'incomplete'), sum(total), NULL)
      FROM ${id(compared)}
      GROUP BY meter_id, external_site_id, account_number, client_id, rate_code
      HAVING max(last_day) = ${literal(last)}
      ORDER BY meter_id, account_number, rate_code`,
    settings: { optimize_aggregation_in_order: 1 },
  }
}

export interface ComparisonCount {
  readonly status: string
  readonly reason: string
  readonly comparisons: number
}

/** Asked of the server of a table. */
export function countComparisons(run: string, table: string): Statement {
  return {
    sql: sql`SELECT toString(status) AS status, if(status = 'incomplete', '', reason) AS reason, toUInt32(count()) AS comparisons
      FROM rate_comparison_row WHERE run = ${run} AND ${onServerOf(table)}
      GROUP BY status, reason ORDER BY comparisons DESC, status, reason`,
  }
}
