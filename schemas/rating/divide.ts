import { daySeconds } from '../time/zone.js'
import { divideRounded } from './amount.js'
import { slotSeconds } from './slots.js'

/**
 * A bill with the prices of its plan. Usage is in millionths of the unit, amounts are in millionths of a
 * dollar, prices and percents in billionths; days are counted from 1970. The lines are those of energy, then
 * constant charges, percentages and perhaps a minimum.
 */
export interface DividedBill {
  readonly firstDay: number
  readonly lastDay: number
  /** Undefined for a bill that could not be computed; its days have no costs. */
  readonly total: bigint | undefined
  readonly lineAmounts: readonly bigint[]
  /** Of all usage, then of each energy line: what had filled it before the first day and by the end of each. */
  readonly used: readonly (readonly bigint[])[]
  /** Epoch seconds: of each day of the plan, of all projected days as one, and the end. */
  readonly dayStarts: readonly number[]
  /** The local day of each of `dayStarts` but the end. */
  readonly days: readonly number[]
  /** Whether the last of those days are projected. */
  readonly isAhead: boolean
  /** Of each day: the price class of each quarter hour. */
  readonly dayClasses: readonly (readonly number[])[]
  /** Of each energy line: whether it prices a class. */
  readonly lineClasses: readonly (readonly number[])[]
  readonly lowers: readonly bigint[]
  readonly uppers: readonly bigint[]
  readonly prices: readonly bigint[]
  readonly percents: readonly bigint[]
  /** How many charges are constant. */
  readonly constants: number
  /** Of each line: whether percentages apply to it. */
  readonly taxable: readonly boolean[]
  /** Of each line: its days. */
  readonly fromDays: readonly number[]
  readonly toDays: readonly number[]
}

/** A local day of a bill, or all its projected days. `lineCosts` has the rounding of the total at the end. */
export interface DayOfBill {
  readonly day: number
  readonly days: number
  readonly isProjected: boolean
  readonly startsAt: number
  readonly endsAt: number
  readonly used: bigint
  /** What had filled each energy line before the day. */
  readonly filled: readonly bigint[]
  readonly classes: readonly number[]
  /** Empty for a bill that could not be computed. */
  readonly lineCosts: readonly bigint[]
}

/** A sum that grows, by day or by interval. */
type Line = readonly bigint[]

const nano = 1_000_000_000n
const hundredNano = 100n * nano

/** The days of a bill with what each cost, as the view `bill_day` has them. */
export function divideBill(bill: DividedBill): readonly DayOfBill[] {
  const isUsed = bill.used.length > 0
  const days = isUsed ? bill.days : [bill.firstDay]
  const untils = days.map((day, at) => (days[at + 1] ?? Math.max(bill.lastDay, day) + 1) - 1)
  const costs = isUsed && bill.total !== undefined ? dayCosts(bill, untils, bill.total) : []
  const end = bill.dayStarts.at(-1) as number
  const [all = [], ...lines] = bill.used
  return days.map((day, at) => ({
    day,
    days: (untils[at] as number) - day + 1,
    isProjected: isUsed && bill.isAhead && at === days.length - 1,
    startsAt: bill.dayStarts[at] as number,
    endsAt: isUsed ? (bill.dayStarts[at + 1] as number) : end,
    used: isUsed ? (all[at + 1] as bigint) - (all[at] as bigint) : 0n,
    filled: lines.map((line) => line[at] as bigint),
    classes: bill.dayClasses[at] ?? [],
    lineCosts: costs.map((line) => stepAt(line, at)),
  }))
}

/** What each line cost by the end of each day. The last day of the bill has what rounding leaves over. */
function dayCosts(bill: DividedBill, untils: readonly number[], total: bigint): readonly Line[] {
  const { firstDay, lastDay, lineAmounts, prices, percents, constants, taxable } = bill
  const closing = bill.days.filter((day) => day <= lastDay).length - 1
  const closed = (line: Line, amount: bigint): Line => {
    const rest = amount - (line.at(-1) as bigint)
    return line.map((cost, at) => (at >= closing ? cost + rest : cost))
  }
  const shares = (amount: bigint, from: number, to: number): Line =>
    untils.map((until) => {
      const days = Math.min(Math.max(until - from + 1, 0), to - from + 1)
      return (amount * BigInt(days)) / BigInt(to - from + 1)
    })
  const energies = prices.map((price, line) => {
    const [before, ...filled] = bill.used[line + 1] as Line
    const raw = priced(bill, line, { before: before as bigint, filled, price })
    return closed(raw, lineAmounts[line] as bigint)
  })
  const ofPercents = prices.length + constants
  const constant = lineAmounts.slice(prices.length, ofPercents).map((amount, at) => {
    const line = prices.length + at
    return shares(amount, bill.fromDays[line] as number, bill.toDays[line] as number)
  })
  const taxed = taxedOf([...energies, ...constant], taxable, untils.length)
  const percent = percents.map((rate, at) =>
    closed(percentOf(taxed, rate), lineAmounts[ofPercents + at] as bigint),
  )
  const minimum = lineAmounts
    .slice(ofPercents + percents.length)
    .map((amount) => shares(amount, firstDay, lastDay))
  const rest = total - lineAmounts.reduce((sum, amount) => sum + amount, 0n)
  const rounding = untils.map((_, at) => (at >= closing ? rest : 0n))
  return [...energies, ...constant, ...percent, ...minimum, rounding]
}

interface Filling {
  readonly before: bigint
  readonly filled: Line
  readonly price: bigint
}

/** What an energy line cost by each filling, from that before on. */
function priced(
  { lowers, uppers }: Pick<DividedBill, 'lowers' | 'uppers'>,
  line: number,
  { before, filled, price }: Filling,
): Line {
  const [low, high] = [lowers[line] as bigint, uppers[line] as bigint]
  const within = (fill: bigint) => (fill < low ? low : fill > high ? high : fill)
  return filled.map((fill) => divideRounded((within(fill) - within(before)) * price, nano))
}

/** What percentages apply to, by the end of each step. */
function taxedOf(lines: readonly Line[], taxable: readonly boolean[], steps: number): Line {
  const taxed = lines.filter((_, line) => taxable[line])
  return Array.from({ length: steps }, (_, at) =>
    taxed.reduce((sum, line) => sum + (line[at] as bigint), 0n),
  )
}

function percentOf(taxed: Line, rate: bigint): Line {
  return taxed.map((cost) => divideRounded(cost * rate, hundredNano))
}

function stepAt(line: Line, at: number): bigint {
  return (line[at] as bigint) - (at === 0 ? 0n : (line[at - 1] as bigint))
}

/** A read of a bill: its start in epoch seconds and its quantity in millionths of the bill's unit. */
export type BilledRead = readonly [start: number, micros: bigint]

/**
 * What each line cost in each read of a day, as the view `interval_cost` has it; the reads are of one length,
 * in order. Without reads the day is one interval.
 */
export function divideDay(
  bill: DividedBill,
  day: DayOfBill,
  { reads, seconds }: { readonly reads: readonly BilledRead[]; readonly seconds: number },
): readonly (readonly bigint[])[] {
  if (day.lineCosts.length === 0) return reads.map(() => [])
  if (reads.length === 0) return [day.lineCosts]
  const isByQuarter = seconds === slotSeconds && reads.length === day.classes.length
  const classOf = (start: number, at: number) =>
    day.classes[isByQuarter ? at : quarterOf(day, start, seconds)] as number
  const closed = (line: Line, cost: bigint): Line => [...line.slice(0, -1), cost]
  const shares = (cost: bigint): Line =>
    reads.map((_, at) => (cost * BigInt(at + 1)) / BigInt(reads.length))
  const energies = bill.prices.map((price, line) => {
    const before = day.filled[line] as bigint
    const filled: bigint[] = []
    let fill = before
    for (const [at, [start, micros]] of reads.entries()) {
      if (bill.lineClasses[line]?.[classOf(start, at) - 1]) fill += micros
      filled.push(fill)
    }
    return closed(priced(bill, line, { before, filled, price }), day.lineCosts[line] as bigint)
  })
  const ofPercents = energies.length + bill.constants
  const constant = day.lineCosts.slice(energies.length, ofPercents).map(shares)
  const taxed = taxedOf([...energies, ...constant], bill.taxable, reads.length)
  const percent = bill.percents.map((rate, at) =>
    closed(percentOf(taxed, rate), day.lineCosts[ofPercents + at] as bigint),
  )
  const others = day.lineCosts.slice(ofPercents + percent.length).map(shares)
  const lines = [...energies, ...constant, ...percent, ...others]
  return reads.map((_, at) => lines.map((line) => stepAt(line, at)))
}

/** The quarter hour of a day in which a read starts, below 0 ahead of it; one of a day is at noon, at whatever hour it starts. */
export function quarterOf(
  { startsAt }: Pick<DayOfBill, 'startsAt'>,
  start: number,
  seconds: number,
): number {
  return seconds >= daySeconds ? 48 : Math.floor((start - startsAt) / slotSeconds)
}
