import { Fault } from '../../schemas/fault.js'
import { fromDays, toDays } from '../../schemas/lint/finding.js'
import type { Store } from '../store/clickhouse.js'
import type { RowReader } from '../store/replicas.js'
import { sql, typed } from '../store/sql.js'

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

/** Finds a period in the schedule in force. Throws `CONFIG` with the periods that it has. */
export async function findPeriod(
  store: Store,
  companyCodes: readonly string[],
  { cycleId, start, today }: PeriodWanted,
): Promise<Period> {
  const periods = await store.rows<{ first: string; last: string; fileId: string }>({
    sql: sql`SELECT toString(start_date) AS first, toString(last_date) AS last, file_id AS fileId
      FROM billing_cycle
      WHERE billing_cycle_id = ${cycleId} AND company_code IN ${companyCodes}
      ORDER BY start_date`,
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
      ? 'the schedule does not have the cycle: load its BillingCycles file'
      : `the schedule covers ${earliest.first} to ${latest.last}: set --period to the first day of a period, or load a newer BillingCycles file`
  throw new Fault('CONFIG', `billing cycle ${cycleId} has no period ${which}; ${known}`)
}

/** A cycle that registered meters have, with its periods of the last 12 months, the latest last. */
export interface CycleYear {
  readonly cycleId: string
  readonly meters: number
  /** None where the schedule in force has none that has ended. */
  readonly periods: readonly Period[]
}

/** Finds the last 12 months of every cycle: the periods whose middle lies in the year that ends with the latest ended one. */
export async function findYears(
  store: RowReader,
  companyCodes: readonly string[],
  today: string,
): Promise<readonly CycleYear[]> {
  const cycles = await store.rows<{ cycleId: string; meters: string }>({
    sql: sql`SELECT toString(billing_cycle_id) AS cycleId, toString(uniqExact(meter_id)) AS meters
      FROM tenancy FINAL WHERE notEmpty(holds) GROUP BY cycleId ORDER BY cycleId`,
  })
  const periods = await store.rows<Period>({
    sql: sql`SELECT billing_cycle_id AS cycleId, toString(start_date) AS first, toString(last_date) AS last, file_id AS fileId
      FROM billing_cycle
      WHERE company_code IN ${companyCodes} AND last_date < ${typed('Date', today)}
      ORDER BY start_date`,
  })
  return cycles.map(({ cycleId, meters }) => {
    const ended = periods.filter((one) => one.cycleId === cycleId)
    const before = yearBefore(ended.at(-1)?.last ?? '')
    const year = ended.filter((one) => middleOf(one) > before)
    return { cycleId, meters: Number(meters), periods: year }
  })
}

const middleOf = ({ first, last }: Period) =>
  fromDays(Math.floor((toDays(first) + toDays(last)) / 2))

/** The same day a year earlier, to be compared as text. */
const yearBefore = (day: string) => `${Number(day.slice(0, 4)) - 1}${day.slice(4)}`
