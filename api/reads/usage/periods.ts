import type { DayRange } from '../../../pipeline/store/own/holds.js'
import { sql, typed } from '../../../pipeline/store/sql.js'
import { type PeriodClock, periodStart } from '../../../schemas/rating/slots.js'
import { dayAt, nextDay, type Zone } from '../../../schemas/time/zone.js'
import { localDaysOf, type Span } from '../range.js'
import type { ReadSource } from '../source.js'
import type { HeldCycle } from './meter.js'

/** By which clock bills count their days. */
export interface BillingClock {
  readonly zone: Zone
  readonly periodClock: PeriodClock
}

interface PeriodsWanted {
  /** In order of time. */
  readonly cycles: readonly HeldCycle[]
  readonly span: Span
}

/**
 * The billing periods of a meter that touch a span, in order: of each cycle those of the schedule in force,
 * cut where the cycle began or ceased to hold, as bills are. Where two of a cycle overlap, the first ends
 * where the second starts.
 */
export async function readOwnPeriods(
  source: ReadSource,
  { zone, periodClock }: BillingClock,
  { cycles, span }: PeriodsWanted,
): Promise<readonly Span[]> {
  const { from, to } = localDaysOf(zone, span)
  const rows = await source.rows<{ cycle: string; first: string; last: string }>({
    sql: sql`SELECT billing_cycle_id AS cycle, toString(start_date) AS first, toString(last_date) AS last FROM billing_cycle
      WHERE billing_cycle_id IN ${cycles.map(({ cycle }) => cycle)} AND start_date <= ${typed('Date', to)} AND last_date >= ${typed('Date', from)}
      ORDER BY first, last LIMIT 1 BY cycle, first`,
  })
  const startOf = (day: string) => periodStart(zone, day, periodClock)
  const turns = turnsOf(zone, cycles)
  return turns.flatMap(({ cycle, day }, turn) => {
    const own = rows.filter((row) => row.cycle === cycle)
    return own.flatMap(({ first, last }, at): Span[] => {
      const ends = [nextDay(last), own[at + 1]?.first, turns[turn + 1]?.day].filter(isGiven).sort()
      const [start, end] = [turn > 0 && day > first ? day : first, ends[0] as string]
      return start < end ? [[startOf(start), startOf(end)]] : []
    })
  })
}

const isGiven = (day: string | undefined) => day !== undefined

/** The local day from which each cycle holds; of several that begin on a day, the last one. */
function turnsOf(zone: Zone, cycles: readonly HeldCycle[]) {
  return cycles
    .map(({ from, cycle }) => ({ cycle, day: dayAt(zone, new Date(from * 1_000)) }))
    .filter(({ day }, at, all) => day !== all[at + 1]?.day)
    .filter(({ cycle }, at, all) => cycle !== all[at - 1]?.cycle)
}

/** The time of days as bills count them. */
export function billedSpanOf({ zone, periodClock }: BillingClock, { from, to }: DayRange): Span {
  return [periodStart(zone, from, periodClock), periodStart(zone, nextDay(to), periodClock)]
}
