import type { Test } from 'tap'
import type { Store } from '../../../pipeline/store/clickhouse.js'

const bill = 'meter_id, account_number, start_date, run'

/**
 * Fails where the costs of the current bills do not add up to their lines and totals. Reads that have
 * changed since have another sum than the days of their bills.
 */
export async function costsAddUp(
  t: Test,
  store: Pick<Store, 'rows'>,
  { areReadsBilled = true } = {},
): Promise<void> {
  const off = await store.rows({
    sql: `SELECT b.meter_id, b.start_date, b.status, b.total, d.rows, d.cost
      FROM projected_bill AS b
      LEFT JOIN (SELECT ${bill}, count() AS rows, sum(c.cost) AS cost, sum(c.quantity) AS quantity, countIf(c.cost IS NULL) AS unknown, sum(c.days) AS days FROM day_cost AS c GROUP BY ${bill}) AS d
        USING (${bill})
      WHERE d.rows = 0 OR d.days < b.days OR d.days > b.days + 1 OR (b.total IS NULL) != (d.unknown = d.rows) OR ifNull(b.total != d.cost, false)
        OR (b.total IS NOT NULL AND b.quantity != d.quantity)`,
  })
  t.same(off.slice(0, 3), [], 'days add up to bills')
  const offLines = await store.rows({
    sql: `SELECT * FROM (
        SELECT ${bill}, line_number, name, amount, ifNull(quantity, 0) AS wanted FROM projected_bill_line
      ) AS b
      LEFT JOIN (SELECT ${bill}, line_number, sum(c.cost) AS cost, sum(c.quantity) AS found FROM day_cost_line AS c GROUP BY ${bill}, line_number) AS d
        USING (${bill}, line_number)
      WHERE b.amount != d.cost OR b.wanted != ifNull(d.found, 0)`,
  })
  t.same(offLines.slice(0, 3), [], 'lines of days add up to lines of bills')
  const offIntervals = await store.rows({
    sql: `SELECT d.*, i.* FROM (SELECT ${bill}, local_day, any(is_projected) AS is_ahead, sum(cost) AS wanted, any(quantity) AS used FROM day_cost GROUP BY ${bill}, local_day, is_projected) AS d
      LEFT JOIN (
        SELECT ${bill}, local_day, is_projected AS is_ahead, count() AS rows, sum(c.cost) AS found, sum(arraySum(line_costs)) AS lines, sum(c.quantity) AS quantity, countIf(c.quantity IS NOT NULL) AS reads
        FROM interval_cost AS c GROUP BY ${bill}, local_day, is_ahead
      ) AS i USING (${bill}, local_day, is_ahead)
      WHERE i.rows = 0 OR ifNull(d.wanted != i.found OR i.lines != i.found, false) OR (${areReadsBilled} AND NOT is_ahead AND abs(d.used - ifNull(i.quantity, 0)) >= 0.000001)`,
  })
  t.same(offIntervals.slice(0, 3), [], 'intervals add up to days')
}
