import type { Counterfactual } from '../../../schemas/rating/counterfactual.js'
import type { Statement } from '../../store/clickhouse.js'
import { id, join, literal, type Sql, sql } from '../../store/sql.js'
import {
  amounts,
  blocks,
  completenessMin,
  createPlans,
  joined,
  type Pricing,
  tierAccount,
} from '../price.js'
import { type RunTables, runsOf } from '../tables.js'

/** Why a computed bill differs from the billed one, in the order in which causes are neutralised. */
export const causes = [
  'missingIntervals',
  'periodBoundary',
  'rateVersion',
  'tierDays',
  'taxAndFees',
  'budgetBilling',
  'paymentArrangement',
  'rounding',
  'unexplained',
] as const
export type Cause = (typeof causes)[number]

export const stageOf = (cause: Cause) => literal(causes.indexOf(cause) + 1)

/** Within so much of what was billed, or half a percent of it where that is more. */
const isNear = (own: Sql, billed: Sql, least: string) =>
  sql`abs(${own} - ${billed}) <= greatest(toDecimal128(${literal(least)}, 9), abs(toDecimal128(${billed}, 6)) * toDecimal64('0.005', 3))`
const isQuantity = (own: Sql, billed: Sql) => sql`(${isNear(own, billed, '0.6')})`
export const isCost = (own: Sql, billed: Sql) => sql`(${isNear(own, billed, '0.05')})`

export function createSteps(tables: RunTables): readonly Statement[] {
  return [
    {
      sql: sql`CREATE TABLE ${id(tables.steps)}
      (
        run String, meter_id String, account_number String, first_day Int32, stage UInt8, shift UInt8,
        quantity Decimal(18, 6), total Nullable(Decimal(18, 6))
      )
      ENGINE = MergeTree ORDER BY (run, meter_id, account_number, first_day, stage)`,
    },
    createPlans(tables),
  ]
}

/** Bills with what was billed, if anything, and what they have come to until now. */
export function latestSteps({ tables }: Pricing): Sql {
  return sql`SELECT r.run AS run, r.meter_id AS meter_id, r.account_number AS account_number, r.first_day AS first_day,
        r.plan AS base, shift, intervals_expected, intervals_present,
        b.meter_id != '' AS is_billed, billed_quantity, billed_cost, billed_tax, billed_fees, is_budget, budget, arrangement,
        if(stage > 0, s.quantity, r.quantity) AS own_quantity, if(stage > 0, s.total, r.total) AS own_total
      FROM (SELECT *, toInt32(start_date) AS first_day FROM bill_row WHERE run IN ${runsOf(tables)} AND seconds > 0) AS r
      LEFT JOIN ${id(tables.billed)} AS b
        ON b.run = r.run AND b.meter_id = r.meter_id AND b.account_number = r.account_number AND b.first_day = r.first_day
      LEFT JOIN (
        SELECT run, meter_id, account_number, first_day, max(s.stage) AS stage, argMax(s.shift, s.stage) AS shift,
          argMax(s.quantity, s.stage) AS quantity, argMax(tuple(s.total), s.stage).1 AS total
        FROM ${id(tables.steps)} AS s GROUP BY run, meter_id, account_number, first_day
      ) AS s ON s.run = r.run AND s.meter_id = r.meter_id AND s.account_number = r.account_number AND s.first_day = r.first_day`
}

/** Bills whose days are to be shifted: their quantity differs from the billed one, or reads are missing. */
export function openByQuantity(pricing: Pricing): Sql {
  return openWhere(
    pricing,
    sql`intervals_present < intervals_expected OR NOT ${isQuantity(sql`own_quantity`, sql`billed_quantity`)}`,
  )
}

/** Bills whose prices are to be explained: the billed cost differs and is not just an instalment. */
export function openByCost(pricing: Pricing): Sql {
  return openWhere(
    pricing,
    sql`billed_cost IS NOT NULL AND own_total IS NOT NULL
        AND NOT ${isCost(sql`assumeNotNull(own_total)`, sql`assumeNotNull(billed_cost)`)}
        AND ifNull(budget != billed_cost, true)`,
  )
}

/**
 * Billed bills that are open, as `is_wanted`. Where an account's meters share their tiers, all of its bills
 * come with one that is open, once for each move of days that one of them has: the others fill the tiers.
 */
function openWhere(pricing: Pricing, where: Sql): Sql {
  const latest = latestSteps(pricing)
  const isOpen = sql`is_billed AND (${where})`
  if (pricing.rules.tierScope === 'meter') {
    return sql`SELECT *, is_billed AS is_wanted FROM (${latest}) WHERE ${isOpen}`
  }
  return sql`SELECT * EXCEPT (shifts, own_shift, is_open), arrayJoin(shifts) AS shift, is_billed AND shift = own_shift AS is_wanted
      FROM (
        SELECT * EXCEPT shift, shift AS own_shift, groupUniqArrayIf(shift, is_billed) OVER account AS shifts,
          max(${isOpen}) OVER account AS is_open
        FROM (${latest})
        WINDOW account AS (PARTITION BY ${tierAccount}, base)
      )
      WHERE is_open`
}

/** A variant of a plan, for bills whose days are moved already, and the number of its own plan. */
export interface NumberedCounterfactual extends Counterfactual {
  readonly base: number
  readonly shiftBefore: number
  readonly plan: number
}

/** Bills of `openWhere` by each of the variants that they may have been computed by. */
function priced(pricing: Pricing, open: Sql, variants: readonly NumberedCounterfactual[]): Sql {
  const { tables } = pricing
  const list = variants.map(
    ({ base, shiftBefore, shift, pricing, tier, plan }) =>
      sql`(${join([base, shiftBefore, shift, pricing, tier, plan].map(literal), sql`,`)})`,
  )
  const members = sql`SELECT m.run AS run, m.meter_id AS meter_id, m.external_site_id AS external_site_id, m.account_number AS account_number,
          m.client_id AS client_id, m.unit AS meter_unit, m.first_day AS first_day, m.last_day AS last_day, m.begins_at AS begins_at, m.ends_at AS ends_at,
          c.v.3 AS shift, c.v.4 AS pricing, c.v.5 AS tier, c.v.6 AS plan,
          is_wanted, intervals_expected, billed_quantity, billed_cost, billed_tax, billed_fees
        FROM ${id(tables.members)} AS m
        INNER JOIN (${open}) AS o
          ON o.run = m.run AND o.meter_id = m.meter_id AND o.account_number = m.account_number AND o.first_day = m.first_day
        INNER JOIN (SELECT arrayJoin([${join(list, sql`,`)}]) AS v) AS c ON c.v.1 = o.base AND c.v.2 = o.shift`
  const filled = { ...pricing, isFilled: true }
  return amounts(filled, joined(filled, { members, plans: id(tables.variants) }))
}

/**
 * Neutralises missing intervals, by what the others come to, and then days that are counted otherwise
 * at an end: the move of which the quantity is the nearest counts, if only that makes it match.
 */
export function neutraliseDays(
  pricing: Pricing,
  variants: readonly NumberedCounterfactual[],
): Statement {
  return {
    sql: sql`INSERT INTO ${id(pricing.tables.steps)} (run, meter_id, account_number, first_day, stage, shift, quantity, total)
      SELECT run, meter_id, account_number, first_day, step.1, step.2.1, step.2.2, step.2.3
      FROM (
        SELECT *, arrayJoin(arrayConcat([(${stageOf('missingIntervals')}, own)],
            if(NOT ${isQuantity(sql`own.2`, sql`billed`)} AND ${isQuantity(sql`nearest.2`, sql`billed`)}, [(${stageOf('periodBoundary')}, nearest)], []))) AS step
        FROM (
          SELECT *, arraySort(x -> (abs(x.2 - billed), x.1), arrayFilter(x -> isNull(x.3) = isNull(own.3), found))[1] AS nearest
          FROM (
            SELECT run, meter_id, account_number, first_day, any(billed_quantity) AS billed, groupArray((shift, q, d)) AS found,
              arrayFirst(x -> x.1 = 0, found) AS own
            FROM (
              SELECT run, meter_id, account_number, first_day, billed_quantity, shift, used AS q, dollars AS d
              FROM (${priced(pricing, openByQuantity(pricing), variants)})
              WHERE is_wanted
            )
            GROUP BY run, meter_id, account_number, first_day
          )
        )
      )`,
    settings: blocks,
  }
}

/**
 * Neutralises prices, days of tiers, and taxes and fees, where that makes the bill match; of several
 * ways the one with the fewest causes. Taxes and fees that were billed are known, others are left out.
 */
export function neutralisePrices(
  pricing: Pricing,
  variants: readonly NumberedCounterfactual[],
): Statement {
  const endsOf = (way: Sql) => sql`multiIf(
            fees IS NOT NULL, [${way}.3 - ${way}.5 + assumeNotNull(fees)],
            tax IS NOT NULL, [${way}.3 - ${way}.4 + assumeNotNull(tax)],
            [${way}.3, ${way}.3 - ${way}.4, ${way}.3 - ${way}.5 + ${way}.4, ${way}.3 - ${way}.5])`
  const isTax = sql`kind IN ('TaxPercent', 'TaxAmount')`
  return {
    sql: sql`INSERT INTO ${id(pricing.tables.steps)} (run, meter_id, account_number, first_day, stage, shift, quantity, total)
      SELECT run, meter_id, account_number, first_day, step.1, shift, quantity, step.2
      FROM (
        SELECT *, arrayJoin([
            (${stageOf('rateVersion')}, arrayFirst(x -> x.1 = way.1 AND x.2 = 0, found).3),
            (${stageOf('tierDays')}, arrayFirst(x -> x.1 = way.1 AND x.2 = way.2, found).3),
            (${stageOf('taxAndFees')}, way.3)]) AS step
        FROM (
          SELECT *, if(empty(matching), (0, 0, ${endsOf(sql`own`)}[1], 0), matching[1]) AS way
          FROM (
            SELECT *, arrayFirst(x -> x.1 = 0 AND x.2 = 0, found) AS own,
              arraySort(x -> (x.4, abs(x.3 - billed)), arrayFilter(x -> ${isCost(sql`x.3`, sql`billed`)}, ways)) AS matching
            FROM (
              SELECT *, arrayFlatten(arrayMap(x -> arrayMap(e -> (x.1, x.2, e, (x.1 != 0) + (x.2 != 0) + (e != x.3)), ${endsOf(sql`x`)}), found)) AS ways
              FROM (
                SELECT run, meter_id, account_number, first_day, any(shift) AS shift, any(q) AS quantity,
                  any(assumeNotNull(billed_cost)) AS billed, any(billed_tax) AS tax, any(billed_fees) AS fees,
                  groupArray((pricing, tier, d, taxes, charges)) AS found
                FROM (
                  SELECT run, meter_id, account_number, first_day, shift, pricing, tier, used AS q, billed_cost, billed_tax, billed_fees,
                    assumeNotNull(dollars) AS d,
                    arraySum(arrayMap((amount, kind) -> amount * (${isTax}), charged, arraySlice(kinds, 1, length(charged)))) AS taxes,
                    arraySum(arrayMap((amount, kind) -> amount * (kind != 'Energy'), charged, arraySlice(kinds, 1, length(charged)))) + arraySum(missing) AS charges
                  FROM (${priced(pricing, openByCost(pricing), variants)})
                  WHERE is_wanted AND is_priced
                )
                GROUP BY run, meter_id, account_number, first_day
              )
            )
          )
        )
      )`,
    settings: blocks,
  }
}

/**
 * Records what was billed with what was computed, with the causes of the difference, which
 * add up to it. What is left is rounding up to half a cent of each line and half a unit that a
 * quantity in whole units may lack, else it is unexplained.
 */
export function writeVariances({ tables }: Pricing): Statement {
  const named = (cause: Cause) => literal(cause)
  const toMap = (left: Sql, { at, billed }: { readonly at: number; readonly billed: Sql }) =>
    sql`CAST(mapFilter((cause, worth) -> worth != 0, mapFromArrays(
          arrayPushBack(arrayMap(i -> names[ladder[i].1], range(2, length(ladder) + 1)), ${left}),
          arrayMap(worth -> ifNull(worth, toDecimal128(0, 6)),
            arrayPushBack(arrayMap(i -> ladder[i - 1].${literal(at)} - ladder[i].${literal(at)}, range(2, length(ladder) + 1)), ladder[-1].${literal(at)} - ${billed})))), 'Map(LowCardinality(String), Decimal(18, 6))')`
  return {
    sql: sql`INSERT INTO bill_variance_row (run, account_number, external_site_id, meter_id, start_date, last_date,
        billed_start_date, billed_end_date, document_numbers, unit, bill_status, quantity_billed, quantity_computed,
        quantity_status, quantity_causes, cost_billed, cost_computed, cost_status, cost_causes)
      WITH ${literal(causes)} AS names,
        arrayConcat([(toUInt8(0), r.quantity, r.total)], steps) AS ladder,
        toDecimal64(0.005, 6) * (length(line_amounts) + 1) AS cents,
        ladder[-1].2 - billed_quantity AS quantity_left,
        abs(quantity_left) <= 0.5 AND billed_quantity = floor(billed_quantity) AS is_whole,
        abs(ifNull(ladder[-1].3 - billed_cost, 0)) <= cents + if(is_whole, abs(quantity_left) * arrayMax(prices), 0) AS is_rounded,
        intervals_present < intervals_expected * ${literal(completenessMin)} AS is_incomplete
      SELECT r.run, r.account_number, r.external_site_id, r.meter_id, r.start_date, r.last_date,
        b.start_date, b.end_date, b.documents, toString(r.unit), r.status, billed_quantity, r.quantity,
        multiIf(seconds = 0, 'noUsage', is_incomplete, 'incomplete', ${isQuantity(sql`r.quantity`, sql`billed_quantity`)}, 'match', 'differs'),
        ${toMap(sql`if(is_whole, ${named('rounding')}, ${named('unexplained')})`, { at: 2, billed: sql`billed_quantity` })},
        billed_cost, r.total,
        multiIf(billed_cost IS NULL, 'notBilled', r.total IS NULL, 'notComputed', is_incomplete, 'incomplete',
          ${isCost(sql`assumeNotNull(r.total)`, sql`assumeNotNull(billed_cost)`)}, 'match', 'differs'),
        if(billed_cost IS NULL OR r.total IS NULL, map(),
          ${toMap(sql`if(is_rounded, ${named('rounding')}, ${named('unexplained')})`, { at: 3, billed: sql`billed_cost` })})
      FROM ${id(tables.billed)} AS b
      INNER JOIN (SELECT *, toInt32(start_date) AS first_day FROM bill_row WHERE run IN ${runsOf(tables)}) AS r
        ON r.run = b.run AND r.meter_id = b.meter_id AND r.account_number = b.account_number AND r.first_day = b.first_day
      LEFT JOIN (
        SELECT run, meter_id, account_number, first_day, arraySort(x -> x.1, groupArray((stage, quantity, total))) AS steps
        FROM ${id(tables.steps)} GROUP BY run, meter_id, account_number, first_day
      ) AS s ON s.run = b.run AND s.meter_id = b.meter_id AND s.account_number = b.account_number AND s.first_day = b.first_day
      ANY LEFT JOIN (SELECT plan AS p_plan, prices FROM bill_plan WHERE run IN ${runsOf(tables)}) AS p ON p.p_plan = r.plan
      ORDER BY r.account_number, r.meter_id, r.start_date`,
  }
}
