import type { Test } from 'tap'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { ownBills } from '../../../pipeline/store/own/bills.js'
import { readBillCosts } from '../../../pipeline/store/own/costs.js'
import { createReadsOf } from '../../../pipeline/store/own/reads.js'
import { sql } from '../../../pipeline/store/sql.js'
import { sample } from '../../rig/sample.js'

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
  await dividedAlike(t, store)
}

/** Fails where the gateway divides the bills of some meters otherwise than the views do. */
async function dividedAlike(t: Test, store: Pick<Store, 'rows'>): Promise<void> {
  const owners = await store.rows<{ clientId: string; meterId: string; timeZone: string }>({
    sql: `SELECT client_ids[1] AS clientId, meter_id AS meterId, (SELECT any(time_zone) FROM usage) AS timeZone
      FROM projected_bill WHERE notEmpty(client_ids) AND timeZone != '' AND quantity != 0
      GROUP BY ALL ORDER BY cityHash64(meterId) LIMIT ${sample({ short: 1, long: 2 })}`,
  })
  const days = { from: '1990-01-01', to: '2099-12-31' }
  for (const owner of owners) {
    const bills = sql`meter_id = ${owner.meterId} AND (run, account_number, start_date) IN
      (SELECT run, account_number, start_date FROM (${ownBills(owner)}) WHERE meter_id = ${owner.meterId})`
    const views = {
      day: sql`SELECT local_day, starts_at, line_costs FROM bill_day WHERE ${bills}`,
      interval: sql`SELECT local_day, starts_at, arrayMap(cost -> reinterpret(cost, 'Int64'), line_costs) AS line_costs
        FROM interval_cost WHERE ${bills}`,
    }
    for (const granularity of ['day', 'interval'] as const) {
      const readsOf = createReadsOf(store, { ...owner, days, registered: undefined })
      const own = await readBillCosts(store, { ...owner, days, granularity }, readsOf)
      const viewed = await store.rows<{ row: string }>({
        sql: sql`SELECT concat(toString(local_day), ' ', toString(toUnixTimestamp(starts_at)), ' ',
          arrayStringConcat(arrayMap(cost -> toString(cost), line_costs), ',')) AS row FROM (${views[granularity]})`,
      })
      t.same(
        own.map(({ day, from, costs }) => `${day} ${from} ${costs.join()}`).sort(),
        viewed.map(({ row }) => row).sort(),
        `${owner.meterId} by ${granularity}`,
      )
    }
  }
}
