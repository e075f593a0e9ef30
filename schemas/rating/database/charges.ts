import { spansOf, type TariffDays } from './days.js'
import { datesOf, type ImportedRow, untilNote } from './energy.js'
import { nanosText, toNanos } from './price.js'
import { brief, placeOf, type Tariff, wrong } from './tariff.js'
import type { Unexpressed } from './unexpressed.js'

export interface ChargeRows {
  readonly rows: {
    readonly RateFixed?: readonly ImportedRow[]
    readonly RateFlat?: readonly ImportedRow[]
  }
  readonly missing: readonly Unexpressed[]
  readonly notes: readonly string[]
}

/** Turns fixed charges, minimums and monthly fuel adjustments of an entry into rows. Throws `CONFIG`. */
export function toChargeRows(tariff: Tariff, days: TariffDays): ChargeRows {
  const found = [...fixedCharges(tariff), ...minimums(tariff)].filter(({ amount }) => amount !== 0)
  const rows: ImportedRow[] = []
  const missing: Unexpressed[] = []
  for (const charge of found) {
    const { amount, unit, field } = charge
    const basis = bases.get(unit)
    if (basis === undefined) {
      const unitText = unit === '' ? 'no unit' : `the unit ${brief(unit)}`
      missing.push({ field, detail: `${charge.what} of ${amount} with ${unitText}` })
      continue
    }
    const Amount = nanosText(toNanos(amount, placeOf(tariff.at, [field])))
    const dates = { RateStartDate: days.from, RateEndDate: days.to ?? '' }
    const own = { Name: charge.name, Kind: charge.kind, Basis: basis }
    rows.push({ ...own, Amount, Taxable: 'true', ...dates })
  }
  const fuel = fuelRows(tariff, days)
  return {
    rows: {
      ...(rows.length > 0 && { RateFixed: rows }),
      ...(fuel.rows.length > 0 && { RateFlat: fuel.rows }),
    },
    missing,
    notes: fuel.notes,
  }
}

/** What is charged once a year has no place on a bill of a month. */
const bases: ReadonlyMap<string, string> = new Map([
  ['$/month', 'PerMonth'],
  ['$/day', 'PerDay'],
])

interface FoundCharge {
  readonly field: string
  readonly amount: number
  /** Empty where the entry does not name one. */
  readonly unit: string
  readonly name: string
  readonly kind: 'Service' | 'Minimum'
  readonly what: string
}

function fixedCharges(tariff: Tariff): readonly FoundCharge[] {
  const own = { name: 'Fixed charge', kind: 'Service', what: 'a fixed charge' } as const
  const { fixedchargefirstmeter, fixedmonthlycharge } = tariff
  return oneOfTwo(tariff, [
    {
      ...own,
      field: 'fixedchargefirstmeter',
      amount: fixedchargefirstmeter,
      unit: tariff.fixedchargeunits ?? '',
    },
    { ...own, field: 'fixedmonthlycharge', amount: fixedmonthlycharge, unit: '$/month' },
  ])
}

function minimums(tariff: Tariff): readonly FoundCharge[] {
  const own = { name: 'Minimum', kind: 'Minimum', what: 'a minimum of the bill' } as const
  const { mincharge, minmonthlycharge, annualmincharge } = tariff
  const yearly = { ...own, field: 'annualmincharge', unit: '$/year', amount: annualmincharge }
  return [
    ...oneOfTwo(tariff, [
      { ...own, field: 'mincharge', amount: mincharge, unit: tariff.minchargeunits ?? '' },
      { ...own, field: 'minmonthlycharge', amount: minmonthlycharge, unit: '$/month' },
    ]),
    ...present([yearly]),
  ]
}

type Maybe = Omit<FoundCharge, 'amount'> & { readonly amount: number | undefined }

const present = (charges: readonly Maybe[]): readonly FoundCharge[] =>
  charges.flatMap((one) => (one.amount === undefined ? [] : [{ ...one, amount: one.amount }]))

/** Versions of the database have two names for one charge; an entry with both has to agree. */
function oneOfTwo(tariff: Tariff, charges: readonly Maybe[]): readonly FoundCharge[] {
  const [first, second] = present(charges)
  if (first === undefined || second === undefined) return first === undefined ? [] : [first]
  if (first.amount === second.amount && first.unit === second.unit) return [first]
  if (second.amount === 0) return [first]
  if (first.amount === 0) return [second]
  const expected = `${first.field} of the same entry is ${first.amount}. Remove one of them`
  throw wrong(placeOf(tariff.at, [second.field]), second.amount, expected)
}

/** Adjustments by month are a price of their own in dollars for one kWh. */
function fuelRows(tariff: Tariff, days: TariffDays) {
  const months = tariff.fueladjustmentsmonthly ?? []
  if (months.every((amount) => amount === 0)) return { rows: [], notes: [] }
  const place = (month: number) => placeOf(tariff.at, ['fueladjustmentsmonthly', month])
  const texts = months.map((amount, month) => nanosText(toNanos(amount, place(month))))
  const spans = spansOf(texts, days)
  const rows = spans.map((span): ImportedRow => {
    const own = { Amount: texts[span.month] ?? '', Component: 'FuelAdjustment' }
    return { ...own, ...datesOf(span) }
  })
  const isCut = spans.some(({ to }) => to !== '') && days.to === undefined
  const unit = 'fueladjustmentsmonthly is written as dollars for one kWh'
  return { rows, notes: isCut ? [unit, untilNote(days)] : [unit] }
}
