import { groupRows } from '../lint/finding.js'
import { compileFixed, type FixedCharges } from './fixed.js'
import { flat } from './flat.js'
import type { Component, RateKind, Stretch, Unpriced } from './kind.js'
import type { BillingRules, RateBook } from './rate-book.js'
import { type Slots, slotSeconds } from './slots.js'
import { tiered } from './tiered.js'
import { tou } from './tou.js'

/** The days of one bill by rate code, since 1970, both inclusive, in order and without gaps. */
export interface PlanDays {
  readonly from: number
  readonly to: number
  readonly rates: readonly {
    readonly rateCode: string
    readonly from: number
    readonly to: number
  }[]
}

/** What the bills of all meters with the same rate code and days are priced by. */
export interface Plan {
  readonly components: readonly Component[]
  readonly fixed: readonly FixedCharges[]
  /** The longest interval whose price is known, seconds: 900, 3,600 or 86,400. */
  readonly resolution: number
  readonly commodity: string
  readonly unit: string
}

export interface PlanContext {
  readonly book: RateBook
  readonly slots: Slots
  readonly rules: BillingRules
}

/** The kinds of price, and the `RateType` that each is the energy price of. */
const kinds: Readonly<Record<string, RateKind>> = { TOU: tou, Tiered: tiered, Flat: flat }

/** Makes the plan of a bill, or says why it has no price. */
export function createPlan(context: PlanContext, days: PlanDays): Plan | Unpriced {
  const components: Component[] = []
  const fixed: FixedCharges[] = []
  let unit = ''
  let commodity = ''
  for (const { rateCode, from, to } of days.rates) {
    const code = context.book.codes.get(rateCode)
    if (code === undefined) return { reason: `rate code ${rateCode} is not known` }
    const own = code.row['UnitOfMeasure'] ?? ''
    if (unit !== '' && unit !== own) return { reason: `the unit changes from ${unit} to ${own}` }
    unit = own
    commodity = code.row['Commodity'] ?? ''
    const compiled = compileCode(context, { rateCode, from, to })
    if ('reason' in compiled) return { reason: `rate code ${rateCode}: ${compiled.reason}` }
    components.push(...compiled)
    const rows = context.book.rows('RateFixed', rateCode)
    fixed.push(compileFixed(rows, { from, to, period: days }, context.rules))
  }
  return {
    components,
    fixed,
    resolution: resolutionOf(components, context.slots),
    commodity,
    unit,
  }
}

function compileCode(
  { book, slots, rules }: PlanContext,
  { rateCode, from, to }: PlanDays['rates'][number],
): readonly Component[] | Unpriced {
  const { tierLimitRounding } = rules
  const stretch: Stretch = { slots, from, to, holidays: book.holidays(rateCode), tierLimitRounding }
  const type = book.codes.get(rateCode)?.row['RateType'] ?? ''
  const components: Component[] = []
  const energy: Component[] = []
  for (const [name, kind] of Object.entries(kinds)) {
    const rows = book.rows(kind.feed, rateCode)
    for (const own of groupRows(rows, 'Component')) {
      const component = kind.compile(own, stretch)
      if ('reason' in component) return component
      components.push(component)
      if (name === type) energy.push(component)
    }
  }
  if (energy.length === 0) return { reason: `there is no row of ${kinds[type]?.feed ?? type}` }
  const hole = findHole(energy, stretch)
  return hole === undefined ? components : { reason: hole }
}

/** The first day that no component of the rate's own kind prices. */
function findHole(energy: readonly Component[], { slots, from, to }: Stretch): string | undefined {
  for (let slot = 0; slot < slots.count; slot++) {
    const periodDay = slots.periodDay[slot] as number
    if (periodDay < from || periodDay > to) continue
    if (energy.some(({ segmentOf }) => segmentOf[slot] !== 0)) continue
    const day = new Date((slots.day[slot] as number) * 86_400_000).toISOString().slice(0, 10)
    return `no price on ${day}`
  }
  return undefined
}

/** How long an interval may be that lies in one segment wherever it starts. */
function resolutionOf(components: readonly Component[], slots: Slots): number {
  let resolution = 86_400
  for (const { segmentOf } of components) {
    for (let slot = 1; slot < slots.count; slot++) {
      if (segmentOf[slot] === segmentOf[slot - 1] || slots.day[slot] !== slots.day[slot - 1])
        continue
      if ((slots.quarter[slot] as number) % 4 !== 0) return slotSeconds
      resolution = 3_600
    }
  }
  return resolution
}
