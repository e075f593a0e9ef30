import { groupBy } from '../../schemas/lists/group-by.js'
import { formatQuantity } from '../../schemas/quantity.js'
import { addDays } from '../../schemas/time/zone.js'
import type { OwnBill } from '../store/own/bills.js'
import { readBillCosts } from '../store/own/costs.js'
import { createReadsOf } from '../store/own/reads.js'
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
  { clientId, from, to, timeZone }: UsageWanted & { readonly timeZone: string },
  {
    meter,
    seconds,
    bills,
  }: Pick<Series, 'meter' | 'seconds'> & { readonly bills: readonly PeriodBill[] },
): Promise<Costs> {
  const days = { from, to }
  const keys = new Set(
    bills
      .filter(
        ({ total, computed }) =>
          total !== null &&
          computed.total !== null &&
          toAmount(total) === toAmount(computed.total) &&
          computed.first <= to &&
          addDays(computed.last, 1) >= from,
      )
      .map(({ account, computed }) => keyOf({ account, start: computed.first, run: computed.run })),
  )
  if (keys.size === 0) return new Map()
  const of = { meterId: meter, days }
  const rows = await readBillCosts(
    store,
    {
      ...of,
      clientId,
      timeZone,
      granularity: 'interval',
      isWanted: (bill) => keys.has(keyOf(bill)),
    },
    createReadsOf(store, { ...of, registered: undefined }),
  )
  const known = rows.filter(({ costs, read }) => read === seconds && costs.length > 0)
  return new Map(
    groupBy(known, ({ day }) => day).flatMap((day) => {
      const own = [...day].sort((a, b) => a.from - b.from)
      const amounts = toAmounts(own.map(({ costs }) => formatQuantity(totalOf(costs))))
      return own.map(({ from: start }, at) => [start, amounts[at] as bigint] as const)
    }),
  )
}

const totalOf = (costs: readonly bigint[]) => costs.reduce((sum, cost) => sum + cost, 0n)

const keyOf = ({ account, start, run }: Pick<OwnBill, 'account' | 'start' | 'run'>) =>
  JSON.stringify([account, start, run])
