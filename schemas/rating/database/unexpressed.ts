import { isObject, type JsonObject } from '../../json.js'
import { plainWords } from './periods.js'
import { brief, type Tariff } from './tariff.js'

/** A field that the rate files cannot express, and what the bills do not have therefore. */
export interface Unexpressed {
  readonly field: string
  readonly detail: string
}

/** Fields that become rows, or that say nothing about the amount of a bill. */
const written = [
  'at',
  ...['label', 'name', 'startdate', 'enddate', 'servicetype', 'energyratestructure'],
  ...['energyweekdayschedule', 'energyweekendschedule', 'energytoulabels'],
  ...['fixedchargefirstmeter', 'fixedchargeunits', 'fixedmonthlycharge', 'mincharge'],
  ...['minchargeunits', 'minmonthlycharge', 'annualmincharge', 'fueladjustmentsmonthly'],
]
const harmless = [
  ...['uri', 'revisions', 'approved', 'is_default', 'utility', 'eiaid', 'country', 'sector'],
  ...['supersedes', 'supercedes', 'source', 'sourceparent', 'sourcereference', 'description'],
  ...['voltagecategory', 'phasewiring', 'voltageminimum', 'voltagemaximum', 'servicemin'],
  ...['servicemax', 'mindemand', 'maxdemand', 'minenergy', 'maxenergy', 'demandunits'],
  ...['flatdemandunit', 'flatdemandunits', 'demandrateunit', 'demandrateunits'],
  ...['coincidentrateunit', 'coincidentrateunits', 'reactivepowercharge_unit', 'readingtype'],
  ...['peakkwcapacitymin', 'peakkwcapacitymax', 'peakkwcapacityhistory'],
  ...['peakkwhusagemin', 'peakkwhusagemax', 'peakkwhusagehistory', 'demandreactivepowerunit'],
]
/** Their charges are named by the structure that they belong to. */
const schedules = [
  ...['demandweekdayschedule', 'demandweekendschedule', 'flatdemandmonths'],
  ...['coincidentrateschedule', 'coincidentweekdayschedule', 'coincidentweekendschedule'],
]
const comments = ['basicinformationcomments', 'energycomments', 'demandcomments']
const known = new Set([...written, ...harmless, ...schedules])

/** What each field charges that depends on something that no rate file has. */
const named: Readonly<Record<string, string>> = {
  flatdemandstructure: 'charges for the highest demand of a month',
  demandratestructure: 'charges for the highest demand at times of day',
  coincidentratestructure: 'charges for demand when the system peaks',
  demandreactivepowercharge: 'a charge for reactive power (kVA, kVAr)',
  demandratchetpercentage: 'demand that is billed by earlier months (ratchet)',
  lookbackpercent: 'demand that is billed by earlier months (ratchet)',
  lookbackmonths: 'demand that is billed by earlier months (ratchet)',
  lookbackrange: 'demand that is billed by earlier months (ratchet)',
  demandwindow: 'demand that is averaged over a window',
  fixedchargeeaaddl: 'a fixed charge for each additional meter',
  dgrules: 'credits for energy that is delivered to the grid',
  usenetmetering: 'credits for energy that is delivered to the grid',
}

/**
 * Names every field that bears on the bill, or may do so, and has no place in the rate files. A structure
 * without any price, an amount of 0 and an empty field charge nothing.
 */
export function findUnexpressed(tariff: Tariff): readonly Unexpressed[] {
  const missing = Object.entries(tariff).flatMap(([field, value]): readonly Unexpressed[] => {
    if (known.has(field) || isEmpty(value)) return []
    const what = named[field]
    if (what !== undefined) return [{ field, detail: `${what}: ${amountsOf(value)}` }]
    if (comments.includes(field)) return []
    const detail = `an unknown field, which may be a charge: ${brief(value)}`
    return [{ field, detail }]
  })
  return [...missing, ...service(tariff), ...ofTiers(tariff)]
}

/** Comments may describe charges that no field has. */
export function findComments(tariff: Tariff): readonly string[] {
  return comments
    .filter((field) => !isEmpty(tariff[field]))
    .map((field) => `${field} is text that may describe charges: ${textOf(tariff[field])}`)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? plainWords(value, commentCharactersMax) : brief(value)
}

const commentCharactersMax = 1_000

function service({ servicetype }: Tariff): readonly Unexpressed[] {
  if (servicetype === undefined || /^bundled$/i.test(servicetype.trim())) return []
  const detail = `${brief(servicetype)} instead of Bundled: what others charge, such as supply or delivery`
  return [{ field: 'servicetype', detail }]
}

const tierFields = ['rate', 'adj', 'max', 'unit']

/** Sell rates, and fields of tiers that are not known. */
function ofTiers({ energyratestructure }: Tariff): readonly Unexpressed[] {
  const found = new Map<string, unknown>()
  for (const tier of energyratestructure.flat()) {
    for (const [name, value] of Object.entries(tier)) {
      if (!tierFields.includes(name) && !isEmpty(value) && !found.has(name)) found.set(name, value)
    }
  }
  return [...found].map(([name, value]) => ({
    field: `energyratestructure.${name}`,
    detail:
      name === 'sell'
        ? `credits for energy that is delivered to the grid, such as ${brief(value)} dollars for one kWh`
        : `an unknown field of tiers, which may be a charge: ${brief(value)}`,
  }))
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return pricesIn(value).every((price) => price === 0) && isPrices(value)
  return value === undefined || value === '' || value === 0 || value === false
}

/** Whether a list has nothing but tiers with prices, or numbers. */
function isPrices(value: unknown, level = 0): boolean {
  if (level > levelsMax) return false
  if (Array.isArray(value)) return value.every((one) => isPrices(one, level + 1))
  if (isObject(value)) return Object.keys(value).every((name) => /^(rate|adj|max|unit)$/.test(name))
  return typeof value === 'number'
}

function amountsOf(value: unknown): string {
  const prices = [...new Set(pricesIn(value).filter((price) => price !== 0))]
  if (!Array.isArray(value) || prices.length === 0) return brief(value)
  const shown = prices.slice(0, amountsShown).join(', ')
  return `${shown}${prices.length > amountsShown ? ' ...' : ''} (rates and adjustments)`
}

const amountsShown = 6
const levelsMax = 3

/** The rates and adjustments in a structure of periods and tiers, or the numbers of a list. */
function pricesIn(value: unknown, level = 0): readonly number[] {
  if (level > levelsMax) return []
  if (Array.isArray(value)) return value.flatMap((one) => pricesIn(one, level + 1))
  if (isObject(value)) return numbersOf(value)
  return typeof value === 'number' ? [value] : []
}

function numbersOf({ rate, adj }: JsonObject): readonly number[] {
  return [rate, adj].filter((price) => typeof price === 'number')
}
