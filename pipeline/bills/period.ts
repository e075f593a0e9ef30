import { Fault } from '../../schemas/fault.js'
import type { Store } from '../stores/clickhouse.js'

/** A period of a billing cycle; local days, both inclusive. */
export interface Period {
  readonly cycleId: string
  readonly first: string
  readonly last: string
  readonly fileId: string
}

export interface PeriodWanted {
  readonly cycleId: string
  /** Its first day; without one the latest period that ended before today is meant. */
  readonly start?: string
  /** The local day. */
  readonly today: string
}

/** Finds a period in the schedule in force. Throws `CONFIG` with what there is where it has none. */
export async function findPeriod(
  store: Store,
  companyCodes: readonly string[],
  { cycleId, start, today }: PeriodWanted,
): Promise<Period> {
  const periods = await store.rows<{ first: string; last: string; fileId: string }>({
    sql: `SELECT toString(start_date) AS first, toString(last_date) AS last, file_id AS fileId
      FROM billing_cycle
      WHERE billing_cycle_id = {cycleId:String} AND company_code IN {companyCodes:Array(String)}
      ORDER BY start_date`,
    parameters: { cycleId, companyCodes },
  })
  const found =
    start === undefined
      ? periods.findLast(({ last }) => last < today)
      : periods.find(({ first }) => first === start)
  if (found !== undefined) return { cycleId, ...found }
  const [earliest, latest] = [periods[0], periods.at(-1)]
  const which = start === undefined ? `that ended before ${today}` : `that starts on ${start}`
  const known =
    earliest === undefined || latest === undefined
      ? 'the schedule does not know the cycle: load its BillingCycles file'
      : `the schedule has it from ${earliest.first} to ${latest.last}: name a period's first day with --period, or load a newer BillingCycles file`
  throw new Fault('CONFIG', `billing cycle ${cycleId} has no period ${which}; ${known}`)
}
