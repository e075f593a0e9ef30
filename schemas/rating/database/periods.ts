import { isRounded, plainText, toNanos } from './price.js'
import { brief, placeOf, type Tariff, type TariffTier, wrong } from './tariff.js'

/** A tier of a period as the rate files have it. */
export interface PeriodTier {
  /** Billionths of a dollar for one kWh, adjustments included. */
  readonly price: bigint
  /** Upper limit in kWh; empty where there is none. */
  readonly limit: string
}

export interface TariffPeriod {
  readonly name: string
  readonly tiers: readonly PeriodTier[]
  /** Whether limits are for each day instead of for the month. */
  readonly isDaily: boolean
}

/** Why an entry has no energy price that rate files can express. */
export interface UnpricedEnergy {
  readonly refused: string
}

export interface TariffPeriods {
  /** By the number of the period; undefined where no hour has it. */
  readonly periods: readonly (TariffPeriod | undefined)[]
  /** The periods of the hours of working days and of weekends, by month. */
  readonly weekday: readonly (readonly number[])[]
  readonly weekend: readonly (readonly number[])[]
  readonly notes: readonly string[]
}

/** More than any price has; a tier that ends there has no end. */
const endless = 1e12

/** Reads the energy prices of an entry. Throws `CONFIG` for values that cannot be meant. */
export function readTariffPeriods(tariff: Tariff): TariffPeriods | UnpricedEnergy {
  const { energyratestructure: structure } = tariff
  const weekday = scheduleOf(tariff, 'energyweekdayschedule')
  const weekend = scheduleOf(tariff, 'energyweekendschedule')
  const used = new Set([...weekday, ...weekend].flat())
  const notes: string[] = []
  const periods: (TariffPeriod | undefined)[] = []
  for (const [number, tiers] of structure.entries()) {
    if (!used.has(number)) {
      notes.push(`period ${number} of energyratestructure has no hour and is not written`)
      periods.push(undefined)
      continue
    }
    const units = readUnits(tariff, number)
    if ('refused' in units) return units
    notes.push(...units.notes)
    periods.push({
      name: nameOf(tariff, number),
      isDaily: units.isDaily,
      tiers: Array.from(tiers.keys(), (at) => readTier(tariff, [number, at], notes)),
    })
  }
  return { periods, weekday, weekend, notes }
}

const monthsOfYear = 12
const hoursOfDay = 24

/** The schedule; without one, an entry of one period has that in all hours. */
function scheduleOf(tariff: Tariff, name: 'energyweekdayschedule' | 'energyweekendschedule') {
  const { energyratestructure: structure, at } = tariff
  const schedule = tariff[name]
  if (schedule === undefined) {
    if (structure.length === 1) return Array(monthsOfYear).fill(Array(hoursOfDay).fill(0))
    const expected = `expected a schedule of the ${structure.length} periods`
    throw wrong(placeOf(at, [name]), undefined, `${expected}. Add it to the file`)
  }
  for (const [month, hours] of schedule.entries()) {
    const hour = hours.findIndex((period) => period >= structure.length)
    if (hour < 0) continue
    const expected = `energyratestructure has ${structure.length} periods, counted from 0`
    const place = placeOf(at, [name, month, hour])
    throw wrong(place, hours[hour], `${expected}. Correct the schedule or add the period`)
  }
  return schedule
}

interface Units {
  readonly isDaily: boolean
  readonly notes: readonly string[]
}

/** The unit of a period's tiers, by kWh in a month or in a day. */
function readUnits({ energyratestructure, at }: Tariff, number: number): Units | UnpricedEnergy {
  const tiers = energyratestructure[number] ?? []
  const units = new Set(tiers.map(({ unit }) => unit ?? ''))
  const place = placeOf(at, ['energyratestructure', number])
  const [unit = ''] = units
  const refused = (why: string) => ({ refused: `energy: ${place} has ${why}` })
  if (units.size > 1) return refused(`tiers in different units (${[...units].map(brief).join()})`)
  if (unit.startsWith('kwh/kw')) return refused('tiers that depend on demand (kWh/kW)')
  if (!/^(kwh( daily)?)?$/.test(unit)) return refused(`the unknown unit ${brief(unit)}`)
  const notes = unit === '' ? [`${place} does not name a unit; kWh is taken`] : []
  return { isDaily: unit === 'kwh daily', notes }
}

function nameOf({ energytoulabels }: Tariff, number: number): string {
  const label = energytoulabels?.[number]
  const name = typeof label === 'string' ? plainWords(label) : ''
  return name === '' ? `Period ${number}` : name
}

const nameCharactersMax = 200

/** Text on one line, as a column of words takes it. */
export function plainWords(text: string, charactersMax = nameCharactersMax): string {
  const words = text.replace(/[\p{C}\s]+/gu, ' ')
  return words.trim().slice(0, charactersMax).trim()
}

/** Notes what is lost of a price, and judges the order of the limits. */
function readTier(
  { energyratestructure, at }: Tariff,
  [number, index]: readonly [number: number, index: number],
  notes: string[],
): PeriodTier {
  const tiers = energyratestructure[number] ?? []
  const { rate, adj = 0, max } = tiers[index] as TariffTier
  const place = placeOf(at, ['energyratestructure', number, index])
  const price = toNanos(rate, `${place}.rate`) + toNanos(adj, `${place}.adj`)
  if (price < 0n) {
    throw wrong(`${place}.adj`, adj, `it makes the price negative. Correct rate or adj in the file`)
  }
  if (isRounded(rate) || isRounded(adj)) notes.push(`${place} is rounded to 9 decimals`)
  if (index === tiers.length - 1) {
    if (max !== undefined && max < endless) {
      notes.push(`${place} ends at ${max} kWh; usage above has the price of this tier`)
    }
    return { price, limit: '' }
  }
  const below = tiers[index - 1]?.max ?? 0
  if (max === undefined || max >= endless || max <= below) {
    const expected = `expected a limit above ${below}, as tiers follow`
    throw wrong(`${place}.max`, max, `${expected}. Put the tiers in order in the file`)
  }
  return { price, limit: plainText(max) }
}
