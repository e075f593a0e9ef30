import { z } from 'zod'
import { Fault } from '../../fault.js'
import { isObject, type JsonObject } from '../../json.js'

const correct = 'Correct it in the file, or remove the entry'
const money = z.number('expected a number').nonnegative('expected a number that is not negative')
const text = z.string('expected text')
const unit = text.transform((name) => name.trim().toLowerCase())

const tariffTier = z.looseObject({
  /** Dollars for one kWh. */
  rate: money,
  /** What adjustments add to the rate; it may be negative. */
  adj: z.number('expected a number').optional(),
  /** Upper limit; the last tier has none. */
  max: z.number('expected a number').positive('expected a number above 0').optional(),
  unit: unit.optional(),
  /** Dollars for one kWh that is delivered to the grid. */
  sell: z.number('expected a number').optional(),
})

/** The period of each hour of a day of each month. */
const hours = 'expected 24 periods, one for each hour'
const months = 'expected 12 lists, one for each month'
const schedule = z
  .array(
    z
      .array(
        z.int('expected the number of a period, from 0').min(0, 'expected a period from 0'),
        hours,
      )
      .length(24, hours),
    months,
  )
  .length(12, months)
  .readonly()

/** What is read of an entry; names are in lower case, as versions of the database differ in it. */
const tariffShape = z.looseObject({
  label: text.optional(),
  name: text.optional(),
  startdate: z.unknown().optional(),
  enddate: z.unknown().optional(),
  servicetype: text.optional(),
  energyratestructure: z
    .array(
      z
        .array(tariffTier, 'expected a list of tiers')
        .min(1, 'expected at least one tier')
        .readonly(),
      'expected a list of periods with tiers',
    )
    .min(1, 'expected at least one period')
    .readonly(),
  energyweekdayschedule: schedule.optional(),
  energyweekendschedule: schedule.optional(),
  energytoulabels: z.array(z.unknown()).readonly().optional(),
  fixedchargefirstmeter: money.optional(),
  fixedchargeunits: unit.optional(),
  fixedmonthlycharge: money.optional(),
  mincharge: money.optional(),
  minchargeunits: unit.optional(),
  minmonthlycharge: money.optional(),
  annualmincharge: money.optional(),
  fueladjustmentsmonthly: z
    .array(z.number('expected a number'), months)
    .length(12, 'expected 12 numbers, one for each month')
    .readonly()
    .optional(),
})

/** One entry of the open rate database, with its place in the file. */
export type Tariff = z.output<typeof tariffShape> & { readonly at: string }
export type TariffTier = z.output<typeof tariffTier>

/**
 * Reads the entries of an answer of the database: `{"items": [...]}`, a list, or one entry. Throws
 * `CONFIG` for anything else, with the place and the value.
 */
export function parseTariffs(value: unknown): readonly Tariff[] {
  const tariffs = entriesOf(value).map(([at, entry]) => parseTariff(at, entry))
  if (tariffs.length > 0) return tariffs
  throw wrong('items', value, 'the list is empty. Name another file')
}

/** The labels of all entries, as far as there are any. */
export function labelsOf(value: unknown): readonly string[] {
  return entriesOf(value).map(([, entry]) => {
    const label = isObject(entry) ? entry['label'] : undefined
    return typeof label === 'string' ? label : ''
  })
}

function entriesOf(value: unknown): readonly (readonly [at: string, entry: unknown])[] {
  const list = isObject(value) && 'items' in value ? value['items'] : value
  const name = list === value ? '' : 'items'
  if (Array.isArray(list)) return list.map((entry, at) => [`${name}[${at}]`, entry])
  if (list !== value) throw wrong('items', list, `expected a list of entries. ${correct}`)
  return [['', value]]
}

function parseTariff(at: string, value: unknown): Tariff {
  if (!isObject(value) || !hasEnergy(value)) {
    const remedy = 'Download the rate as JSON with all details (detail=full)'
    throw wrong(at, value, `expected an entry with energyratestructure. ${remedy}`)
  }
  const entry = known(value, at)
  const parsed = tariffShape.safeParse(entry)
  if (parsed.success) return { ...parsed.data, at }
  const [issue] = parsed.error.issues
  const path = issue?.path ?? []
  const found = path.reduce<unknown>(
    (inner, key) => (inner as JsonObject | undefined)?.[key as string],
    entry,
  )
  throw wrong(placeOf(at, path), found, `${issue?.message}. ${correct}`)
}

const hasEnergy = (value: JsonObject) =>
  Object.keys(value).some((name) => name.toLowerCase() === 'energyratestructure')

/** The fields by their names in lower case; null says what an absent field says. */
function known(value: JsonObject, at: string): JsonObject {
  const entry: Record<string, unknown> = Object.create(null)
  for (const [name, found] of Object.entries(value)) {
    if (found === null) continue
    const lower = name.toLowerCase()
    if (lower in entry) throw wrong(placeOf(at, [name]), found, `it is there twice. ${correct}`)
    entry[lower] = lower === 'energyratestructure' ? withoutNulls(found) : found
  }
  return { ...entry }
}

function withoutNulls(periods: unknown): unknown {
  if (!Array.isArray(periods)) return periods
  return periods.map((tiers) =>
    Array.isArray(tiers)
      ? tiers.map((tier) =>
          isObject(tier)
            ? Object.fromEntries(Object.entries(tier).filter(([, one]) => one !== null))
            : tier,
        )
      : tiers,
  )
}

/** `items[0].energyratestructure[1][0].rate` */
export function placeOf(at: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((place, key) => {
    if (typeof key === 'number') return `${place}[${key}]`
    return place === '' ? String(key) : `${place}.${String(key)}`
  }, at)
}

/** A fault of the file: its place, the value that is there, what was expected and the remedy. */
export function wrong(place: string, value: unknown, expected: string): Fault {
  return new Fault('CONFIG', `${place === '' ? 'the file' : place} is ${brief(value)}: ${expected}`)
}

const briefCharactersMax = 60

/** A value in few characters; lists and objects by their size only. */
export function brief(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (isObject(value)) return 'an object'
  const all = JSON.stringify(value) ?? typeof value
  return all.length > briefCharactersMax ? `${all.slice(0, briefCharactersMax)}...` : all
}
