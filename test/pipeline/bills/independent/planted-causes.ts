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
}

const ways = ['same', 'sum', 'budget', 'arrangement', 'untaxed', 'prices', 'day'] as const

/** Bills a frame as a utility would that has made one mistake in each. */
export function plantCauses(
  draw: Draw,
  { terms, frame, bills }: { terms: Terms; frame: Frame; bills: readonly ExpectedBill[] },
): readonly PlantedBill[] {
  return bills.flatMap((bill) => {
    const way = draw.pick(ways)
    if (bill.total === undefined || !isWhole(bill)) return []
    const same = {
      bill,
      last: bill.last,
      quantity: bill.quantity,
      cost: bill.total,
      tax: '',
      plan: '',
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

/** All reads of the bill are there, and its energy and cost are those of one meter alone. */
function isWhole({ status, meter }: ExpectedBill): boolean {
  return status === 'computed' && !['gaps', 'several'].includes(meter.what)
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
  const changed = changedBy({ way, more, total, bill, terms, frame })
  if (changed === undefined || !isFar(total, changed.cost)) return undefined
  const { quantity } = changed
  return quantity !== undefined && !isFar(bill.quantity, quantity, '0.6') ? undefined : changed
}

function changedBy(
  at: Question & { readonly more: Fraction; readonly total: Fraction },
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
