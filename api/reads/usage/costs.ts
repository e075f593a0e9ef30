import { type BillsOf, ownBills } from '../../../pipeline/store/own-bills.js'
import { literal, type Sql, sql, typed } from '../../../pipeline/store/sql.js'
import type { Granularity } from '../../../schemas/gateway/reads.js'
import type { DayRange } from '../range.js'
import type { ReadSource } from '../source.js'

export interface CostsWanted extends BillsOf {
  readonly meterId: string
  readonly granularity: Granularity
  readonly days: DayRange
}

/** A bill of a meter, as its run has it. */
export interface OwnBill {
  readonly run: string
  readonly account: string
  readonly start: string
}

/** The customer's own bills of a meter that touch the days. */
export function readMeterBills(
  source: ReadSource,
  { meterId, days, ...of }: Omit<CostsWanted, 'granularity'>,
): Promise<readonly OwnBill[]> {
  return source.rows<OwnBill>({
    sql: sql`SELECT run, account_number AS account, toString(start_date) AS start FROM (${ownBills(of)})
      WHERE meter_id = ${meterId} AND start_date <= ${typed('Date', days.to)} AND last_date >= ${typed('Date', days.from)}`,
  })
}

/**
 * What the bills cost, cut as points are: with `granularity` `interval` and `hour` a row of each interval,
 * else of each local day. No bucket may divide a row that `is_whole`: it is longer.
 */
export function costRows(
  { meterId, granularity, days, clientId }: Omit<CostsWanted, 'timeZone'>,
  bills: readonly OwnBill[],
): Sql {
  const listOf = (nameOf: (bill: OwnBill) => string) => literal([...new Set(bills.map(nameOf))])
  const own = sql`meter_id = ${meterId} AND local_day BETWEEN ${typed('Date', days.from)} AND ${typed('Date', days.to)}
    AND has(client_ids, ${clientId}) AND run IN ${listOf(({ run }) => run)} AND account_number IN ${listOf(({ account }) => account)}
    AND concat(run, account_number, toString(start_date)) IN ${listOf(({ run, account, start }) => `${run}${account}${start}`)}`
  const lines = sql`arrayMap((kind, component, name, tier) -> concat(kind, '\n', component, '\n', name, '\n', toString(tier)),
    line_kinds, line_components, line_names, line_tiers) AS line_keys`
  if (granularity === 'interval' || granularity === 'hour') {
    return sql`SELECT toUnixTimestamp(starts_at) AS cost_at, if(is_projected OR quantity IS NULL, cost_at + seconds, cost_at) AS cost_upto,
        local_day, is_projected, ${granularity === 'interval' ? sql`1` : sql`is_projected OR seconds > 3600`} AS is_whole,
        quantity, toNullable(unit) AS cost_unit, cost, ${lines}, line_costs, status
      FROM interval_cost WHERE ${own}`
  }
  return sql`SELECT toUnixTimestamp(starts_at) AS cost_at, toUnixTimestamp(ends_at) AS cost_upto,
      local_day, is_projected, ${granularity === 'day' ? sql`is_projected OR days > 1` : sql`is_projected`} AS is_whole,
      toDecimal128(reinterpret(micros, 'Decimal(18, 6)'), 9) AS quantity, toNullable(unit) AS cost_unit,
      if(empty(costs), NULL, reinterpret(arraySum(costs), 'Decimal(18, 6)')) AS cost,
      ${lines}, arrayMap(line -> reinterpret(line, 'Decimal(18, 6)'), costs) AS line_costs, status
    FROM (SELECT *, line_costs AS costs FROM bill_day) WHERE ${own}`
}
