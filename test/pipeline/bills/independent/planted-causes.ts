import type { Draw } from './draw.js'
import { type ExpectedBill, expectBills, type Terms } from './expected-bills.js'
import {
  decimal,
  type Fraction,
  isAbove,
  isZero,
  minus,
  negated,
  plus,
  rounded,
  spelled,
  times,
  zero,
} from './fraction.js'
import type { Frame } from './frames.js'
import { isInForce, type Tariffs } from './tariff.js'
import { dayOf, textOf } from './wall-calendar.js'

/** What the utility billed, and the causes that the difference to the computed bill must have. */
export interface PlantedBill {
  readonly bill: ExpectedBill
  readonly last: string
  readonly quantity: Fraction
  readonly cost: Fraction
  readonly tax: string
  /** PlanType to Status of PaymentPlans. */
  readonly plan: string
  readonly quantityCauses: Readonly<Record<string, string>>
  readonly costCauses: Readonly<Record<string, string>>
  /** Missing reads are filled in whole millionths: so many units and dollars either way are the same. */
  readonly isNearlySo: boolean
}

const ways = [
  'same',
  'sum',
  'budget',
  'arrangement',
  'untaxed',
  'prices',
  'day',
  'cents',
  'units',
  'tierDays',
] as const

/** Bills a frame as a utility would that has made one mistake in each. */
export function plantCauses(
  draw: Draw,
  { terms, frame, bills }: { terms: Terms; frame: Frame; bills: readonly ExpectedBill[] },
): readonly PlantedBill[] {
  return bills.flatMap((bill) => {
    const way = draw.pick(ways)
    if (bill.total === undefined || bill.meter.what === 'several') return []
    if (bill.meter.what === 'gaps') return filledUp({ way, terms, frame, bill })
    if (bill.status !== 'computed') return []
    const same = {
      bill,
      last: bill.last,
      quantity: bill.quantity,
      cost: bill.total,
      tax: '',
      plan: '',
      isNearlySo: false,
    }
    const none = { quantityCauses: {}, costCauses: {} }
    const found = differently(draw, { way, terms, frame, bill })
    if (found === undefined) return [{ ...same, ...none }]
    const { cause, ...changed } = found
    const quantity = minus(bill.quantity, changed.quantity ?? bill.quantity)
    const cost = minus(bill.total, changed.cost)
    return [
      {
        ...same,
        ...changed,
        quantityCauses: isZero(quantity) ? {} : { [cause]: spelled(quantity) },
        costCauses: isZero(cost) ? {} : { [cause]: spelled(cost) },
      },
    ]
  })
}

/** Reads are missing that the utility has, which bills whole units. Of a bill without gaps nothing is said. */
function filledUp({ terms, frame, bill }: Question): readonly PlantedBill[] {
  const other = recompute({ ...terms, fillsGaps: true }, frame, bill)
  if (other?.total === undefined || bill.total === undefined) return []
  const quantity = rounded(other.quantity, 0)
  const missing = minus(bill.quantity, other.quantity)
  if (isZero(missing)) return []
  const [left, cost] = [minus(other.quantity, quantity), minus(bill.total, other.total)]
  return [
    {
      ...{
        bill,
        last: bill.last,
        quantity,
        cost: other.total,
        tax: '',
        plan: '',
        isNearlySo: true,
      },
      quantityCauses: {
        missingIntervals: spelled(missing),
        ...(!isZero(left) && { rounding: spelled(left) }),
      },
      costCauses: isZero(cost) ? {} : { missingIntervals: spelled(cost) },
    },
  ]
}

interface Changed {
  readonly cause: string
  readonly cost: Fraction
  readonly quantity?: Fraction
  readonly last?: string
  readonly tax?: string
  readonly plan?: string
}

interface Question {
  readonly way: (typeof ways)[number]
  readonly terms: Terms
  readonly frame: Frame
  readonly bill: ExpectedBill
}

function differently(draw: Draw, question: Question): Changed | undefined {
  const { way, terms, frame, bill } = question
  const total = bill.total ?? zero
  const more = decimal(`${draw.below(90) + 31}.17`)
  if (way === 'cents') return { cause: 'rounding', cost: minus(total, decimal('0.01')) }
  if (way === 'units')
    return { cause: 'rounding', cost: total, quantity: rounded(bill.quantity, 0) }
  const moreTierDays = draw.pick([1, -1] as const)
  const changed = changedBy({ way, more, moreTierDays, total, bill, terms, frame })
  if (changed === undefined || !isFar(total, changed.cost)) return undefined
  const { quantity } = changed
  return quantity !== undefined && !isFar(bill.quantity, quantity, '0.6') ? undefined : changed
}

function changedBy(
  at: Question & {
    readonly more: Fraction
    readonly moreTierDays: 1 | -1
    readonly total: Fraction
  },
): Changed | undefined {
  const { way, more, total, bill, terms, frame } = at
  if (way === 'sum')
    return { cause: 'unexplained', cost: plus(total, times(more, decimal('97.13'))) }
  // Two bills of one account would have one plan.
  if (way === 'budget' && bill.meter.what !== 'cycle') {
    const plan = `BudgetBilling,2019-01-01,,${spelled(more)},Active`
    return { cause: 'budgetBilling', cost: more, plan }
  }
  if (way === 'arrangement' && bill.meter.what !== 'cycle') {
    const arrears = times(more, decimal('97.13'))
    const plan = `PaymentArrangement,2019-01-01,,${spelled(arrears)},Active`
    return { cause: 'paymentArrangement', cost: plus(total, arrears), plan }
  }
  if (way === 'untaxed') {
    const taxes = bill.lines.filter(({ kind }) => kind === 'TaxPercent' || kind === 'TaxAmount')
    const tax = plus(...taxes.map(({ amount }) => amount))
    return { cause: 'taxAndFees', cost: minus(total, tax), tax: '0' }
  }
  if (way === 'prices') {
    const tariffs = pricesOf(terms.tariffs, dayOf(bill.first) - 1)
    const other = recompute({ ...terms, tariffs }, frame, bill)
    return other?.total && { cause: 'rateVersion', cost: other.total }
  }
  if (way === 'tierDays') {
    const other = recompute({ ...terms, moreTierDays: at.moreTierDays }, frame, bill)
    return other?.total && { cause: 'tierDays', cost: other.total }
  }
  if (way !== 'day' || bill.first === bill.last) return undefined
  const last = textOf(dayOf(bill.last) - 1)
  const other = recompute(terms, { ...frame, last }, bill)
  const isCut = other?.last === last && other.first === bill.first
  if (!isCut || other.total === undefined) return undefined
  return { cause: 'periodBoundary', cost: other.total, quantity: other.quantity, last }
}

function recompute(terms: Terms, frame: Frame, bill: ExpectedBill): ExpectedBill | undefined {
  return expectBills(terms, frame, [bill.meter]).find(({ first }) => first === bill.first)
}

/** The prices of one day, as if they held for ever; those of every year stay. */
function pricesOf(tariffs: Tariffs, day: number): Tariffs {
  const held = <R extends Tariffs['flats'][number] | Tariffs['charges'][number]>(
    rows: readonly R[],
  ) =>
    rows
      .filter((row) => row.from.startsWith('--') || isInForce(row, day))
      .map((row) => (row.from.startsWith('--') ? row : { ...row, from: '2019-01-01', to: '' }))
  return {
    ...tariffs,
    tou: held(tariffs.tou as never) as never,
    tiers: held(tariffs.tiers as never) as never,
    flats: held(tariffs.flats),
    charges: held(tariffs.charges),
  }
}

/** Beyond the tolerance of a match, and so much that no other cause is within it. */
function isFar(own: Fraction, billed: Fraction, least = '0.05'): boolean {
  const size = (value: Fraction) => (isAbove(zero, value) ? negated(value) : value)
  const difference = size(minus(own, billed))
  const share = times(size(billed), decimal('0.005'))
  return isAbove(difference, decimal(least)) && isAbove(difference, share)
}
