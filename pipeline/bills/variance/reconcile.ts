import {
  createCounterfactual,
  pricingsOf,
  shiftDays,
  shifts,
  tierDays,
} from '../../../schemas/rating/counterfactual.js'
import type { PlanContext } from '../../../schemas/rating/plan.js'
import type { PriceBuckets } from '../../../schemas/rating/price-buckets.js'
import type { Store } from '../../store/clickhouse.js'
import { id, type Sql, sql } from '../../store/sql.js'
import { onServerOf } from '../../whole.js'
import { type Compilation, type CompiledPlan, toMaskRows, toPlanRow } from '../compile.js'
import type { Pricing } from '../price.js'
import { runsOf } from '../tables.js'
import { neutralisePlans } from './plans.js'
import {
  type Cause,
  createSteps,
  type NumberedCounterfactual,
  neutraliseDays,
  neutralisePrices,
  openByCost,
  openByQuantity,
  writeVariances,
} from './variance.js'

/** How many computed bills were compared with billed ones, and the result. */
export interface VarianceSummary {
  readonly billed: number
  readonly quantity: Readonly<Record<string, number>>
  readonly cost: Readonly<Record<string, number>>
  /** Dollars by cause, and the number of bills that have it; the most dollars first. */
  readonly causes: readonly { cause: Cause; bills: number; dollars: string }[]
}

export interface Reconciliation {
  readonly store: Store
  readonly pricing: Pricing
  readonly compilation: Compilation
  readonly context: PlanContext
  /** The classes by which the vectors of each pass were made. */
  readonly classes: ReadonlyMap<number, PriceBuckets>
}

/**
 * Compares the bills of a run with the billed ones. A cause is neutralised by pricing the same vectors
 * by another plan, for all bills at once that still differ.
 */
export async function reconcileBills(reconciliation: Reconciliation): Promise<VarianceSummary> {
  const { store, pricing } = reconciliation
  for (const statement of createSteps(pricing.tables)) await store.command(statement)
  const moves = await numberCounterfactuals(reconciliation, openByQuantity(pricing), movesOf)
  if (moves.length > 0) await store.command(neutraliseDays(pricing, moves))
  const prices = await numberCounterfactuals(reconciliation, openByCost(pricing), pricesOf)
  if (prices.length > 0) await store.command(neutralisePrices(pricing, prices))
  await store.command(neutralisePlans(pricing))
  await store.command(writeVariances(pricing))
  return summarise(store, pricing)
}

type Open = Pick<NumberedCounterfactual, 'base' | 'shiftBefore'> & { readonly of: CompiledPlan }
type Choice = Pick<NumberedCounterfactual, 'shift' | 'pricing' | 'tier'>

/** The days as they are and moved by a day. */
function movesOf(): readonly Choice[] {
  return shifts.map((_, shift) => ({ shift, pricing: 0, tier: 0 }))
}

/** Each of the prices with each of the days of tiers, where a bill has them. */
function pricesOf({ book }: PlanContext, { of, shiftBefore }: Open): readonly Choice[] {
  const hasTiers =
    'components' in of.plan && of.plan.components.some(({ lines }) => lines.some((one) => one.tier))
  return pricingsOf(book, of.days).flatMap((pricing) =>
    (hasTiers ? [...tierDays.keys()] : [0]).map((tier) => ({ shift: shiftBefore, pricing, tier })),
  )
}

/** Makes the plans of all variants that some open bill has, and stores them for pricing. */
async function numberCounterfactuals(
  { store, pricing, compilation, context, classes }: Reconciliation,
  open: Sql,
  choicesOf: (context: PlanContext, open: Open) => readonly Choice[],
): Promise<readonly NumberedCounterfactual[]> {
  const { variants, masks } = pricing.tables
  const found = await store.rows<{ base: number; shiftBefore: number }>({
    sql: sql`SELECT DISTINCT base, shift AS shiftBefore FROM (${open}) ORDER BY base, shift`,
  })
  const [known] = await store.rows<{ plans: number }>({
    sql: sql`SELECT toUInt32(greatest((SELECT max(plan) FROM ${id(masks)}), (SELECT max(plan) FROM ${id(variants)}))) AS plans`,
  })
  let plan = known?.plans ?? 0
  const numbered: NumberedCounterfactual[] = []
  const plans: CompiledPlan[] = []
  for (const one of found) {
    const of = compilation.plans.find(({ days }) => days.plan === one.base)
    if (of === undefined) continue
    for (const choice of choicesOf(context, { ...one, of })) {
      plan++
      numbered.push({ ...one, ...choice, plan })
      const days = { ...of.days, ...shiftDays(of.days, choice.shift), plan }
      plans.push({ days, plan: createCounterfactual(context, of.days, choice) })
    }
  }
  if (plans.length === 0) return []
  const rows = plans.map(toPlanRow)
  await store.insert(variants, rows)
  for (const [pass, own] of classes) {
    await store.insert(masks, toMaskRows({ ...compilation, plans }, pass, own))
  }
  return numbered
}

async function summarise(store: Store, { tables }: Pricing): Promise<VarianceSummary> {
  const counts = await store.rows<{ quantity: string; cost: string; n: string }>({
    sql: sql`SELECT toString(quantity_status) AS quantity, toString(cost_status) AS cost, toString(count()) AS n
      FROM bill_variance_row WHERE run IN ${runsOf(tables)} AND ${onServerOf(tables.masks)} GROUP BY quantity, cost ORDER BY quantity, cost`,
  })
  const causes = await store.rows<{ cause: Cause; bills: string; dollars: string }>({
    sql: sql`SELECT cause, toString(count()) AS bills, toString(sum(worth)) AS dollars
      FROM bill_variance_row ARRAY JOIN mapKeys(cost_causes) AS cause, mapValues(cost_causes) AS worth
      WHERE run IN ${runsOf(tables)} AND ${onServerOf(tables.masks)} GROUP BY cause ORDER BY abs(sum(worth)) DESC, cause`,
  })
  const quantity: Record<string, number> = {}
  const cost: Record<string, number> = {}
  for (const { n, ...own } of counts) {
    quantity[own.quantity] = (quantity[own.quantity] ?? 0) + Number(n)
    cost[own.cost] = (cost[own.cost] ?? 0) + Number(n)
  }
  const billed = counts.reduce((sum, { n }) => sum + Number(n), 0)
  return {
    billed,
    quantity,
    cost,
    causes: causes.map(({ bills, ...own }) => ({ ...own, bills: Number(bills) })),
  }
}
