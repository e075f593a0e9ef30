import type { EnergyLine } from '../../../schemas/rating/kind.js'
import {
  createPriceBuckets,
  type Labelling,
  maskOf,
  type PriceBuckets,
} from '../../../schemas/rating/price-buckets.js'
import { type Slots, slotSeconds } from '../../../schemas/rating/slots.js'
import {
  type Compilation,
  type CompiledPlan,
  daysLabelling,
  limitsOf,
  linesOf,
} from '../compile.js'
import type { NumberedPlan } from '../members.js'

/** Slots of a plan whose costs are one sum: a local day, or all days that are projected. */
interface Span {
  /** Days since 1970, of the first slot. */
  readonly day: number
  readonly isAhead: boolean
  readonly from: number
  /** Exclusive. */
  to: number
}

/** The local days of a plan in their order, then what is projected as one. */
function spansOf(slots: Slots, days: NumberedPlan, lastActual: number): readonly Span[] {
  const spans: Span[] = []
  for (let slot = 0; slot < slots.count; slot++) {
    const [day, periodDay] = [slots.day[slot] as number, slots.periodDay[slot] as number]
    if (periodDay < days.from || periodDay > days.to) continue
    const isAhead = periodDay > lastActual
    const last = spans.at(-1)
    if (last?.isAhead === isAhead && (isAhead || last.day === day)) last.to = slot + 1
    else spans.push({ day, isAhead, from: slot, to: slot + 1 })
  }
  return spans
}

/** Segments whose usage is only this line's: those of a tier without the tiers below it. */
const ownSegments = ({ through, before }: EnergyLine): readonly number[] =>
  through.filter((segment) => !before.includes(segment))

/**
 * Buckets of a single local day each, the earlier day first, that distinguish what some labellings do; those
 * outside the plans' days are of no day. A day on which the projection begins has its part ahead apart: reads
 * of it may be there, and count for nothing.
 */
export function dayBucketsOf(
  compilation: Compilation,
  labellings: Iterable<Labelling>,
): PriceBuckets {
  const { slots, lastActual = Infinity } = compilation
  const isOfSome = new Uint8Array(slots.count)
  for (const { days } of compilation.plans) {
    daysLabelling(compilation, days).forEach((label, slot) => {
      isOfSome[slot] ||= label
    })
  }
  const first = slots.day[0] as number
  const isAhead = (slot: number) => Number((slots.periodDay[slot] as number) > lastActual)
  const labels = slots.day.map((day, slot) =>
    isOfSome[slot] === 0 ? 0 : 2 * (day - first) + isAhead(slot) + 1,
  )
  return createPriceBuckets(slots.count, [...labellings, labels])
}

/** How a plan's daily sums are cut: the buckets of all usage and of each line, and the last of each day. */
export function toDayMasks(compilation: Compilation, one: CompiledPlan, buckets: PriceBuckets) {
  const { slots, lastActual = Infinity } = compilation
  const mask = (labels: Labelling, segments: readonly number[]) => [
    ...maskOf(buckets, labels, segments),
  ]
  const ends = new Array<number>(buckets.count).fill(0)
  for (const { isAhead, from, to } of spansOf(slots, one.days, lastActual)) {
    const last = buckets.bucketOf.subarray(from, to).reduce((a, b) => Math.max(a, b), 0)
    if (!isAhead) ends[last] = 1
  }
  return {
    day_masks: [
      mask(daysLabelling(compilation, one.days), [1]),
      ...linesOf(one.plan).map(({ segmentOf, line }) => mask(segmentOf, ownSegments(line))),
    ],
    day_ends: ends,
  }
}

/** What a plan's row says of its days, by which the costs of days and intervals are computed. */
export function toDayColumns(compilation: Compilation, { days, plan }: CompiledPlan): object {
  const { slots, lastActual = Infinity } = compilation
  const lines = linesOf(plan)
  const classes = createPriceBuckets(
    slots.count,
    lines.map(({ segmentOf }) => segmentOf),
  )
  const spans = spansOf(slots, days, lastActual)
  const { lower, upper } = limitsOf(lines)
  return {
    day_starts: [...spans.map(({ from }) => from), spans.at(-1)?.to ?? 0].map(
      (slot) => slots.startsAt + slot * slotSeconds,
    ),
    is_ahead: spans.at(-1)?.isAhead ?? false,
    day_classes: spans.map(({ isAhead, from, to }) =>
      isAhead ? [] : Array.from(classes.bucketOf.subarray(from, to), (one) => one + 1),
    ),
    line_classes: lines.map(({ segmentOf, line }) => [
      ...maskOf(classes, segmentOf, ownSegments(line)),
    ]),
    lowers: lower,
    uppers: upper,
  }
}
