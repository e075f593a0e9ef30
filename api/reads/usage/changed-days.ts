import { ownAccounts } from '../../../pipeline/store/own/bills.js'
import { literal, type Sql, sql, typed } from '../../../pipeline/store/sql.js'
import { daysBehind } from '../../../schemas/rating/slots.js'
import { intersect, localDaysOf, merge, type Span, spanOf } from '../range.js'
import type { ReadSource } from '../source.js'
import type { BillingClock } from './periods.js'

export interface ChangesOfMeter {
  readonly clientId: string
  readonly meterId: string
  /** A number of publication. */
  readonly since: string
  readonly span: Span
  /** When reads of the meter may have been the client's. */
  readonly shown: readonly Span[]
}

/**
 * The local days of a meter on which something has become visible, or has gone, after a number: in
 * order, days that follow each other as one span. A read without a number has just become visible.
 * Changes count only if they are the client's. An erasure names no clients: its days are listed where they
 * are his completely, since he must not learn of another tenant's. All days of a bill change
 * when it is computed again, and when a change of owners takes it away until then.
 */
export async function readChangedDays(
  source: ReadSource,
  { zone, periodClock }: BillingClock,
  { clientId, meterId, since, span, shown }: ChangesOfMeter,
): Promise<readonly Span[]> {
  const days = localDaysOf(zone, span)
  const [from, to] = [typed('Date', days.from), typed('Date', days.to)]
  const after = typed('UInt64', since)
  const lastDay = sql`last_date + ${literal(daysBehind(periodClock))}`
  const daysOf = (first: Sql, last: Sql) =>
    sql`toDate(arrayJoin(range(toUInt32(greatest(${first}, ${from})), toUInt32(least(${last}, ${to})) + 1)))`
  const changes = sql`SELECT local_day, last_local_day, cause = 'erasure' AS is_erased FROM usage_change
    WHERE meter_id = ${meterId} AND published_seq > ${after} AND local_day <= ${to} AND last_local_day >= ${from}
      AND (has(client_ids_before, ${clientId}) OR has(client_ids_after, ${clientId}) OR cause = 'erasure')`
  const rows = await source.rows<{ readonly day: string; readonly isErased: boolean }>({
    sql: sql`SELECT toString(day) AS day, min(is_erased) = 1 AS isErased FROM
      (
        SELECT DISTINCT local_day AS day, false AS is_erased FROM registered_usage
        WHERE meter_id = ${meterId} AND local_day BETWEEN ${from} AND ${to} AND has(client_ids, ${clientId})
          AND (published_seq IS NULL OR published_seq > ${after})
        UNION ALL
        SELECT ${daysOf(sql`local_day`, sql`last_local_day`)} AS day, is_erased FROM (${changes})
        UNION ALL
        SELECT ${daysOf(sql`start_date`, lastDay)} AS day, false AS is_erased FROM projected_bill
        WHERE meter_id = ${meterId} AND has(client_ids, ${clientId}) AND account_number IN ${ownAccounts({ clientId, meterId })}
          AND start_date <= ${to} AND ${lastDay} >= ${from}
          AND (published_seq > ${after} OR arrayExists(c -> c.1 <= ${lastDay} AND c.2 >= start_date,
            (SELECT groupArray((local_day, last_local_day)) FROM (${changes}) WHERE NOT is_erased)))
      )
      GROUP BY day ORDER BY day`,
  })
  const isHis = ([start, end]: Span) => shown.some(([a, b]) => a <= start && end <= b)
  const spans = rows
    .map(({ day, isErased }) => ({ isErased, span: spanOf(zone, { from: day, to: day }) }))
    .filter(({ isErased, span }) => !isErased || isHis(span))
  return intersect(merge(spans.map(({ span }) => span)), [span])
}
