import { fromDays } from '../../schemas/lint/finding.js'
import { formatScaled, priceDecimals } from '../../schemas/quantity.js'
import { createCounterfactual, pricingsOf, shifts } from '../../schemas/rating/counterfactual.js'
import type { EnergyLine, Unpriced } from '../../schemas/rating/kind.js'
import { createPlan, type Plan, type PlanContext } from '../../schemas/rating/plan.js'
import {
  createPriceBuckets,
  type Labelling,
  maskOf,
  type PriceBuckets,
} from '../../schemas/rating/price-buckets.js'
import type { Slots } from '../../schemas/rating/slots.js'
import type { NumberedPlan } from './members.js'

/** How the reads of a meter are assigned: by meter alone, or one by one where it has had several tenants. */
export const scanPasses = { whole: 0, odd: 1 } as const

export interface CompiledPlan {
  readonly days: NumberedPlan
  readonly plan: Plan | Unpriced
}

export interface Compilation {
  readonly slots: Slots
  readonly plans: readonly CompiledPlan[]
  /** What counterfactuals of the plans distinguish in addition. */
  readonly labellings: readonly PlanLabelling[]
  /** Days since 1970: those behind it are projected. Undefined where the period has ended. */
  readonly lastActual?: number
}

interface PlanLabelling {
  readonly isWhole: boolean
  readonly labels: Labelling
}

export function compilePlans(context: PlanContext, plans: readonly NumberedPlan[]): Compilation {
  return {
    slots: context.slots,
    plans: plans.map((days) => ({ days, plan: createPlan(context, days) })),
    labellings: [],
  }
}

/** The widest counterfactual whose days all have prices distinguishes what the narrower ones do. */
const widest = [
  [-1, 1],
  [-1, 0],
  [0, 1],
  [0, 0],
].map(([start, end]) => shifts.findIndex((one) => one[0] === start && one[1] === end))

/** Also distinguishes what counterfactuals do, so that they can be priced from the same sums. */
export function labelCounterfactuals(compilation: Compilation, context: PlanContext): Compilation {
  const labellings = compilation.plans.flatMap(({ days }) => {
    const variants = pricingsOf(context.book, days).map((pricing) => {
      const plans = widest.map((shift) =>
        createCounterfactual(context, days, { shift, pricing, tier: 0 }),
      )
      return plans.find((plan) => 'components' in plan)
    })
    return [
      edgesLabelling(compilation, days),
      ...variants.flatMap((plan) => plan?.components.map(({ segmentOf }) => segmentOf) ?? []),
    ].map((labels) => ({ isWhole: days.isWhole, labels }))
  })
  return { ...compilation, labellings }
}

/** The days around the ends of a plan, each by itself. */
function edgesLabelling({ slots }: Compilation, { from, to }: NumberedPlan): Labelling {
  const edges = [from - 1, from, to, to + 1]
  return Uint8Array.from(slots.periodDay, (day) => edges.indexOf(day) + 1)
}

/** Of each slot 1 where it lies in the days of a plan, else 0. */
export function daysLabelling({ slots }: Compilation, { from, to }: NumberedPlan): Uint8Array {
  const labels = new Uint8Array(slots.count)
  for (let slot = 0; slot < slots.count; slot++) {
    const day = slots.periodDay[slot] as number
    labels[slot] = day >= from && day <= to ? 1 : 0
  }
  return labels
}

/** The price buckets that distinguish what any plan of a scan pass does. */
export function bucketsOf(compilation: Compilation, pass: number): PriceBuckets {
  const variants = compilation.labellings
    .filter(({ isWhole }) => pass === scanPasses.odd || isWhole)
    .map(({ labels }) => labels)
  const labellings = [...planLabellings(compilation, pass), ...variants]
  return createPriceBuckets(compilation.slots.count, labellings)
}

export function plansOf({ plans }: Compilation, pass: number): readonly CompiledPlan[] {
  return plans.filter(({ days }) => pass === scanPasses.odd || days.isWhole)
}

/** What the plans of a scan pass distinguish. */
export function planLabellings(compilation: Compilation, pass: number): readonly Labelling[] {
  return plansOf(compilation, pass).flatMap(({ days, plan }) => [
    daysLabelling(compilation, days),
    ...('components' in plan ? plan.components.map(({ segmentOf }) => segmentOf) : []),
  ])
}

/** A limit that nothing reaches: the ends of Int64. */
const unlimited = { lower: -(2n ** 63n), upper: 2n ** 63n - 1n }
const toLimit = (limit: bigint) => String(limit < unlimited.upper ? limit : unlimited.upper)

/** The buckets of each line of energy, as the store multiplies them with a meter's bucket sums. */
export function toMaskRows(
  compilation: Compilation,
  pass: number,
  classes: PriceBuckets,
): readonly object[] {
  return plansOf(compilation, pass).map(({ days, plan }) => {
    const lines = linesOf(plan)
    const mask = (segmentOf: Uint16Array, segments: readonly number[]) => [
      ...maskOf(classes, segmentOf, segments),
    ]
    return {
      plan: days.plan,
      pass,
      whole: [...maskOf(classes, daysLabelling(compilation, days), [1])],
      through: lines.map(({ segmentOf, line }) => mask(segmentOf, line.through)),
      before: lines.map(({ segmentOf, line }) => mask(segmentOf, line.before)),
      ...limitsOf(lines),
    }
  })
}

/** The limits of each line of energy, millionths of a unit. */
export function limitsOf(lines: readonly PlacedLine[]) {
  return {
    lower: lines.map(({ line }) => toLimit(line.lower ?? unlimited.lower)),
    upper: lines.map(({ line }) => toLimit(line.upper ?? unlimited.upper)),
  }
}

interface PlacedLine {
  readonly line: EnergyLine
  readonly segmentOf: Uint16Array
}

export function linesOf(plan: Plan | Unpriced): readonly PlacedLine[] {
  if ('reason' in plan) return []
  return plan.components.flatMap(({ lines, segmentOf }) =>
    lines.map((line) => ({ line, segmentOf })),
  )
}

/** The lines of a plan in their order: energy, amounts, percents, the minimum. */
export function toPlanRow({ days, plan }: CompiledPlan): object {
  const own = {
    plan: days.plan,
    rate_codes: days.rates.map(({ rateCode }) => rateCode),
    start_date: fromDays(days.from),
    last_date: fromDays(days.to),
  }
  if ('reason' in plan) return { ...own, status: plan.status, reason: plan.reason }
  const { amounts, percents, minimums } = plan.fixed
  const energy = linesOf(plan).map(({ line }) => line)
  const minimum = minimums.slice(-1)
  const lines = [...energy, ...amounts, ...percents, ...minimum]
  const least = minimums.reduce((sum, { amount }) => sum + amount, 0n)
  return {
    ...own,
    commodity: plan.commodity,
    unit: plan.unit,
    resolution: plan.resolution,
    components: lines.map((line) => ('component' in line ? line.component : '')),
    names: lines.map(({ name }) => name),
    kinds: lines.map(({ kind }) => kind),
    tiers: lines.map((line) => ('tier' in line ? line.tier : 0)),
    taxable: lines.map(({ taxable }) => (taxable ? 1 : 0)),
    file_ids: lines.map(({ fileId }) => fileId),
    from_dates: lines.map(({ from }) => fromDays(from)),
    to_dates: lines.map(({ to }) => fromDays(to)),
    prices: energy.map(({ price }) => formatScaled(price, priceDecimals)),
    amounts: amounts.map(({ amount }) => formatDollars(amount)),
    percents: percents.map(({ amount }) => formatScaled(amount, priceDecimals)),
    minimum: minimum.length === 0 ? null : formatDollars(least),
  }
}

/** 10^-12 dollars as the store reads them. */
function formatDollars(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(13, '0')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -12)}.${digits.slice(-12)}`
}
