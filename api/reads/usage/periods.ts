import { sql, typed } from '../../../pipeline/store/sql.js'
import { nextDay, type Zone } from '../../../schemas/time/zone.js'
import { localDaysOf, type Span } from '../range.js'
import type { ReadSource } from '../source.js'

/**
 * The billing periods of a meter that touch a span, in order: those of its cycles as the schedule in
 * force has them. Where two overlap, as after a change of cycle, the first ends where the second starts.
 */
export async function readOwnPeriods(
  source: ReadSource,
  zone: Zone,
  { cycles, span }: { readonly cycles: readonly string[]; readonly span: Span },
): Promise<readonly Span[]> {
  const { from, to } = localDaysOf(zone, span)
  const rows = await source.rows<{ readonly first: string; readonly last: string }>({
    sql: sql`SELECT DISTINCT toString(start_date) AS first, toString(last_date) AS last FROM billing_cycle
      WHERE billing_cycle_id IN ${cycles} AND start_date <= ${typed('Date', to)} AND last_date >= ${typed('Date', from)}
      ORDER BY first, last LIMIT 1 BY first`,
  })
  const starts = rows.map(({ first }) => zone.dayStart(first))
  return rows.map(({ last }, at): Span => {
    const end = zone.dayStart(nextDay(last))
    return [starts[at] as number, Math.min(end, starts[at + 1] ?? end)]
  })
}
