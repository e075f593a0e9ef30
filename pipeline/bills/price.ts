import { pastDays } from '../../schemas/rating/projection.js'
import { dayStarts, type Slots, slotSeconds } from '../../schemas/rating/slots.js'
import type { BillingRules } from '../../schemas/settings/billing.js'
import type { Statement } from '../store/clickhouse.js'
import { id, join, literal, type Sql, sql } from '../store/sql.js'
import { scanPasses } from './compile.js'
import { type RunTables, runsOf } from './tables.js'

/** Below this share of its intervals a bill is flagged and not reconciled. */
export const completenessMin = 0.98

/** The messages of bills that lack reads. */
export function toShortfall({ presentShareMin }: BillingRules) {
  return {
    incomplete: `fewer than ${completenessMin * 100} % of the intervals have arrived`,
    sparse: `billing.presentShareMin requires ${Number((presentShareMin * 100).toFixed(2))} %`,
  }
}

const unprojectable = `the days ahead cannot be projected: fewer than ${pastDays.min} of the ${pastDays.all} days before, or fewer than ${pastDays.ofTypeMin} of a type of day ahead, have reads, and the same days of last year have none`

/** Rows that are priced together: each holds its meter's vector once for every line of its plan. */
const rowsAtOnce = 2_048

export function createMasks({ masks }: RunTables): Statement {
  return {
    sql: sql`CREATE TABLE ${id(masks)}
      (
        plan UInt32, pass UInt8, whole Array(UInt16), through Array(Array(UInt16)),
        before Array(Array(UInt16)), lower Array(Int64), upper Array(Int64),
        day_masks Array(Array(UInt8)), day_ends Array(UInt8)
      )
      ENGINE = MergeTree ORDER BY (pass, plan)`,
  }
}

/** Plans like those of `bill_plan`, which is replicated; those of a run are on one server. */
export function createPlans({ variants }: RunTables): Statement {
  return {
    sql: sql`CREATE TABLE ${id(variants)} AS bill_plan ENGINE = MergeTree ORDER BY (run, plan)`,
  }
}

export interface Pricing {
  readonly tables: RunTables
  readonly rules: BillingRules
  /** Those by which the vectors were made. */
  readonly slots: Slots
  /** The last day whose reads count as there or missing: those behind it are projected. */
  readonly lastActual: number
  /** Whether what lacks reads is filled up to the `intervals_expected` of its member. */
  readonly isFilled?: boolean
}

/** The members and their plans: subqueries or tables. */
export interface Priced {
  /** Rows of members with their columns, their run, the number of a plan and the unit of the meter as `meter_unit`. */
  readonly members: Sql
  readonly plans: Sql
}

/** Members with their plans, masks and vectors, one row each; those without reads have no vector. */
export function joined(pricing: Pricing, { members, plans }: Priced): Sql {
  const { vectors, masks } = pricing.tables
  const odd = sql`pass = ${literal(scanPasses.odd)}`
  const source = sql`SELECT * FROM (${members}) AS m
      ANY LEFT JOIN (
        SELECT meter_id AS u_meter, external_site_id AS u_site, account_number AS u_account,
          client_id AS u_client, first_day AS u_day, pass, seconds, present, estimated, negative, vector, daily, method
        FROM ${id(vectors)}
        WHERE ${odd} OR meter_id NOT IN (SELECT meter_id FROM ${id(vectors)} WHERE ${odd})
      ) AS u ON u_meter = meter_id AND u_site = external_site_id
        AND u_account = account_number AND u_client = client_id AND u_day = m.first_day
      ANY LEFT JOIN (
        SELECT plan AS p_plan, status AS plan_status, reason AS plan_reason, unit, resolution, kinds, taxable,
          prices, amounts, percents, minimum
        FROM ${plans}
      ) AS p ON p_plan = plan
      ANY LEFT JOIN (SELECT plan AS k_plan, pass AS k_pass, whole, through, before, lower, upper, day_masks, day_ends FROM ${id(masks)}) AS k
        ON k_plan = plan AND k_pass = pass`
  const sized = staged(source, sizes)
  return pricing.rules.tierScope === 'account' ? withAccounts(pricing, sized) : sized
}

/**
 * Each stage is a query over the one before: names for expressions would be inlined into each other, and
 * the engine would take seconds to analyze the statement.
 */
function staged(source: Sql, stages: readonly Sql[]): Sql {
  return stages.reduce((inner, stage) => sql`SELECT *, ${stage} FROM (${inner})`, source)
}

/** Units or dollars: a year of such bills still fits the columns, and no real bill is larger. */
const reachMax = 100_000_000_000
const beyond = `the energy or the prices exceed the limit of a bill, ${reachMax} units or dollars`
/** An upper bound of a bill, computed first because a decimal that overflows ends the run. */
const sizeOf = (array: string) => sql`arraySum(one -> abs(toFloat64(one)), ${id(array)})`
const reachOf = sql`(${sizeOf('vector')} / divisor * (1 + ${sizeOf('prices')}) + ${sizeOf('amounts')} + abs(ifNull(toFloat64(minimum), 0))) * (1 + ${sizeOf('percents')} / 100)`

/** In which unit a bill is, how many parts of it the vector counts, and whether they are too many. */
const sizes: readonly Sql[] = [
  sql`seconds = 0 OR present = 0 AND method = '' AS is_empty,
        meter_unit = 'Wh' AND unit != 'Wh' AS is_wh`,
  sql`if(is_wh, 'kWh', meter_unit) AS own_unit,
        if(is_wh, 1000000000, 1000000) AS divisor,
        if(is_wh, 1000, 1) AS scale,
        ${reachOf} >= ${literal(reachMax)} AS is_beyond`,
]

/** Whose meters share tiers, in each run for itself. */
export const tierAccount = sql`run, if(account_number = '', meter_id, account_number)`

/**
 * The meters of an account with the same plan fill its tiers together: those before each line's days
 * with all that they used, those of equal days one after the other. What exceeds the limit of a bill
 * fills none. Meters that are read in Wh and in kWh are added up in thousandths of the latter, and what others
 * used is rounded towards zero for one in kWh.
 */
function withAccounts(pricing: Pricing, source: Sql): Sql {
  const counted = (own: Sql) =>
    sql`arrayMap(sum -> if(is_beyond, 0, toInt128(sum)) * finer, ${own})`
  const lines = (array: Sql) => sql`arrayResize(${array}, length(all_before))`
  return sql`SELECT *, arrayMap((earlier, until, own) -> intDiv(earlier + until - own, finer), all_before, ${lines(sql`used_until`)}, ${lines(sql`counted_used`)}) AS sums_before,
        arrayMap((sum, own) -> sum + own, sums_before, ${lines(sql`own_used`)}) AS sums_through
      FROM (
        SELECT *, sumForEach(counted_before) OVER account AS all_before,
          sumForEach(counted_used) OVER (account ORDER BY meter_id, first_day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS used_until
        FROM (
          SELECT *, intDiv(1000, scale) AS finer, ${counted(sql`own_before`)} AS counted_before, ${counted(sql`own_used`)} AS counted_used
          FROM (
            SELECT *, ${masked(pricing, 'before')} AS own_before,
              arrayMap((t, b) -> t - b, ${masked(pricing, 'through')}, own_before) AS own_used
            FROM (${source})
          )
        )
        WINDOW account AS (PARTITION BY ${tierAccount}, plan, own_unit)
      )`
}

/** What the slots of each mask hold. */
function masked(pricing: Pricing, masks: 'through' | 'before'): Sql {
  return sql`arrayMap(mask -> ${held(pricing, sql`mask`)}, if(empty(vector), [], ${id(masks)}))`
}

/** What the slots of a mask hold. The sum is filled up, not each class: rounding would depend on their number. */
function held({ isFilled = false }: Pricing, mask: Sql): Sql {
  const sum = sql`arrayDotProduct(vector, ${mask})`
  if (!isFilled) return sum
  return sql`if(present > 0 AND present < intervals_expected, toInt64(intDiv(toInt128(${sum}) * intervals_expected, present)), ${sum})`
}

/** The energy of each line: what its slots hold within its limits, less what was used before. */
function energyOf(pricing: Pricing): Sql {
  const [through, before] =
    pricing.rules.tierScope === 'account'
      ? [sql`sums_through`, sql`sums_before`]
      : [masked(pricing, 'through'), masked(pricing, 'before')]
  const priced = [through, before, sql`lower`, sql`upper`].map(
    (own) => sql`if(is_priced, ${own}, [])`,
  )
  const scaled = (limit: Sql) =>
    sql`multiIf(${limit} > intDiv(${highest}, scale), ${highest}, ${limit} < intDiv(${lowest}, scale), ${lowest}, ${limit} * scale)`
  const clip = (sum: Sql) => sql`least(greatest(${sum}, ${scaled(sql`low`)}), ${scaled(sql`high`)})`
  return sql`arrayMap((t, b, low, high) -> round(toDecimal128(${clip(sql`t`)} - ${clip(sql`b`)}, 9) / divisor, 6),
          ${join(priced, sql`, `)}) AS energy`
}

/**
 * Which bills can be priced, and how many intervals they should have: those that start within the
 * tenancy, which may begin and end inside a day.
 */
function outcomesOf({ rules, slots, lastActual }: Pricing): readonly Sql[] {
  const firstDay = slots.periodDay[0] as number
  const starts = [...dayStarts(slots), slots.count]
  // The first interval at or after an instant, in slots since the start of the first day.
  const slotFrom = (instant: string) =>
    sql`slots_each * intDiv(intDiv(${id(instant)} - ${literal(slots.startsAt - slotSeconds + 1)}, ${literal(slotSeconds)}) - first_slot + slots_each - 1, slots_each)`
  return [
    sql`${literal(starts)} AS day_starts, least(last_day, ${literal(lastActual)}) AS actual_day,
        greatest(intDiv(seconds, ${literal(slotSeconds)}), 1) AS slots_each`,
    sql`toInt64(day_starts[first_day - ${literal(firstDay)} + 1]) AS first_slot,
        day_starts[actual_day - ${literal(firstDay)} + 2] - first_slot AS slots_of_days`,
    sql`greatest(least(${slotFrom('ends_at')}, slots_of_days) - greatest(${slotFrom('begins_at')}, 0), 0) AS slots`,
    sql`toUInt32(multiIf(is_empty OR actual_day < first_day, 0, seconds >= 86400, actual_day - first_day + 1, intDiv(slots * ${literal(slotSeconds)}, seconds))) AS expected`,
    sql`multiIf(
          plan_status != '', plan_status,
          own_unit != unit, 'unit',
          is_empty, 'noUsage',
          is_beyond OR seconds > resolution OR method = 'none', 'notProjectable',
          present < expected * ${literal(rules.presentShareMin)}, 'sparse',
          method != '', 'projected',
          present < expected * ${literal(completenessMin)}, 'incomplete',
          'computed') AS outcome`,
    sql`outcome IN ('computed', 'incomplete', 'projected') AS is_priced`,
  ]
}

/**
 * The exact decimals of bills beside the columns of `joined`; percents go by the taxable lines as
 * rounded.
 */
export function amounts(pricing: Pricing, source: Sql): Sql {
  const { rules } = pricing
  const line = literal(rules.rounding === 'line' ? 2 : 6)
  const total = literal(rules.rounding === 'none' ? 6 : 2)
  const stages = [
    ...outcomesOf(pricing),
    energyOf(pricing),
    sql`arrayConcat(
          arrayMap((q, price) -> toDecimal128(round(q * price, ${line}), 6), energy, if(is_priced, prices, [])),
          arrayMap(amount -> toDecimal128(round(amount, ${line}), 6), if(is_priced, amounts, []))) AS untaxed`,
    sql`arraySum(arrayMap((amount, is_taxable) -> amount * is_taxable, untaxed, arraySlice(taxable, 1, length(untaxed)))) AS taxed`,
    sql`arrayConcat(untaxed, arrayMap(percent -> toDecimal128(round(taxed * percent * toDecimal64('0.01', 2), ${line}), 6), if(is_priced, percents, []))) AS charged`,
    sql`arraySum(charged) AS due`,
    sql`if(minimum IS NULL, [], [greatest(toDecimal128(0, 6), toDecimal128(round(assumeNotNull(minimum), ${line}), 6) - due)]) AS missing,
        if(is_empty OR is_beyond OR empty(whole), 0, round(toDecimal128(${held(pricing, sql`whole`)}, 9) / divisor, 6)) AS used`,
    sql`if(is_priced, round(due + arraySum(missing), ${total}), NULL) AS dollars`,
  ]
  return staged(source, stages)
}

/** The outcome of `amounts` in words, empty where all is well. */
export function whyOf(rules: BillingRules): Sql {
  return sql`multiIf(
          plan_status != '', plan_reason,
          outcome = 'unit', concat('the meter is read in ', meter_unit, ', the rate is priced in ', unit),
          outcome = 'noUsage', 'no interval of the period has arrived',
          outcome = 'notProjectable' AND is_beyond, ${literal(beyond)},
          outcome = 'notProjectable' AND method = 'none', ${literal(unprojectable)},
          outcome = 'notProjectable', concat('intervals of ', toString(seconds), ' seconds are too long for a rate whose price changes within them'),
          present < expected * ${literal(completenessMin)} AND outcome != 'sparse', concat(toString(present), ' of ', toString(expected), ' intervals have arrived'),
          outcome = 'sparse', concat(toString(present), ' of ', toString(expected), ${literal(` intervals have arrived; ${toShortfall(rules).sparse}`)}),
          '')`
}

/** How many rows with vectors are worked on together. */
export const blocks = { max_block_size: rowsAtOnce, max_joined_block_size_rows: rowsAtOnce }

/**
 * What has filled each line by the end of each local day, ahead of them what did before the first: all
 * usage as the first line, then those of energy; millionths of a unit, rounded as the bill is. Projected
 * days are one.
 */
function usedByDay(pricing: Pricing, source: Sql): Sql {
  const isShared = pricing.rules.tierScope === 'account'
  const bases = isShared ? sql`sums_before` : masked(pricing, 'before')
  const totals = isShared ? sql`sums_through` : masked(pricing, 'through')
  return sql`SELECT *, arrayMap((sums, base, total) -> arrayMap(fill -> intDiv(fill + sign(fill) * intDiv(scale, 2), scale),
            arrayConcat([base], arrayMap(sum -> base + sum, sums), if(last_day > actual_day, [total], []))),
          day_sums, day_bases, day_totals) AS used_by_day
      FROM (
        SELECT *, if(is_empty OR is_beyond, [], day_masks) AS spread_masks,
          arrayMap(mask -> arrayFilter((sum, is_end) -> is_end,
            arrayCumSum(arrayMap((v, m) -> v * m, arrayResize(daily, length(day_ends)), mask)), day_ends), spread_masks) AS day_sums,
          if(empty(spread_masks), [], arrayPushFront(${bases}, toInt64(0))) AS day_bases,
          if(empty(spread_masks), [], arrayPushFront(${totals}, toInt64(arrayDotProduct(vector, whole)))) AS day_totals
        FROM (${source})
      )`
}

/**
 * Prices all bills of all runs in one statement. A bill that cannot be computed is a row with its reason.
 */
export function priceBills(pricing: Pricing): Statement {
  const { tables, rules } = pricing
  const source = joined(pricing, {
    members: sql`SELECT run, meter_id, external_site_id, account_number, client_id, client_ids, unit AS meter_unit,
          first_day, last_day, begins_at, ends_at, plan
        FROM ${id(tables.members)}`,
    plans: sql`bill_plan WHERE run IN ${runsOf(tables)}`,
  })
  return {
    sql: sql`INSERT INTO bill_row (run, plan, account_number, external_site_id, meter_id, client_ids, start_date, last_date,
        status, reason, method, days_projected, seconds, intervals_expected, intervals_present, intervals_estimated, nem, quantity, unit, read_unit, used_by_day, quantities, line_amounts, total)
      SELECT run, plan, account_number, external_site_id, meter_id, client_ids,
        toDate(first_day), toDate(last_day), outcome,
        ${whyOf(rules)} AS reason,
        method, if(outcome = 'projected', last_day - greatest(first_day - 1, actual_day), 0), if(is_empty, 0, seconds), expected, present, estimated, negative > 0, used, own_unit, meter_unit, used_by_day,
        energy, if(is_priced, arrayConcat(charged, missing), []), dollars
      FROM (${usedByDay(pricing, amounts(pricing, source))})
      ORDER BY account_number, meter_id, first_day`,
    settings: blocks,
  }
}

const lowest = sql`toInt64('-9223372036854775808')`
const highest = sql`toInt64('9223372036854775807')`
