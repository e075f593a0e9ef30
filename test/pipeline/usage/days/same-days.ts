import type { Test } from 'tap'
import type { Store } from '../../../../pipeline/store/clickhouse.js'
import { buildDays } from '../../../../pipeline/usage/days/build.js'
import { compareDays } from '../../../../pipeline/usage/days/compare.js'

const columns = `meter_id, commodity, local_day, seconds, unit, quantity, intervals_present,
  exported, peak_quantity, published_at, published_seq`

/** What `usage_day` must say of days with reads: the finest series of each meter and day. */
const fromReads = `SELECT meter_id, commodity, local_day, argMin((length, u, q, n, e, p, at, seq), length) AS d,
    d.1 AS seconds, d.2 AS unit, d.3 AS quantity, d.4 AS intervals_present, d.5 AS exported,
    d.6 AS peak_quantity, d.7 AS published_at, d.8 AS published_seq
  FROM (
    SELECT meter_id, commodity, local_day, seconds AS length, any(unit) AS u, sum(quantity) AS q, count() AS n,
      -sumIf(quantity, quantity < 0) AS e, max(quantity) AS p,
      max(published_at) AS at, max(published_seq) AS seq
    FROM usage GROUP BY meter_id, commodity, local_day, length
  )
  GROUP BY meter_id, commodity, local_day`

/** Every day is what its reads add up to, whatever is stored and whatever is stale. */
export async function sameAsReads(t: Test, store: Store, what: string): Promise<void> {
  t.same(...(await bothOf(store)), what)
}

/** The same of the days of one meter. */
export async function sameOfMeter(t: Test, store: Store, meter: string): Promise<void> {
  t.same(...(await bothOf(store, `meter_id = '${meter}'`)), meter)
}

async function bothOf(
  store: Store,
  where = '1',
): Promise<[readonly unknown[], readonly unknown[]]> {
  const read = (from: string) =>
    store.rows({
      sql: `SELECT ${columns} FROM ${from} WHERE intervals_present > 0 AND ${where}
        ORDER BY meter_id, local_day, commodity`,
    })
  return [await read('usage_day'), await read(`(${fromReads})`)]
}

/** The same before the stale days are stored and after it, when nothing is stale any more. */
export async function sameDays(t: Test, store: Store, what: string): Promise<void> {
  await sameAsReads(t, store, `${what}, stale`)
  while (await buildDays(store));
  await sameAsReads(t, store, `${what}, stored`)
  t.same(await compareDays(store), [], `${what}, compared`)
  const stale = await store.rows({ sql: 'SELECT * FROM stale_day FINAL WHERE NOT is_built' })
  t.same(stale, [], `${what}, nothing is stale`)
}
