import {
  decimal,
  type Fraction,
  isAbove,
  minus,
  over,
  plus,
  rounded,
  times,
  whole,
  zero,
} from './fraction.js'
import {
  componentsOf,
  type FlatRow,
  isInForce,
  type Tariffs,
  type TierRow,
  type TouRow,
  windowAt,
} from './tariff.js'
import { textOf, type WallCalendar } from './wall-calendar.js'

/** What a meter used from an instant on, in the unit of its rate. */
export interface Use {
  readonly instant: number
  readonly quantity: Fraction
}

/** A bill's meter: the days of the bill, the rate of each of them and the usage. */
export interface MeterUse {
  readonly meter: string
  readonly days: readonly number[]
  readonly rateOn: (day: number) => string
  readonly uses: readonly Use[]
}

/** A line of a bill before it is rounded. */
export interface Line {
  readonly kind: string
  readonly component: string
  readonly name: string
  readonly tier: number
  readonly quantity?: Fraction
  readonly amount: Fraction
  readonly taxable: boolean
}

export interface Pricing {
  readonly tariffs: Tariffs
  readonly calendar: WallCalendar
  readonly untaxed: readonly string[]
  readonly tierLimitRounding: 'none' | 'unit'
  /** Days by which a limit that grows by the day is longer than the bill, as a mistaken biller has it. */
  readonly moreTierDays?: 1 | -1
}

function noPrice(component: string, day: number): Error {
  return new Error(`${component} has no price on ${textOf(day)}`)
}

type Lines = Map<string, Line>

function remember<K, T>(known: Map<K, T>, key: K, find: () => T): T {
  if (!known.has(key)) known.set(key, find())
  return known.get(key) as T
}

function add(lines: Lines, key: string, line: Line): void {
  const known = lines.get(key)
  const quantity = plus(known?.quantity ?? zero, line.quantity ?? zero)
  lines.set(key, { ...line, quantity, amount: plus(known?.amount ?? zero, line.amount) })
}

/** The energy lines of meters of which each is alone with its tiers, or which share them. */
export function priceEnergy(pricing: Pricing, meters: readonly MeterUse[]): readonly Lines[] {
  const { tariffs, calendar, untaxed } = pricing
  const lines = meters.map((): Lines => new Map())
  const uses = meters
    .flatMap(({ meter, uses, rateOn }, at) =>
      uses.map((use) => ({ ...use, ...calendar.toWall(use.instant), at, meter, rateOn })),
    )
    .sort((a, b) => a.instant - b.instant || (a.meter < b.meter ? -1 : 1))
  const windows = new Map<string, TouRow | undefined>()
  const flats = new Map<string, FlatRow | undefined>()
  for (const { at, day, minute, quantity, rateOn } of uses) {
    const rate = rateOn(day)
    const own = lines[at] as Lines
    const line = { kind: 'Energy', tier: 0, quantity }
    for (const component of componentsOf(tariffs.tou, rate, day)) {
      const row = remember(windows, `${rate}|${component}|${day}|${minute}`, () =>
        windowAt(tariffs, { rate, component, day, minute }),
      )
      if (row === undefined) throw noPrice(component, day)
      const taxable = !untaxed.includes(component)
      const amount = times(quantity, decimal(row.amount))
      const hours = `${row.dayType} ${row.startMinute}`
      const key = ['tou', rate, component, row.name, hours, row.from].join('|')
      add(own, key, { ...line, component, name: row.name, amount, taxable })
    }
    for (const component of componentsOf(tariffs.flats, rate, day)) {
      const row = remember(flats, `${rate}|${component}|${day}`, () =>
        tariffs.flats.find(
          (one) => one.rate === rate && one.component === component && isInForce(one, day),
        ),
      )
      if (row === undefined) throw noPrice(component, day)
      const taxable = !untaxed.includes(component)
      const amount = times(quantity, decimal(row.amount))
      const key = ['flat', rate, component, row.from].join('|')
      add(own, key, { ...line, component, name: 'Flat', amount, taxable })
    }
  }
  fillTiers(pricing, { meters, uses, lines })
  return lines
}

interface PlacedUse extends Use {
  readonly at: number
  readonly day: number
  readonly meter: string
  readonly rateOn: (day: number) => string
}

/** Of meters that share their tiers each fills them in turn, within the days of equal prices. */
function fillTiers(
  pricing: Pricing,
  {
    meters,
    uses,
    lines,
  }: {
    readonly meters: readonly MeterUse[]
    readonly uses: readonly PlacedUse[]
    readonly lines: readonly Lines[]
  },
): void {
  const { tariffs, untaxed } = pricing
  const counts = createTierCounts(pricing, meters)
  const components = new Set(tariffs.tiers.map(({ component }) => component))
  for (const component of components) {
    const held = new Map<number, string>()
    const pricesOn = (day: number, rate: string) =>
      remember(held, day, () => {
        const from = tiersOn(tariffs, rate, component, day).map((row) => row.from)
        return `${rateStart(meters, day)} ${from.sort().at(-1) ?? ''}`
      })
    const own = uses
      .filter(({ day, rateOn }) =>
        componentsOf(tariffs.tiers, rateOn(day), day).includes(component),
      )
      .map((use) => ({ ...use, prices: pricesOn(use.day, use.rateOn(use.day)) }))
      .sort(
        (a, b) => compare(a.prices, b.prices) || compare(a.meter, b.meter) || a.instant - b.instant,
      )
    for (const { at, day, quantity, rateOn } of own) {
      const rate = rateOn(day)
      for (const { row, part } of counts.fill({ rate, component, day, quantity })) {
        const key = ['tier', rate, component, row.tier, row.from].join('|')
        add(lines[at] as Lines, key, {
          ...{ kind: 'Energy', component, name: `Tier ${row.tier}`, tier: row.tier },
          quantity: part,
          amount: times(part, decimal(row.amount)),
          taxable: !untaxed.includes(component),
        })
      }
    }
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b))

/** The first day of the bill on which its rate is that of a day, as text that sorts. */
function rateStart(meters: readonly MeterUse[], day: number): string {
  const [one] = meters
  const rate = one?.rateOn(day)
  return String(one?.days.find((other) => one.rateOn(other) === rate) ?? 0).padStart(6, '0')
}

function tiersOn(tariffs: Tariffs, rate: string, component: string, day: number) {
  return tariffs.tiers
    .filter((row) => row.rate === rate && row.component === component && isInForce(row, day))
    .sort((a, b) => a.tier - b.tier)
}

/** The upper limit of a tier over some days: the sum of what each day adds; none for the last. */
function limitOf(rows: readonly TierRow[], days: number): Fraction | undefined {
  const parts = rows.map(({ dailyFactor, periodLimit }) => {
    if (periodLimit !== '') return over(decimal(periodLimit), whole(days))
    return dailyFactor === '' ? undefined : decimal(dailyFactor)
  })
  if (parts.some((part) => part === undefined)) return undefined
  return plus(...(parts as readonly Fraction[]))
}

function between(value: Fraction, lower: Fraction, upper: Fraction | undefined): Fraction {
  const raised = isAbove(lower, value) ? lower : value
  return upper !== undefined && isAbove(raised, upper) ? upper : raised
}

/** What a limit that grows by the day has more if its last day counts twice, or not at all. */
function moreOf({ moreTierDays }: Pricing, rows: readonly TierRow[]): Fraction {
  const { dailyFactor = '', periodLimit = '' } = rows.at(-1) ?? {}
  if (moreTierDays === undefined || periodLimit !== '' || dailyFactor === '') return zero
  return times(whole(moreTierDays), decimal(dailyFactor))
}

/** Fills tiers in the order of time, with the net since the first day, never below 0. */
function createTierCounts(pricing: Pricing, meters: readonly MeterUse[]) {
  const { tariffs, tierLimitRounding } = pricing
  const nets = new Map<string, Fraction>()
  const held = new Map<string, readonly TierRow[]>()
  const limits = new Map<string, readonly (Fraction | undefined)[]>()
  const limitsOf = (rate: string, component: string) => {
    const key = `${rate}|${component}`
    const known = limits.get(key)
    if (known !== undefined) return known
    const all = [...new Set(meters.flatMap(({ days }) => days))]
    const days = all.filter((day) =>
      meters.some((one) => one.days.includes(day) && one.rateOn(day) === rate),
    )
    const tiers = tiersOn(tariffs, rate, component, days[0] ?? 0).map(({ tier }) => tier)
    const found = tiers.map((tier) => {
      const rows = days.flatMap((day) =>
        tiersOn(tariffs, rate, component, day).filter((row) => row.tier === tier),
      )
      const own = limitOf(rows, all.length)
      const limit = own && plus(own, days.at(-1) === all.at(-1) ? moreOf(pricing, rows) : zero)
      return limit && rounded(limit, tierLimitRounding === 'unit' ? 0 : 6)
    })
    limits.set(key, found)
    return found
  }
  return {
    fill: (at: {
      readonly rate: string
      readonly component: string
      readonly day: number
      readonly quantity: Fraction
    }) => {
      const key = `${at.rate}|${at.component}`
      const before = nets.get(key) ?? zero
      const after = plus(before, at.quantity)
      nets.set(key, after)
      const uppers = limitsOf(at.rate, at.component)
      const rows = remember(held, `${key}|${at.day}`, () =>
        tiersOn(tariffs, at.rate, at.component, at.day),
      )
      if (rows.length === 0) throw noPrice(at.component, at.day)
      return rows.map((row, tier) => {
        const lower = tier === 0 ? zero : (uppers[tier - 1] ?? zero)
        const upper = uppers[tier]
        const part = minus(between(after, lower, upper), between(before, lower, upper))
        return { row, part }
      })
    },
  }
}
