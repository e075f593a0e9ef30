import { documentMiddle } from '../bills/variance/billed.js'
import { type BillsOf, ownBills } from '../store/own/bills.js'
import { type Sql, sql, typed } from '../store/sql.js'
import type { FeedStore, UsageWanted } from './reads.js'

/** A bill of an ended period. Decimals are texts, days are local, `publishedAt` is epoch seconds. */
export interface PeriodBill {
  readonly account: string
  readonly meter: string
  readonly commodity: string
  readonly first: string
  readonly last: string
  readonly quantity: string
  readonly unit: string
  /** Dollars; null if the views have no total. */
  readonly total: string | null
  /** Dollars of its lines that are not for energy; null without lines. */
  readonly additional: string | null
  /** These lines: kind, text and dollars. */
  readonly details: readonly Detail[]
  readonly isBilled: boolean
  readonly publishedAt: number
  /** What was computed, to which the costs of intervals add up. */
  readonly computed: Pick<PeriodBill, 'first' | 'last' | 'total'> & { readonly run: string }
}

export type Detail = readonly [kind: string, text: string, dollars: string]

type ComputedBill = Omit<PeriodBill, 'isBilled' | 'computed'> & { readonly run: string }
type BilledPart = Pick<
  PeriodBill,
  'account' | 'meter' | 'quantity' | 'unit' | 'total' | 'details'
> & {
  readonly start: string
  readonly billedFirst: string
  readonly billedLast: string
  readonly lines: string | null
}

/** The lines of each bill that are not for energy, in their order. */
const detailsOf = (kind: Sql, text: Sql) =>
  sql`arrayMap(line -> (line.2, line.3, line.4), arraySort(groupArrayIf((line_number, toString(${kind}), if(${text} = '', toString(${kind}), ${text}), toString(amount)), ${kind} != 'Energy')))`

/**
 * The lines that the utility billed for each bill, of all documents in whose middle its days lie; unknown if
 * one of them has none.
 */
function linesOfDocuments(own: Sql): Sql {
  const isOwn = sql`(account_number, meter_id) IN (SELECT account_number, meter_id FROM ${own})`
  return sql`SELECT account_number, meter_id, start_date,
        if(countIf(isNull(additional)) > 0, NULL, toString(sum(additional))) AS lines,
        arrayFlatten(arrayMap(one -> one.2, arraySort(one -> one.1, groupArray((billing_start_date, own_details))))) AS details
      FROM (
        SELECT DISTINCT b.account_number AS account_number, b.meter_id AS meter_id, b.start_date AS start_date, h.billing_start_date AS billing_start_date
        FROM (SELECT * FROM bill_variance WHERE (account_number, meter_id, start_date) IN ${own}) AS b
        INNER JOIN (SELECT * FROM bill_history WHERE state = 'current' AND ${isOwn}) AS h ON h.account_number = b.account_number AND h.meter_id = b.meter_id
        WHERE ${documentMiddle(sql`h`)} BETWEEN b.start_date AND b.last_date
      ) AS d
      LEFT JOIN (
        SELECT account_number, meter_id, billing_start_date, toNullable(sumIf(amount, line_type != 'Energy')) AS additional,
          ${detailsOf(sql`line_type`, sql`description`)} AS own_details
        FROM bill_line WHERE ${isOwn}
        GROUP BY account_number, meter_id, billing_start_date
      ) AS l USING (account_number, meter_id, billing_start_date)
      GROUP BY account_number, meter_id, start_date`
}

/**
 * The client's bills of ended periods that have a day in the range, or end on the day before, of which an hour
 * may be in the range. What the utility billed is used where it is known, else what was computed.
 */
export async function readPeriodBills(
  store: FeedStore,
  { clientId, from, to, timeZone }: UsageWanted & BillsOf,
): Promise<readonly PeriodBill[]> {
  const bills = sql`(SELECT * FROM (${ownBills({ clientId, timeZone })})
    WHERE days_projected = 0 AND status IN ('computed', 'incomplete')
      AND start_date <= ${typed('Date', to)} AND last_date + 1 >= ${typed('Date', from)})`
  const own = sql`(SELECT account_number, meter_id, start_date FROM ${bills})`
  const computed = await store.rows<ComputedBill>({
    sql: sql`SELECT account_number AS account, meter_id AS meter, commodity, toString(start_date) AS first,
        toString(last_date) AS last, toString(b.quantity) AS quantity, unit, toString(b.total) AS total,
        if(isNull(b.total), NULL, toString(l.additional)) AS additional, if(isNull(b.total), [], l.details) AS details, run,
        toUnixTimestamp(toDateTime(published_at)) AS publishedAt
      FROM ${bills} AS b
      LEFT JOIN (SELECT account_number, meter_id, start_date, sumIf(amount, kind != 'Energy') AS additional,
          ${detailsOf(sql`kind`, sql`name`)} AS details
        FROM projected_bill_line WHERE (account_number, meter_id, start_date) IN ${own}
        GROUP BY account_number, meter_id, start_date) AS l USING (account_number, meter_id, start_date)
      ORDER BY meter, first, account`,
  })
  if (computed.length === 0) return []
  const billed = await store.rows<BilledPart>({
    sql: sql`SELECT account_number AS account, meter_id AS meter, toString(start_date) AS start,
        toString(billed_start_date) AS billedFirst, toString(billed_end_date) AS billedLast,
        toString(quantity_billed) AS quantity, unit, toString(cost_billed) AS total, lines, details
      FROM bill_variance AS v
      LEFT JOIN (${linesOfDocuments(own)}) AS l USING (account_number, meter_id, start_date)
      WHERE (account_number, meter_id, start_date) IN ${own}`,
  })
  return computed.map(({ run, ...bill }) => {
    const { first, last, total: computed } = bill
    const own = { ...bill, computed: { run, first, last, total: computed } }
    const found = billed.find(
      ({ account, meter, start }) =>
        account === bill.account && meter === bill.meter && start === bill.first,
    )
    if (found === undefined) return { ...own, isBilled: false }
    const { quantity, unit, total, lines, details, billedFirst, billedLast } = found
    const days = { first: billedFirst, last: billedLast }
    return { ...own, ...days, quantity, unit, total, additional: lines, details, isBilled: true }
  })
}
