import type { Store } from '../../store/clickhouse.js'
import { type Sql, sql, typed } from '../../store/sql.js'

/** Some local days, with all of their reads. */
export interface DayStep {
  /** A condition on `local_day`. */
  readonly within: Sql
  /** Stored reads, repeated ones included, and how many of them are those that were asked for. */
  readonly rows: number
  readonly own: number
}

/** Reads of one statement: 100,000 meters have 9.6 million of 15 minutes on a day. */
const stepRowsMax = 20_000_000

/** Cuts the stored days into steps of about as many reads; no day is in two. Of all days by default. */
export async function daySteps(
  store: Store,
  { days = sql`1`, isOwn = sql`0` }: { readonly days?: Sql; readonly isOwn?: Sql } = {},
): Promise<readonly DayStep[]> {
  const found = await store.rows<{ day: string; rows: string; own: string }>({
    sql: sql`SELECT toString(local_day) AS day, toString(count()) AS rows,
        toString(countIf(${isOwn})) AS own
      FROM usage_read WHERE ${days} GROUP BY local_day ORDER BY local_day`,
  })
  const steps: { first: string; last: string; rows: number; own: number }[] = []
  for (const { day, rows, own } of found) {
    const step = steps.at(-1)
    if (step === undefined || step.rows + Number(rows) > stepRowsMax) {
      steps.push({ first: day, last: day, rows: Number(rows), own: Number(own) })
    } else {
      step.last = day
      step.rows += Number(rows)
      step.own += Number(own)
    }
  }
  return steps.map(({ first, last, rows, own }) => {
    const within = sql`local_day BETWEEN ${typed('Date', first)} AND ${typed('Date', last)}`
    return { within, rows, own }
  })
}
