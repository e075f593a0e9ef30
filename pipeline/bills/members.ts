import { toDays } from '../../schemas/lint/finding.js'
import type { PlanDays } from '../../schemas/rating/plan.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Store } from '../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../store/sql.js'
import { onServerOf } from '../whole.js'
import type { BillRuns } from './context.js'
import type { RunTables } from './tables.js'

interface Gathering extends Pick<BillRuns, 'period' | 'runs'> {
  /** The first day whose reads may count, `YYYY-MM-DD`, where that is ahead of the period. */
  readonly scanned?: string
  readonly profile: Profile
}

/**
 * Gathers the members of all runs: the days of the period on which a tenancy had a run's cycle, in one piece,
 * with their rate codes. A day belongs to the cycle that held on it, so that none is billed twice. Members with the same days and codes share the number of a plan.
 * Members are irregular if several tenancies have held their meter, if their days are not those of the
 * period, or if some account's reads are theirs for a part of what is scanned, from `scanned` on: their
 * reads are assigned one by one.
 * A bill is of the clients to whom all of its reads belong. The unit of a meter that changes inside the
 * days names both: no rate is priced so, and the reads do not add up.
 * `holds_none` says whether reads without an account are the member's for all that is scanned. `begins_at` and `ends_at`
 * are those of the tenancy, which may lie inside a day.
 */
export async function gatherMembers(
  store: Store,
  tables: RunTables,
  { period, runs, scanned = period.first, profile }: Gathering,
): Promise<void> {
  const { first, last } = period
  const ours = sql`(SELECT cycle_id FROM ${id(tables.cycles)})`
  const { timeZone, usage } = profile
  const { Electric, Gas } = usage.unit
  const midnight = (day: Sql) => sql`toDateTime(${day}, ${timeZone})`
  await store.insert(
    tables.cycles,
    runs.map(({ run, cycleId }) => ({ run, cycle_id: cycleId })),
  )
  await store.command({
    sql: sql`CREATE TABLE ${id(tables.members)} ENGINE = MergeTree ORDER BY meter_id AS
      WITH toInt32(${typed('Date', first)}) AS first, toInt32(${typed('Date', last)}) AS last,
        ${midnight(sql`${typed('Date', scanned)}`)} AS starts, ${midnight(sql`${typed('Date', last)} + 1`)} AS ends,
        (at -> toInt32(toDate(at, ${timeZone}))) AS day_of,
        arrayFilter((c, i) -> i = 1 OR c.2 != codes[i - 1].2, codes, arrayEnumerate(codes)) AS changes,
        arrayFilter(r -> r.2 <= r.3, arrayMap((c, i) -> (c.2,
            toInt32(greatest(if(i = 1, first_day, day_of(c.1)), first_day)),
            toInt32(least(if(i = length(changes), last_day, day_of(changes[i + 1].1) - 1), last_day))),
          changes, arrayEnumerate(changes))) AS rates
      SELECT r.run AS run, meter_id, external_site_id, account_number, client_id, holds,
        arrayFilter(h -> h.2 < ${midnight(sql`toDate(t.last_day) + 1`)} AND h.3 > ${midnight(sql`toDate(t.first_day)`)}, holds) AS counted,
        if(empty(counted), t.client_ids, arrayFilter(c -> arrayAll(h -> has(h.5, c), counted), counted[1].5)) AS client_ids,
        arrayExists(h -> h.1 = '' AND h.2 <= starts AND h.3 >= ends, holds) AS holds_none,
        arrayStringConcat(arrayDistinct(arrayMap(c -> multiIf(c.4 != '', c.4, meter_type = 'Gas', ${Gas}, ${Electric}), held)), ' and ') AS unit,
        first_day, last_day, rates,
        toInt64(ifNull(toUnixTimestamp(valid_from), 0)) AS begins_at, toInt64(ifNull(toUnixTimestamp(valid_to), 4294967295)) AS ends_at,
        tenancies > 1 OR first_day != first OR last_day != last
          OR arrayExists(h -> (h.2 > starts AND h.2 < ends) OR (h.3 > starts AND h.3 < ends), holds) AS is_odd,
        toUInt32(dense_rank() OVER (ORDER BY first_day, last_day, rates)) AS plan
      FROM (
        SELECT * REPLACE (arrayFilter(h -> notEmpty(h.5), holds) AS holds, toInt32(own.2) AS first_day, toInt32(own.3) AS last_day), own.1 AS cycle_id,
          arrayFilter((c, i) -> (i = 1 OR day_of(c.1) <= last_day) AND (i = length(codes) OR day_of(codes[i + 1].1) > first_day),
            codes, arrayEnumerate(codes)) AS held
        FROM (
          SELECT *,
            if(valid_from IS NULL, first, greatest(first, day_of(assumeNotNull(valid_from)))) AS first_day,
            if(valid_to IS NULL, last, least(last, day_of(assumeNotNull(valid_to) - 1))) AS last_day,
            arrayFilter((c, i) -> i = 1 OR c.3 != codes[i - 1].3, codes, arrayEnumerate(codes)) AS turns,
            arrayMap((c, i) -> (c.3,
                if(i = 1, first_day, greatest(first_day, day_of(c.1))),
                if(i = length(turns), last_day, least(last_day, day_of(turns[i + 1].1) - 1))),
              turns, arrayEnumerate(turns)) AS cycles,
            count() OVER (PARTITION BY meter_id) AS tenancies
          FROM tenancy FINAL
          WHERE meter_id IN (SELECT meter_id FROM (SELECT meter_id, arrayJoin(codes.3) AS cycle FROM tenancy FINAL) WHERE cycle IN ${ours})
        )
        ARRAY JOIN arrayFilter(c -> c.2 <= c.3, cycles) AS own
      ) AS t
      INNER JOIN ${id(tables.cycles)} AS r ON r.cycle_id = t.cycle_id
      WHERE notEmpty(holds) AND ${onServerOf(tables.masks)}`,
  })
}

/** The days of a plan, and whether they are those of the whole period. */
export interface NumberedPlan extends PlanDays {
  readonly plan: number
  readonly isWhole: boolean
}

/** A plan of members, and the runs that they belong to. */
export interface MemberPlan extends NumberedPlan {
  readonly runs: readonly string[]
}

export async function readPlans(
  store: Store,
  { members }: RunTables,
  period: BillRuns['period'],
): Promise<readonly MemberPlan[]> {
  const rows = await store.rows<{
    plan: number
    rates: readonly (readonly [string, number, number])[]
    from: number
    to: number
    runs: readonly string[]
  }>({
    sql: sql`SELECT plan, any(rates) AS rates, any(first_day) AS from, any(last_day) AS to, arraySort(groupUniqArray(run)) AS runs
      FROM ${id(members)} GROUP BY plan ORDER BY plan`,
  })
  const [first, last] = [toDays(period.first), toDays(period.last)]
  return rows.map(({ rates, ...days }) => ({
    ...days,
    rates: rates.map(([rateCode, from, to]) => ({ rateCode, from, to })),
    isWhole: days.from === first && days.to === last,
  }))
}
