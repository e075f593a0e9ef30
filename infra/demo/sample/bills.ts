import { addDays, createZone, dayAt } from '../../../schemas/time/zone.js'
import type { DemoMeter } from '../customers.js'
import { drawUse, quantityMilli, usageSlots } from '../usage-rows.js'
import { atFormerPrice, billOf, cents, firstDay, gasCost, priceAt } from './rates.js'
import { type Delivery, sampleUsage } from './usage.js'

/** Billing cycles of the demo utility; cycle n begins on day n of each month. */
const cycleCount = 20
/** Periods with all reads, and the periods of the schedule. */
const periodsBilled = 12
const periodsScheduled = 16

interface Period {
  readonly first: string
  readonly last: string
}

/** What the utility charged for a meter and a period. */
export interface BillRow extends Period {
  readonly meter: DemoMeter
  readonly quantity: number
  readonly cost: number
  readonly tax: number
  readonly document: string
}

/** A bill with a mistake of the utility that the comparison has to find. */
export interface PlantedFault {
  readonly what: string
  readonly account: string
  readonly meter: string
  readonly cycle: string
  readonly period: string
}

/** The periods of a cycle in order. */
function periodsOf(cycle: string): readonly Period[] {
  return Array.from({ length: periodsScheduled }, (_, index) => ({
    first: dayOf(cycle, index),
    last: addDays(dayOf(cycle, index + 1), -1),
  }))
}

function dayOf(cycle: string, months: number): string {
  const [year, month] = firstDay.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, month - 1 + months, Number(cycle))).toISOString().slice(0, 10)
}

/** The schedule of meter reading as a file. */
export function cycleLines(): readonly string[] {
  const cycles = Array.from({ length: cycleCount }, (_, index) => String(index + 1))
  const rows = cycles.flatMap((cycle) =>
    periodsOf(cycle).map(({ first, last }) => `${cycle},${first},${last}`),
  )
  return ['BillingCycleID,StartDate,EndDate', ...rows]
}

/**
 * The bills of the periods that have all reads, priced here and not by Tieline: what a utility's own
 * system would charge. The period in which a tenant moves is billed later.
 */
function rightBills(deliveries: readonly Delivery[]): readonly BillRow[] {
  const sums = new Map<string, Sum>()
  for (const delivery of deliveries) addUp(delivery, sums)
  const accounts = new Map<string, number>()
  const placeOf = ({ meter, period }: Sum): string => `${meter.meterId} ${period}`
  for (const sum of sums.values()) accounts.set(placeOf(sum), (accounts.get(placeOf(sum)) ?? 0) + 1)
  return [...sums.values()]
    .filter((sum) => accounts.get(placeOf(sum)) === 1)
    .map(({ milli, energy, meter, period }, index) => {
      const { first, last } = periodsOf(meter.billingCycleId)[period] as Period
      const quantity = milli / 1_000
      const days = (Date.parse(last) - Date.parse(first)) / 86_400_000 + 1
      const document = String(8_100_000_001 + index)
      return {
        meter,
        first,
        last,
        document,
        quantity,
        ...billOf(meter.rateCode, { quantity, energy, days }),
      }
    })
}

interface Sum {
  readonly meter: DemoMeter
  readonly period: number
  milli: number
  energy: number
}

/** Adds the reads of a delivery to the sums of each account, meter and period. */
function addUp(delivery: Delivery, sums: Map<string, Sum>): void {
  const zone = createZone(delivery.zone)
  const slots = usageSlots(delivery).map(({ startsAt, peakMilli }) => {
    const { hour } = zone.toWall(startsAt)
    return { day: dayAt(zone, new Date(startsAt * 1_000)), hour, peakMilli }
  })
  const days = slots.map(({ day }) => day)
  const periods = remember((cycle) => periodsAt(cycle, days))
  const prices = remember((rateCode) => slots.map((slot) => priceAt(rateCode, slot)))
  for (const [index, meter] of delivery.meters.entries()) {
    const [own, price] = [periods(meter.billingCycleId), prices(meter.rateCode)]
    const found: Sum[] = []
    for (const [position, { peakMilli }] of slots.entries()) {
      const period = own[position] as number
      if (period < 0) continue
      const milli = quantityMilli(drawUse(delivery.seed, index, position), peakMilli)
      const sum = found[period] ?? sumOf(sums, meter, period)
      found[period] = sum
      sum.milli += milli
      sum.energy += (milli / 1_000) * (price[position] as number)
    }
  }
}

function sumOf(sums: Map<string, Sum>, meter: DemoMeter, period: number): Sum {
  const key = `${meter.accountNumber} ${meter.meterId} ${period}`
  const sum = sums.get(key) ?? { meter, period, milli: 0, energy: 0 }
  sums.set(key, sum)
  return sum
}

/** For each day the number of its billed period, or -1. */
function periodsAt(cycle: string, days: readonly string[]): readonly number[] {
  const periods = periodsOf(cycle).slice(0, periodsBilled)
  const found = remember((day) =>
    periods.findIndex(({ first, last }) => first <= day && day <= last),
  )
  return days.map(found)
}

function remember<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>()
  return (name) => {
    const value = made.get(name) ?? make(name)
    made.set(name, value)
    return value
  }
}

interface SampleBills {
  readonly bills: readonly BillRow[]
  readonly faults: readonly PlantedFault[]
}

/** The wrong bills, the one that is explained first at the beginning. */
export function sampleFaults(): readonly PlantedFault[] {
  return sampleBills(sampleUsage().deliveries).faults
}

/** The bills that the utility sends: a few of its latest ones are wrong. */
export function sampleBills(deliveries: readonly Delivery[]): SampleBills {
  const right = rightBills(deliveries)
  const faults: PlantedFault[] = []
  const wrong = new Map<BillRow, BillRow>()
  for (const { what, rateCode, change } of mistakes) {
    const bill = right.find(
      (one) => one.meter.rateCode === rateCode && isLatest(one) && !wrong.has(one),
    )
    if (bill === undefined) continue
    wrong.set(bill, { ...bill, ...change(bill) })
    const { accountNumber: account, meterId: meter, billingCycleId: cycle } = bill.meter
    faults.push({ what, account, meter, cycle, period: bill.first })
  }
  return { bills: right.map((bill) => wrong.get(bill) ?? bill), faults }
}

/** Whether it is a bill of the last period that has all reads. */
export function isLatest({ meter, first }: BillRow): boolean {
  return first === dayOf(meter.billingCycleId, periodsBilled - 1)
}

const mistakes: readonly {
  readonly what: string
  readonly rateCode: string
  readonly change: (bill: BillRow) => Partial<BillRow>
}[] = [
  {
    what: 'the price before the change was charged for all days',
    rateCode: 'RES-FLAT',
    change: ({ quantity }) =>
      billOf('RES-FLAT', { quantity, energy: atFormerPrice(quantity), days: 0 }),
  },
  {
    what: 'no tax was charged',
    rateCode: 'RES-TOU',
    change: ({ cost, tax }) => ({ cost: cents(cost - tax), tax: 0 }),
  },
  {
    what: 'a quarter more than the meter counted was charged',
    rateCode: 'GAS-FLAT',
    change: (bill) => {
      const quantity = bill.quantity * 1.25
      return { quantity, ...billOf('GAS-FLAT', { quantity, energy: gasCost(quantity), days: 0 }) }
    },
  },
]
