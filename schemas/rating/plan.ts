import { fromDays, groupRows } from '../lint/finding.js'
import { energyComponent, isRenamed, toComponents } from '../lint/seasons.js'
import type { BillingRules } from '../settings/billing.js'
import { compileFixed, compilePerUnit, type FixedCharges } from './fixed.js'
import { flat } from './flat.js'
import type { Component, RateInterval, RateKind, Unpriced } from './kind.js'
import type { RateBook, RateRow } from './rate-book.js'
import { type Slots, slotSeconds } from './slots.js'
import { tiered } from './tiered.js'
import { tou } from './tou.js'

/** The days of one bill by rate code, since 1970, both inclusive, in order and without gaps. */
export interface PlanDays {
  readonly from: number
  readonly to: number
  readonly rates: readonly RateDays[]
  /** Days that limits of tiers are longer than the bill; none where not given. */
  readonly moreTierDays?: number
}

export interface RateDays {
  readonly rateCode: string
  readonly from: number
  readonly to: number
}

/** What the bills of all meters with the same rate codes and days are priced by. */
export interface Plan {
  readonly components: readonly Component[]
  readonly fixed: FixedCharges
  /** The longest interval whose price is known, seconds: 900, 1,800, 3,600 or 86,400. */
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
  const { book, slots, rules } = context
  const components: Component[] = []
  const fixed: FixedCharges[] = []
  const units = new Set<string>()
  let commodity = ''
  for (const { rateCode, from, to } of days.rates) {
    const code = book.codes.get(rateCode)?.row
    if (code === undefined) {
      return { status: 'noRate', reason: `rate code ${JSON.stringify(rateCode)} is not known` }
    }
    units.add(code['UnitOfMeasure'] ?? '')
    commodity = code['Commodity'] ?? ''
    const moreTierDays = to === days.to ? (days.moreTierDays ?? 0) : 0
    const periodDays = days.to - days.from + 1
    const compiled = compileCode(context, { rateCode, from, to }, { moreTierDays, periodDays })
    if ('reason' in compiled) {
      return { ...compiled, reason: `rate code ${rateCode}: ${compiled.reason}` }
    }
    components.push(...compiled)
    const rows = book.rows('RateFixed', rateCode)
    fixed.push(compileFixed(rows, { from, to, period: days }, rules))
  }
  if (units.size > 1) {
    return { status: 'unit', reason: `the rate codes are priced in ${[...units].join(' and ')}` }
  }
  return {
    components,
    fixed: {
      amounts: fixed.flatMap(({ amounts }) => amounts),
      percents: fixed.flatMap(({ percents }) => percents),
      minimums: fixed.flatMap(({ minimums }) => minimums),
    },
    resolution: resolutionOf(components, slots),
    commodity,
    unit: [...units].join(),
  }
}

function compileCode(
  { book, slots, rules }: PlanContext,
  { rateCode, from, to }: RateDays,
  days: Pick<RateInterval, 'moreTierDays' | 'periodDays'>,
): readonly Component[] | Unpriced {
  const { tierLimitRounding } = rules
  const isTaxed = (component: string) => !rules.untaxed.includes(component)
  const holidays = book.holidays(rateCode)
  const limits = { tierLimitRounding, ...days }
  const interval: RateInterval = { slots, from, to, holidays, isTaxed, ...limits }
  const type = book.codes.get(rateCode)?.row['RateType'] ?? ''
  const components: Component[] = []
  const energyNames = new Set<string>()
  for (const [name, kind] of Object.entries(kinds)) {
    const rows = book.rows(kind.feed, rateCode)
    for (const own of groupRows(rows, 'Component')) {
      const component = kind.compile(own, interval)
      if ('reason' in component) return component
      components.push(component)
      if (name === type) energyNames.add(component.name)
    }
  }
  if (energyNames.size === 0) {
    return { status: 'noRate', reason: `there is no row of ${kinds[type]?.feed ?? type}` }
  }
  const rows = Object.values(kinds).flatMap(({ feed }) => book.rows(feed, rateCode))
  const main = needsEnergy(rows) ? components.filter(({ name }) => name === energyComponent) : []
  // Before it had this type, the rate may have priced the same component by another.
  const energy = components.filter(({ name }) => energyNames.has(name))
  const hole = findHole(energy, interval)
  if (hole !== undefined) return { status: 'noPrice', reason: `no price on ${hole}` }
  const unpriced = main.length > 0 ? findHole(main, interval) : undefined
  if (unpriced !== undefined)
    return { status: 'noPrice', reason: `no price of ${energyComponent} on ${unpriced}` }
  return [...components, ...compilePerUnit(book.rows('RateFixed', rateCode), interval)]
}

/**
 * Whether each day needs a price of the energy itself. Other components may end, as riders do, and a
 * rate may name its energy otherwise.
 */
function needsEnergy(rows: readonly RateRow[]): boolean {
  const components = toComponents(rows)
  const energy = components.find(({ name }) => name === energyComponent)
  return energy !== undefined && !isRenamed(energy, components)
}

/** The first day that none of the components prices. */
function findHole(
  components: readonly Component[],
  { slots, from, to }: RateInterval,
): string | undefined {
  const isPriced = new Uint8Array(slots.count)
  for (const { segmentOf } of components) {
    for (let slot = 0; slot < slots.count; slot++) isPriced[slot] ||= segmentOf[slot] === 0 ? 0 : 1
  }
  for (let slot = 0; slot < slots.count; slot++) {
    const periodDay = slots.periodDay[slot] as number
    if (periodDay < from || periodDay > to || isPriced[slot] === 1) continue
    return fromDays(slots.day[slot] as number)
  }
  return undefined
}

/** How long an interval may be that has one price wherever it starts. */
function resolutionOf(components: readonly Component[], slots: Slots): number {
  let resolution = 86_400
  for (const { segmentOf } of components) {
    for (let slot = 1; slot < slots.count; slot++) {
      if (segmentOf[slot] === segmentOf[slot - 1]) continue
      const isNewDay = slots.day[slot] !== slots.day[slot - 1]
      const isNewPeriodDay = slots.periodDay[slot] !== slots.periodDay[slot - 1]
      if (isNewDay || isNewPeriodDay) continue
      const quarter = slots.quarter[slot] as number
      if (quarter % 2 !== 0) return slotSeconds
      // A clock may jump over the hour of a price by half an hour.
      resolution = Math.min(resolution, quarter % 4 === 0 ? 3_600 : 1_800)
    }
  }
  return resolution
}
