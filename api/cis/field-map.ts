import { customerNames, meterNames, siteNames } from '../../schemas/gateway/cis-names.js'
import { type CustomerProblem, shapeOf } from '../../schemas/gateway/customer.js'
import type { CisFields, CisValues } from '../../schemas/settings/gateway-cis.js'
import type { CisRecord } from './cis.js'

type Fields = Readonly<Record<string, unknown>>

/** Identifiers that a CIS may send as numbers; a billing cycle keeps its type (decision 7). */
const identifiers = new Set(['clientId', 'externalSiteId', 'accountNumber', 'meterId', 'rateCode'])

/**
 * Maps the response of a CIS to the specification's fields of customer, site and meter. Each is read
 * from the path in the profile, or from its own name. Nothing is validated; other fields are dropped.
 */
export function toRecord(answer: Fields, fields: CisFields, values: CisValues): CisRecord {
  const pick = <Name extends string>(
    source: unknown,
    names: readonly Name[],
    paths: Readonly<Partial<Record<Name, string | undefined>>>,
  ): Fields =>
    Object.fromEntries(
      names.flatMap((name) => {
        const found = valueAt(source, paths[name] ?? name)
        return found === undefined ? [] : [[name, translate(name, found, values)]]
      }),
    )
  const { locked, attemptsRemaining, ...customer } = pick(answer, customerNames, fields.customer)
  const record = {
    ...customer,
    customerSites: mapList(customer['customerSites'], (one) => {
      const site = pick(one, siteNames, fields.site)
      const meters = mapList(site['meters'], (meter) => pick(meter, meterNames, fields.meter))
      return { ...site, meters }
    }),
  }
  return { record, ...readLocks(locked, attemptsRemaining) }
}

/** A lock as a system without a type for it writes it; other words are for `cis.values`. */
const lockTexts: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
])

/** A lock that cannot be read is a problem of the record: taken as absent, it would let the customer in. */
function readLocks(locked: unknown, attemptsRemaining: unknown): Omit<CisRecord, 'record'> {
  const isLocked =
    typeof locked === 'object' ? undefined : lockTexts.get(String(locked).toLowerCase())
  const remaining = wholeNumber(attemptsRemaining)
  const problems: CustomerProblem[] = []
  const refuse = (field: string, value: unknown, reason: string) => {
    if (value != null) problems.push({ field, reason, shape: shapeOf(value) })
  }
  if (isLocked === undefined) refuse('locked', locked, 'is not of type boolean')
  if (remaining === undefined) {
    refuse('attemptsRemaining', attemptsRemaining, 'is not a whole number')
  }
  return { locked: isLocked, attemptsRemaining: remaining, problems }
}

/** A whole number or its text: PostgreSQL sends `bigint` and `numeric` as text. */
function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? Number(number) : undefined
}

function mapList(list: unknown, map: (item: unknown) => Fields): unknown {
  return Array.isArray(list) ? list.map(map) : list
}

/** The value at a dotted path; a name that contains dots takes precedence. */
function valueAt(source: unknown, path: string): unknown {
  if (typeof source !== 'object' || source === null) return undefined
  if (Object.hasOwn(source, path)) return (source as Fields)[path]
  const dot = path.indexOf('.')
  if (dot < 0 || !Object.hasOwn(source, path.slice(0, dot))) return undefined
  return valueAt((source as Fields)[path.slice(0, dot)], path.slice(dot + 1))
}

function translate(name: string, value: unknown, values: CisValues): unknown {
  const table = (values as Readonly<Record<string, Fields | undefined>>)[name]
  if (table !== undefined && ['string', 'number', 'boolean'].includes(typeof value)) {
    const key = String(value)
    if (Object.hasOwn(table, key)) return table[key]
  }
  if (identifiers.has(name) && Number.isSafeInteger(value)) return String(value)
  return value
}
