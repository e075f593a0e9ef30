import type { CisFields, CisValues } from '../../schemas/settings/gateway-cis.js'
import type { CisRecord } from './cis.js'

type Fields = Readonly<Record<string, unknown>>

export const customerNames = [
  'clientId',
  'firstName',
  'lastName',
  'businessName',
  'AcctStatus',
  'customerSites',
  'locked',
  'attemptsRemaining',
] as const
export const siteNames = [
  'externalSiteId',
  'isPrimary',
  'firstName',
  'lastName',
  'address1',
  'city',
  'state',
  'postalCode',
  'meters',
] as const
export const meterNames = [
  'accountNumber',
  'meterId',
  'meterType',
  'unitOfMeasure',
  'isPrimary',
  'isAMI',
  'isAMR',
  'PANID',
  'rateCode',
  'rateMultiplier',
  'billingCycleId',
  'dialCount',
  'readUnder',
] as const

/** Identifiers that a CIS may send as numbers; a billing cycle keeps its type (decision 7). */
const identifiers = new Set(['clientId', 'externalSiteId', 'accountNumber', 'meterId', 'rateCode'])

/**
 * Maps the response of a CIS to the specification's fields of customer, site and meter. Each is read
 * from the path in the profile, or from its own name. Nothing is validated; other fields are dropped.
 */
export function toRecord(answer: Fields, fields: CisFields, values: CisValues): CisRecord {
  const pick = (
    source: unknown,
    names: readonly string[],
    paths: Readonly<Record<string, string>>,
  ) =>
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
  return {
    record,
    locked: typeof locked === 'boolean' ? locked : undefined,
    attemptsRemaining: Number.isSafeInteger(attemptsRemaining)
      ? Number(attemptsRemaining)
      : undefined,
  }
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
  const table = values[name]
  if (table !== undefined && ['string', 'number', 'boolean'].includes(typeof value)) {
    const key = String(value)
    if (Object.hasOwn(table, key)) return table[key]
  }
  if (identifiers.has(name) && Number.isSafeInteger(value)) return String(value)
  return value
}
