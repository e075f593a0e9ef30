import { setImmediate as turn } from 'node:timers/promises'
import type { Granularity } from '../../../schemas/gateway/reads.js'
import { groupBy } from '../../../schemas/lists/group-by.js'
import { parseTotal } from '../../../schemas/quantity.js'
import {
  type BilledRead,
  type DayOfBill,
  divideBill,
  divideDay,
  quarterOf,
} from '../../../schemas/rating/divide.js'
import { addDays } from '../../../schemas/time/zone.js'
import { type BillsWanted, type LineName, type OwnBill, readMeterBills } from './bills.js'
import type { DayRange, OwnHold, RowSource } from './holds.js'
import type { OneRead } from './reads.js'

export interface CostsWanted extends BillsWanted {
  readonly granularity: Granularity
  /** All bills where it is not given. */
  readonly isWanted?: (bill: OwnBill) => boolean
}

/** Reads of stretches on the days that are wanted. */
export type ReadsOf = (holds: readonly OwnHold[]) => Promise<readonly OneRead[]>

/** What a bill says of a part of a local day, or of more days. Instants are epoch seconds. */
export interface CostRow {
  readonly day: string
  readonly from: number
  readonly to: number
  /** Length of the read that it is of, in seconds; 0 if it is of none. */
  readonly read: number
  /** Whether it is longer than a bucket may be, so that none may divide it. */
  readonly isWhole: boolean
  readonly isProjected: boolean
  /** Of a projected row, in millionths of the unit. */
  readonly used: bigint
  readonly unit: string
  readonly status: string
  readonly lines: readonly LineName[]
  /** Of each line and of rounding, in millionths of a dollar; empty for a bill that could not be computed. */
  readonly costs: readonly bigint[]
}

/**
 * What the customer's bills cost on some days, as points divide them: with `granularity` `interval` and
 * `hour` a row of each interval, else of each local day.
 */
export async function readBillCosts(
  source: RowSource,
  wanted: CostsWanted,
  readsOf: ReadsOf,
): Promise<readonly CostRow[]> {
  const rows: CostRow[] = []
  const bills = await readMeterBills(source, wanted)
  for (const bill of bills.filter(wanted.isWanted ?? (() => true))) {
    await turn() // Others of the process come first: a bill of intervals takes milliseconds.
    const days = divideBill(bill).filter(({ day }) => isAmong(wanted.days, day))
    rows.push(
      ...(wanted.granularity === 'interval' || wanted.granularity === 'hour'
        ? intervalRows(wanted, { bill, days, reads: await readsOf(bill.holds) })
        : days.map((day) => dayRow(bill, day, wanted.granularity))),
    )
  }
  return rows
}

const dayText = (day: number) => addDays('1970-01-01', day)

function isAmong({ from, to }: DayRange, day: number): boolean {
  const text = dayText(day)
  return text >= from && text <= to
}

function dayRow(bill: OwnBill, one: DayOfBill, granularity: Granularity): CostRow {
  return {
    day: dayText(one.day),
    from: one.startsAt,
    to: one.endsAt,
    read: 0,
    isWhole: one.isProjected || (granularity === 'day' && one.days > 1),
    isProjected: one.isProjected,
    used: one.used,
    ...{ unit: bill.unit, status: bill.status, lines: bill.lines, costs: one.lineCosts },
  }
}

interface DividedDays {
  readonly bill: OwnBill
  readonly days: readonly DayOfBill[]
  readonly reads: readonly OneRead[]
}

/** The reads of a bill on one local day: of the shortest length that it has. */
interface ReadsOfDay {
  readonly seconds: number
  readonly reads: readonly BilledRead[]
}

function intervalRows(
  { granularity }: Pick<CostsWanted, 'granularity'>,
  { bill, days, reads: read }: DividedDays,
): readonly CostRow[] {
  const readsByDay = new Map(groupBy(read, ({ day }) => day).map((own) => [own[0].day, own]))
  return days.flatMap((day) => {
    const { seconds, reads } = billedOn(bill, day, readsByDay.get(dayText(day.day)) ?? [])
    const isLonger = day.isProjected || seconds > 3_600
    const row = {
      ...dayRow(bill, day, granularity),
      isWhole: granularity === 'interval' || isLonger,
    }
    const costs = divideDay(bill, day, { reads, seconds })
    if (reads.length === 0) return [row]
    return reads.map(([start], at) => ({
      ...row,
      from: start,
      to: start,
      read: seconds,
      costs: costs[at] as readonly bigint[],
    }))
  })
}

/** The reads that lie in the bill's part of a day; without any, that part as one. */
function billedOn(bill: OwnBill, day: DayOfBill, all: readonly OneRead[]): ReadsOfDay {
  const seconds = Math.min(...all.map((read) => read.seconds))
  const reads = all
    .filter((read) => read.seconds === seconds)
    .map(
      ({ start, quantity }): BilledRead => [start, (parseTotal(quantity) as bigint) / bill.perUnit],
    )
    .filter(([start]) => isAmongPlaces(day, quarterOf(day, start, seconds)))
  return reads.length === 0 ? { seconds: day.endsAt - day.startsAt, reads } : { seconds, reads }
}

const isAmongPlaces = ({ classes }: DayOfBill, place: number) =>
  place >= 0 && place < classes.length
