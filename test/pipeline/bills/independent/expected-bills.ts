import { type BillingTerms, computeBills } from './bill.js'
import type { MeterUse, Use } from './energy.js'
import { type Fraction, over, plus, times, whole, zero } from './fraction.js'
import type { Frame } from './frames.js'
import { project } from './projection.js'
import { type RandomMeter, type RecordFrom, recordOn } from './random-customers.js'
import { componentsOf, hasEnergy, kindOfDay, windowAt } from './tariff.js'
import { dayOf, daysBetween, textOf } from './wall-calendar.js'

export interface ExpectedLine {
  readonly kind: string
  readonly component: string
  readonly name: string
  readonly tier: number
  readonly quantity?: Fraction
  readonly amount: Fraction
}

export interface ExpectedBill {
  readonly meter: RandomMeter
  readonly account: string
  readonly first: string
  readonly last: string
  readonly status: string
  readonly method: string
  readonly daysProjected: number
  readonly quantity: Fraction
  readonly lines: readonly ExpectedLine[]
  readonly total?: Fraction
}

export interface Terms extends BillingTerms {
  readonly tierScope: 'meter' | 'account'
  readonly presentShareMin: number
  /** Whether missing reads are taken to be like those that are there, as a biller who has all sees them. */
  readonly fillsGaps?: boolean
}

interface Member extends MeterUse {
  readonly of: RandomMeter
  readonly account: string
  readonly status: string
  readonly method: string
  readonly daysProjected: number
}

/** All bills of a frame, of customers without a bill too. */
export function expectBills(
  terms: Terms,
  frame: Frame,
  meters: readonly RandomMeter[],
): readonly ExpectedBill[] {
  const tenancies = meters.flatMap((of) => tenanciesOf(of, frame))
  const lastActual = lastActualDay(terms, frame, tenancies)
  const members = tenancies.map((one) => toMember(terms, { ...one, frame, lastActual }))
  const groups = new Map<string, Member[]>()
  for (const one of members) {
    const key = terms.tierScope === 'account' ? one.account : `${one.meter} ${one.account}`
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()].flatMap((group) => billsOf(terms, group))
}

interface Tenancy {
  readonly of: RandomMeter
  readonly account: string
  readonly days: readonly number[]
}

const isOneAccount = (a: RecordFrom, b: RecordFrom) => a.account === b.account

/** The days of a frame on which a meter had its cycle, cut where another account begins. */
function tenanciesOf(of: RandomMeter, frame: Frame): readonly Tenancy[] {
  const days = daysBetween(dayOf(frame.first), dayOf(frame.last)).filter(
    (day) => recordOn(of.records, day).cycle === frame.cycle,
  )
  const cuts: number[][] = []
  for (const day of days) {
    const last = cuts.at(-1)
    const before = last?.at(-1)
    const isNext =
      before === day - 1 && isOneAccount(recordOn(of.records, before), recordOn(of.records, day))
    if (isNext) last?.push(day)
    else cuts.push([day])
  }
  return cuts.map((days) => ({ of, days, account: recordOn(of.records, days[0] ?? 0).account }))
}

/** The last day before today of which some customer of the cycle has reads. */
function lastActualDay({ calendar }: Terms, frame: Frame, tenancies: readonly Tenancy[]): number {
  if (frame.today === undefined) return dayOf(frame.last)
  const first = dayOf(frame.first)
  const days = tenancies
    .flatMap(({ of }) => of.reads.map(({ instant }) => calendar.toWall(instant).day))
    .filter((day) => day >= first && day < dayOf(frame.today ?? ''))
  return days.reduce((a, b) => Math.max(a, b), first - 1)
}

function toMember(
  terms: Terms,
  one: Tenancy & { readonly frame: Frame; readonly lastActual: number },
): Member {
  const { of, days, account, lastActual } = one
  const { calendar, tariffs } = terms
  const rateOn = (day: number) => recordOn(of.records, day).rate
  const own = of.reads.map(({ instant, thousandths, account }) => ({
    ...{ instant, account, day: calendar.toWall(instant).day },
    quantity: { upper: BigInt(thousandths), lower: 1_000n },
  }))
  const isOwn = (read: (typeof own)[number]) => read.account === account
  const held = own.filter(isOwn)
  const actual = days.filter((day) => day <= lastActual)
  const ahead = days.filter((day) => day > lastActual)
  const uses: Use[] = held.filter(({ day }) => actual.includes(day))
  const expected =
    of.seconds === 86_400
      ? actual.length
      : actual.reduce((sum, day) => sum + calendar.startOf(day + 1) - calendar.startOf(day), 0) /
        of.seconds
  const kindOf = (day: number) =>
    kindOfDay(
      { ...tariffs, holidays: tariffs.holidays.filter(({ rate }) => rate === '') },
      '',
      day,
    ) === 'workingDay'
      ? 'working'
      : 'free'
  const projected =
    ahead.length === 0
      ? undefined
      : project({ calendar, seconds: of.seconds, uses: held, days: ahead, kindOf })
  const status = statusOf(terms, {
    ...{ present: uses.length, expected, method: projected?.method ?? '' },
    isUnpriced: days.some((day) => !hasEnergy(tariffs, rateOn(day), day)),
    isTooLong: isTooLong(terms, of, days),
  })
  return {
    ...{ of, account, days, rateOn, status, meter: of.meter },
    method: projected?.method ?? '',
    daysProjected: status === 'projected' ? ahead.length : 0,
    uses: [...(terms.fillsGaps ? filled(uses, expected) : uses), ...(projected?.uses ?? [])],
  }
}

function filled(uses: readonly Use[], expected: number): readonly Use[] {
  const more = over(whole(expected), whole(uses.length))
  return uses.map((use) => ({ ...use, quantity: times(use.quantity, more) }))
}

function statusOf(
  { presentShareMin }: Terms,
  at: {
    readonly present: number
    readonly expected: number
    readonly method: string
    readonly isUnpriced: boolean
    readonly isTooLong: boolean
  },
): string {
  if (at.isUnpriced) return 'noPrice'
  if (at.present === 0 && at.method === '') return 'noUsage'
  if (at.isTooLong || at.method === 'none') return 'notProjectable'
  if (at.present < at.expected * presentShareMin) return 'sparse'
  if (at.method !== '') return 'projected'
  return at.present < at.expected * 0.98 ? 'incomplete' : 'computed'
}

/** Whether some interval of a bill spans two windows. */
function isTooLong(
  { tariffs, calendar }: Terms,
  of: RandomMeter,
  days: readonly number[],
): boolean {
  if (of.seconds === 900) return false
  return days.some((day) => {
    const { rate } = recordOn(of.records, day)
    return componentsOf(tariffs.tou, rate, day).some((component) => {
      const start = calendar.startOf(day)
      const count = (calendar.startOf(day + 1) - start) / 900
      const names = Array.from({ length: count }, (_, at) => {
        const { minute } = calendar.toWall(start + at * 900)
        return windowAt(tariffs, { rate, component, day, minute })
      })
      const each = of.seconds / 900
      return names.some((row, at) => at % each !== 0 && row !== names[at - 1] && at > 0)
    })
  })
}

function billsOf(terms: Terms, group: readonly Member[]): readonly ExpectedBill[] {
  const isPriced = ({ status }: Member) => ['computed', 'incomplete', 'projected'].includes(status)
  const priced = group.filter(isPriced)
  const bills = new Map<Member, { lines: readonly ExpectedLine[]; total: Fraction }>()
  const computed = computeBills(terms, priced)
  for (const [at, one] of priced.entries()) {
    const found = computed[at]
    if (found !== undefined) bills.set(one, { lines: found.lines, total: found.total })
  }
  return group.map((one) => {
    const { of, account, days, method, daysProjected, uses } = one
    return {
      ...{ meter: of, account, method, daysProjected },
      first: textOf(days[0] ?? 0),
      last: textOf(days.at(-1) ?? 0),
      status: one.status,
      quantity: plus(zero, whole(0), ...uses.map(({ quantity }) => quantity)),
      lines: [],
      ...bills.get(one),
    }
  })
}
