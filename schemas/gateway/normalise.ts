import { isObject, type JsonObject } from '../json.js'
import { identifierSchema } from './customer.js'
import { type PartialSites, registeredMax } from './registration.js'
import { stateLetters } from './states.js'

export interface NormalisedCustomer {
  readonly record: unknown
  /** What was left out of the record. */
  readonly omitted: { readonly meters: number; readonly sites: number }
  /** Where it was left out. */
  readonly partialSites: PartialSites
  /** False if the record lists sites, and none of them has an electric or gas meter. */
  readonly hasMeter: boolean
}

const nothingOmitted = { meters: 0, sites: 0 } as const

/** The record as it is, for a utility with `cis.normalise: false`. */
export function asSent(record: unknown): NormalisedCustomer {
  return { record, omitted: nothingOmitted, partialSites: [], hasMeter: true }
}

/**
 * Corrects what a CIS writes differently from the specification (decision 7): blanks, postal codes,
 * states, numbers in text fields. Leaves out meters of other commodities and sites without a meter.
 * It changes nothing that it does not understand, and a second time it changes nothing.
 */
export function normaliseCustomer(record: unknown): NormalisedCustomer {
  if (!isObject(record)) return asSent(record)
  const own = normaliseFields(record, customerTexts)
  const { customerSites: listed } = own
  if (!Array.isArray(listed)) return asSent(own)
  const read = listed.map(readSite)
  const hasMeters = read.some(({ meters }) => Array.isArray(meters) && meters.length > 0)
  const isEmpty = ({ site, meters }: SiteRead) =>
    isObject(site) && (Array.isArray(meters) ? meters.length === 0 : hasMeters && meters == null)
  const kept = read.filter((one) => !isEmpty(one))
  const customerSites = distinct(
    kept.map(({ site, meters }) => (isObject(site) ? { ...site, meters } : site)),
  )
  const omitted = {
    meters: read.reduce((sum, site) => sum + site.omitted, 0),
    sites: listed.length - kept.length,
  }
  const partialSites = sitesOf(read.filter((one) => one.omitted > 0 || isEmpty(one)))
  const hasMeter = customerSites.length > 0
  return { record: { ...own, customerSites }, omitted, partialSites, hasMeter }
}

function sitesOf(read: readonly SiteRead[]): PartialSites {
  const ids = read.map(({ site }) => {
    return identifierSchema.safeParse(isObject(site) ? site['externalSiteId'] : undefined).data
  })
  const known = ids.filter((id) => id !== undefined)
  const sites = new Set(known)
  return known.length < ids.length || sites.size > registeredMax ? 'all' : [...sites]
}

interface SiteRead {
  readonly site: unknown
  readonly meters: unknown
  readonly omitted: number
}

function readSite(value: unknown): SiteRead {
  if (!isObject(value)) return { site: value, meters: undefined, omitted: 0 }
  const site = normaliseFields(value, siteTexts)
  const { meters: listed } = site
  if (!Array.isArray(listed)) return { site, meters: listed, omitted: 0 }
  const kept = listed
    .map((meter) => (isObject(meter) ? normaliseFields(meter, meterTexts) : meter))
    .filter((meter) => !(isObject(meter) && isOtherCommodity(meter['meterType'])))
  const omitted = listed.length - kept.length
  const own = distinct(kept)
  // The primary meter of the site may be one that is omitted.
  const [only] = own
  const isAlone = omitted > 0 && own.length === 1 && isObject(only)
  const meters = isAlone ? [{ ...only, isPrimary: true }] : own
  return { site, meters, omitted }
}

/** Without what is listed twice in the same way, as joined tables do. */
function distinct<T>(list: readonly T[]): readonly T[] {
  return [...new Map(list.map((one) => [JSON.stringify(one), one])).values()]
}

/**
 * Meters of which Tieline has no reads, by their letters. Any other type may be ours, such as `NG`, `AMI` or
 * `Water Heating`: it is not left out, but has to be translated.
 */
const otherCommodities =
  /^((potable|drinking|reclaimed|recycled|waste|storm|rain|chilled|irrigation)?water|wtr|h2o|eau|agua|irrigation|hydrant|sewer|sewage|sewerage|swr|drainage|steam|trash|garbage|refuse|solidwaste|recycling|sanitation|internet|broadband|cable|fiber|telephone)(meter|service)?s?$/

function isOtherCommodity(type: unknown): boolean {
  if (typeof type !== 'string') return false
  return otherCommodities.test(type.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, ''))
}

type Correct = (value: unknown) => unknown
type Corrections = Readonly<Record<string, Correct>>

/** Numbers as text; a number that JSON cannot hold exactly stays one, and is refused. */
const text: Correct = (value) => (Number.isSafeInteger(value) ? String(value) : value)

const meterType: Correct = (value) => {
  if (typeof value !== 'string') return value
  return ['Electric', 'Gas'].find((name) => name.toLowerCase() === value.toLowerCase()) ?? value
}

const state: Correct = (value) =>
  typeof value === 'string' && value.length > 2 ? (stateLetters(value) ?? value) : value

const postalCode: Correct = (value) => {
  const sent = Number.isSafeInteger(value) ? padded(Number(value)) : value
  if (typeof sent !== 'string') return value
  if (/^\d{5}[ -]?\d{4}$/.test(sent)) return sent.slice(0, 5)
  const [, area, unit] = /^([A-Z]\d[A-Z])[ -]*(\d[A-Z]\d)$/i.exec(sent) ?? []
  return area && unit ? `${area} ${unit}`.toUpperCase() : sent
}

/** A ZIP code as a number has lost its zeros in front: 2139 is 02139, and 21391234 is 02139-1234. */
function padded(code: number): string {
  const digits = String(code)
  return /^\d{7,8}$/.test(digits) ? digits.padStart(9, '0') : digits.padStart(5, '0')
}

const readUnder: Correct = (value) =>
  Array.isArray(value)
    ? value.map((one) => (isObject(one) ? normaliseFields(one, { accountNumber: text }) : one))
    : value

const names = { firstName: text, lastName: text } as const
const customerTexts: Corrections = {
  clientId: text,
  ...names,
  businessName: text,
  AcctStatus: text,
}
const siteTexts: Corrections = {
  ...names,
  externalSiteId: text,
  address1: text,
  city: text,
  state,
  postalCode,
}
const meterTexts: Corrections = {
  accountNumber: text,
  meterId: text,
  rateCode: text,
  unitOfMeasure: text,
  meterType,
  readUnder,
}

/**
 * Fields in which an empty text stays; elsewhere it is an absent value. A `businessName` that is there, even
 * an empty one, would mark a business account.
 */
const mayBeEmpty = new Set(['firstName', 'lastName'])

function normaliseFields(fields: JsonObject, corrections: Corrections): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, sent]) => {
      const value = typeof sent === 'string' ? sent.trim() : sent
      if (value === '' && !mayBeEmpty.has(name)) return []
      const correct = Object.hasOwn(corrections, name) ? corrections[name] : undefined
      return [[name, correct?.(value) ?? value]]
    }),
  )
}
