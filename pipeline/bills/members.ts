import { toDays } from '../../schemas/lint/finding.js'
import type { PlanDays } from '../../schemas/rating/plan.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Store } from '../store/clickhouse.js'
import { id, sql, typed } from '../store/sql.js'
import type { Period } from './period.js'

/** The tables that a run works in and drops when it has ended. */
export interface RunTables {
  /** The tenancies to be billed, a row each. */
  readonly members: string
  /** Their energy by class. */
  readonly vectors: string
  /** The same with the projected rest of an open period, and the sums of last year that it uses. */
  readonly projected: string
  readonly lastYear: string
  /** The classes of each line of a plan. */
  readonly masks: string
  /** What was billed. */
  readonly billed: string
  /** The plans by which bills may have been computed otherwise. */
  readonly variants: string
  /** What bills come to when one cause after the other is neutralised. */
  readonly steps: string
}

export function tablesOf(run: string): RunTables {
  return {
    members: `bill_member_${run}`,
    vectors: `bill_vector_${run}`,
    projected: `bill_projected_${run}`,
    lastYear: `bill_last_${run}`,
    masks: `bill_mask_${run}`,
    billed: `bill_billed_${run}`,
    variants: `bill_variant_${run}`,
    steps: `bill_step_${run}`,
  }
}

/**
 * Gathers the members: the tenancies of the cycle that overlap the period, each with its days and its
 * rate codes by day, as the customer's last record of that day has them. Members with the same days
 * and codes share the number of a plan. Members are irregular if several tenancies have held their
 * meter or their days are not those of the period: their reads are assigned one by one.
 */
export async function gatherMembers(
  store: Store,
  tables: RunTables,
  { period, profile }: { readonly period: Period; readonly profile: Profile },
): Promise<void> {
  const { first, last, cycleId } = period
  const { timeZone, usage } = profile
  const { Electric, Gas } = usage.unit
  await store.command({
    sql: sql`CREATE TABLE ${id(tables.members)} ENGINE = MergeTree ORDER BY meter_id AS
      WITH toInt32(${typed('Date', first)}) AS first, toInt32(${typed('Date', last)}) AS last,
        (at -> toInt32(toDate(at, ${timeZone}))) AS day_of,
        arrayFilter((c, i) -> i = length(known) OR c.1 != known[i + 1].1, known, arrayEnumerate(known)) AS days,
        arrayFilter((c, i) -> i = 1 OR c.2 != days[i - 1].2, days, arrayEnumerate(days)) AS changes,
        arrayMap((c, i) -> (c.2,
            toInt32(greatest(if(i = 1, first_day, c.1), first_day)),
            toInt32(least(if(i = length(changes), last_day, changes[i + 1].1 - 1), last_day))),
          changes, arrayEnumerate(changes)) AS cut,
        if(empty(known), [(toString(rate_code), first_day, last_day)], arrayFilter(r -> r.2 <= r.3, cut)) AS rates
      SELECT meter_id, external_site_id, account_number, client_id, client_ids, held_from, held_to,
        multiIf(unit_of_measure != '', toString(unit_of_measure), meter_type = 'Gas', ${Gas}, ${Electric}) AS unit,
        first_day, last_day, rates,
        tenancies > 1 OR first_day != first OR last_day != last AS is_odd,
        toUInt32(dense_rank() OVER (ORDER BY first_day, last_day, rates)) AS plan
      FROM (
        SELECT *,
          ifNull(valid_from, toDateTime(0, 'UTC')) AS held_from,
          ifNull(valid_to, toDateTime(4294967295, 'UTC')) AS held_to,
          if(valid_from IS NULL, first, greatest(first, day_of(held_from))) AS first_day,
          if(valid_to IS NULL, last, least(last, day_of(held_to - 1))) AS last_day,
          count() OVER (PARTITION BY meter_id) AS tenancies
        FROM tenancy FINAL
        WHERE meter_id IN (SELECT meter_id FROM tenancy FINAL WHERE billing_cycle_id = ${cycleId})
      ) AS t
      LEFT JOIN (
        SELECT meter_id AS m, external_site_id AS s, account_number AS a,
          arrayMap(c -> (day_of(c.1), c.2), arraySort(groupArray((at, toString(rate_code))))) AS known
        FROM registration_fact
        WHERE kind = 'seen'
        GROUP BY m, s, a
        HAVING uniqExact(rate_code) > 1
      ) AS f ON f.m = t.meter_id AND f.s = t.external_site_id AND f.a = t.account_number
      WHERE billing_cycle_id = ${cycleId} AND first_day <= last_day AND held_from < held_to`,
  })
}

/** The days of a plan, and whether they are those of the whole period. */
export interface NumberedPlan extends PlanDays {
  readonly plan: number
  readonly isWhole: boolean
}

export async function readPlans(
  store: Store,
  { members }: RunTables,
  period: Period,
): Promise<readonly NumberedPlan[]> {
  const rows = await store.rows<{
    plan: number
    rates: readonly (readonly [string, number, number])[]
    from: number
    to: number
  }>({
    sql: sql`SELECT plan, any(rates) AS rates, any(first_day) AS from, any(last_day) AS to
      FROM ${id(members)} GROUP BY plan ORDER BY plan`,
  })
  const [first, last] = [toDays(period.first), toDays(period.last)]
  return rows.map(({ rates, ...days }) => ({
    ...days,
    rates: rates.map(([rateCode, from, to]) => ({ rateCode, from, to })),
    isWhole: days.from === first && days.to === last,
  }))
}
