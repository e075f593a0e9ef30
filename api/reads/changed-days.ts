import { sql, typed } from '../../pipeline/store/sql.js'
import { nextDay, type Zone } from '../../schemas/time/zone.js'
import { intersect, localDaysOf, merge, type Span } from './range.js'
import type { ReadSource } from './source.js'

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
 * erasure names no clients; other changes count only if they are the client's.
 */
export async function readChangedDays(
  source: ReadSource,
  zone: Zone,
  { clientId, meterId, since, span }: ChangesOfMeter,
): Promise<readonly Span[]> {
  const days = localDaysOf(zone, span)
  const [from, to] = [typed('Date', days.from), typed('Date', days.to)]
  const after = typed('UInt64', since)
  const rows = await source.rows<{ readonly day: string }>({
    sql: sql`SELECT toString(day) AS day FROM
      (
        SELECT DISTINCT local_day AS day FROM registered_usage
        WHERE meter_id = ${meterId} AND local_day BETWEEN ${from} AND ${to} AND has(client_ids, ${clientId})
          AND (published_seq IS NULL OR published_seq > ${after})
        UNION DISTINCT
        SELECT toDate(arrayJoin(range(toUInt32(greatest(local_day, ${from})), toUInt32(least(last_local_day, ${to})) + 1))) AS day
        FROM usage_change
        WHERE meter_id = ${meterId} AND published_seq > ${after} AND local_day <= ${to} AND last_local_day >= ${from}
          AND (has(client_ids_before, ${clientId}) OR has(client_ids_after, ${clientId}) OR cause = 'erasure')
      )
      ORDER BY day`,
  })
  const spans = rows.map(({ day }): Span => [zone.dayStart(day), zone.dayStart(nextDay(day))])
  return intersect(merge(spans), [span])
}
