import { literal, sql, typed } from '../store/sql.js'
import type { PeriodBill } from './bills.js'
import type { FeedStore, Series, UsageWanted } from './reads.js'
import { toAmount, toAmounts } from './units.js'

/** Hundred-thousandths of a dollar by the start of an interval. */
export type Costs = ReadonlyMap<number, bigint>

/**
 * What the intervals of a series cost, rounded so that they add up by day. Those of a bill that was billed
 * otherwise than computed are left out, for they would not add up to it.
 */
export async function readCosts(
  store: FeedStore,
  { clientId, from, to }: UsageWanted,
  {
    meter,
    seconds,
    bills,
  }: Pick<Series, 'meter' | 'seconds'> & { readonly bills: readonly PeriodBill[] },
): Promise<Costs> {
  const sums = bills.filter(
    ({ total, computed }) =>
      total !== null &&
      computed.total !== null &&
      toAmount(total) === toAmount(computed.total) &&
      computed.first <= to &&
      computed.last >= from,
  )
  if (sums.length === 0) return new Map()
  const listOf = (nameOf: (bill: PeriodBill) => string) => literal([...new Set(sums.map(nameOf))])
  const days = await store.rows<{ readonly costs: readonly (readonly [number, string])[] }>({
    sql: sql`SELECT arraySort(groupArray((toUnixTimestamp(starts_at), toString(assumeNotNull(cost))))) AS costs
      FROM interval_cost
      WHERE meter_id = ${meter} AND has(client_ids, ${clientId}) AND run IN ${listOf(({ computed }) => computed.run)}
        AND account_number IN ${listOf(({ account }) => account)} AND start_date IN ${listOf(({ computed }) => computed.first)}
        AND local_day BETWEEN ${typed('Date', from)} AND ${typed('Date', to)}
        AND seconds = ${typed('UInt32', seconds)} AND quantity IS NOT NULL AND cost IS NOT NULL
      GROUP BY local_day`,
  })
  return new Map(
    days.flatMap(({ costs }) => {
      const amounts = toAmounts(costs.map(([, dollars]) => dollars))
      return costs.map(([start], at) => [start, amounts[at] as bigint] as const)
    }),
  )
}
