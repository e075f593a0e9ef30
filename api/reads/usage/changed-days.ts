import { ownAccounts } from '../../../pipeline/store/own-bills.js'
import { type Sql, sql, typed } from '../../../pipeline/store/sql.js'
import { nextDay, type Zone } from '../../../schemas/time/zone.js'
import { intersect, localDaysOf, merge, type Span } from '../range.js'
import type { ReadSource } from '../source.js'

export interface ChangesOfMeter {
  readonly clientId: string
  readonly meterId: string
  /** A number of publication. */
  readonly since: string
  readonly span: Span
}

/**
 * The local days of a meter on which something has become visible, or has gone, after a number: in
 * order, days that follow each other as one span. A read without a number has just become visible. An
 * erasure names no clients; other changes count only if they are the client's. All days of a bill change
 * when it is computed again, and when a change of owners takes it away until then.
 */
export async function readChangedDays(
  source: ReadSource,
  zone: Zone,
  { clientId, meterId, since, span }: ChangesOfMeter,
): Promise<readonly Span[]> {
  const days = localDaysOf(zone, span)
  const [from, to] = [typed('Date', days.from), typed('Date', days.to)]
  const after = typed('UInt64', since)
  const daysOf = (first: Sql, last: Sql) =>
    sql`toDate(arrayJoin(range(toUInt32(greatest(${first}, ${from})), toUInt32(least(${last}, ${to})) + 1)))`
  const changes = sql`SELECT local_day, last_local_day FROM usage_change
    WHERE meter_id = ${meterId} AND published_seq > ${after} AND local_day <= ${to} AND last_local_day >= ${from}
      AND (has(client_ids_before, ${clientId}) OR has(client_ids_after, ${clientId}) OR cause = 'erasure')`
  const rows = await source.rows<{ readonly day: string }>({
    sql: sql`SELECT toString(day) AS day FROM
      (
        SELECT DISTINCT local_day AS day FROM registered_usage
        WHERE meter_id = ${meterId} AND local_day BETWEEN ${from} AND ${to} AND has(client_ids, ${clientId})
          AND (published_seq IS NULL OR published_seq > ${after})
        UNION DISTINCT
        SELECT ${daysOf(sql`local_day`, sql`last_local_day`)} AS day FROM (${changes})
        UNION DISTINCT
        SELECT ${daysOf(sql`start_date`, sql`last_date`)} AS day FROM projected_bill
        WHERE meter_id = ${meterId} AND has(client_ids, ${clientId}) AND account_number IN ${ownAccounts({ clientId })}
          AND start_date <= ${to} AND last_date >= ${from}
          AND (published_seq > ${after} OR arrayExists(c -> c.1 <= last_date AND c.2 >= start_date,
            (SELECT groupArray((local_day, last_local_day)) FROM (${changes}))))
      )
      ORDER BY day`,
  })
  const spans = rows.map(({ day }): Span => [zone.dayStart(day), zone.dayStart(nextDay(day))])
  return intersect(merge(spans), [span])
}
