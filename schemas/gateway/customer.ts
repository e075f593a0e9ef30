import { z } from 'zod'
import { hasInvisible } from '../field.js'
import { isObject, type JsonObject } from '../json.js'
import { spellPath } from '../problem.js'

const charactersMax = 64
const identifierRemedy = `use 1 to ${charactersMax} characters without blanks around them`
export const invisibleRemedy = 'leave out control and other invisible characters'
/** Opaque, owned by the utility: compared exactly, never read as a number. */
export const identifierSchema = z
  .string()
  .min(1, identifierRemedy)
  .max(charactersMax, identifierRemedy)
  .regex(/^\S(.*\S)?$/su, identifierRemedy)
  .refine((text) => !hasInvisible(text), invisibleRemedy)

const readUnderMax = 1_000

/** Other accounts whose reads the client may see at a meter: local days, both included. */
export const readUnderSchema = z
  .array(
    z.object({
      accountNumber: identifierSchema,
      from: z.iso.date('use a day, YYYY-MM-DD').optional(),
      to: z.iso.date('use a day, YYYY-MM-DD').optional(),
    }),
  )
  .max(readUnderMax, `list at most ${readUnderMax} accounts`)
  .readonly()

export type ReadUnderDays = z.output<typeof readUnderSchema>[number]

const text = z.string().max(1_000, 'use at most 1000 characters')
const present = text.regex(/\S/, 'is empty')

const unitsOf = { Electric: ['kWh', 'Wh'], Gas: ['ccf', 'cm', 'therm'] } as const

const meter = z
  .object({
    accountNumber: identifierSchema
      .describe('Contract account; changes when the customer moves')
      .optional(),
    meterId: identifierSchema.describe('Permanent unique meter; used in hub binding requests'),
    meterType: z.enum(['Electric', 'Gas']),
    unitOfMeasure: z
      .enum(['kWh', 'Wh', 'ccf', 'cm', 'therm'])
      .describe('Electric: kWh or Wh. Gas: ccf, cm or therm')
      .optional(),
    isPrimary: z.boolean().describe('The main meter of its site'),
    isAMI: z.boolean().describe('A smart meter that sends its data by radio mesh'),
    isAMR: z.boolean().describe('A meter that is read by drive-by vehicle').optional(),
    PANID: z.union([z.string(), z.number()]).describe('Obsolete').optional(),
    rateCode: identifierSchema.describe('Selects the billing calculator'),
    rateMultiplier: z.union([z.number(), z.string()]).describe('Obsolete').optional(),
    billingCycleId: z
      .union([z.int(), identifierSchema])
      .describe('Refers to the billing cycle schedule'),
    dialCount: z.union([z.int(), z.string()]).describe('Obsolete').optional(),
  })
  .meta({ id: 'Meter' })

const site = z
  .object({
    externalSiteId: identifierSchema.describe('Permanent premise; does not change between tenants'),
    isPrimary: z.boolean().describe('The primary location; true when it is the only one'),
    firstName: text.optional(),
    lastName: text.optional(),
    address1: present.describe('Street address'),
    city: present,
    state: z
      .string()
      .regex(/^[A-Za-z]{2}$/, 'use two letters')
      .describe('State or province'),
    postalCode: z
      .string()
      .regex(/^(\d{5}|[A-Za-z]\d[A-Za-z] \d[A-Za-z]\d)$/, 'use 5 digits, or A1A 1A1')
      .describe('US: 5 digits. Canada: 6 characters with a space in the middle'),
    meters: z.array(meter).min(1, 'name at least one meter'),
  })
  .meta({ id: 'CustomerSite' })

/**
 * A customer as the gateway answers it. Specification 2.4 to 2.6: a customer has sites, a site has
 * meters, and each field is required or not as here. JsonObject that are not named here are left out.
 */
export const customerSchema = z
  .object({
    clientId: identifierSchema.describe('Permanent profile; stays when the customer moves'),
    firstName: text.nullable().optional(),
    lastName: text.nullable().optional(),
    businessName: text.nullable().describe('Marks a business account').optional(),
    AcctStatus: text.describe('Account state code, as the utility has it').optional(),
    customerSites: z.array(site).min(1, 'name at least one site'),
  })
  .meta({ id: 'Customer' })

const launchMeter = meter.partial({ isPrimary: true }).meta({ id: 'Meter' })
const launchSite = site
  .partial({ isPrimary: true, address1: true, city: true, state: true })
  .extend({ meters: z.array(launchMeter).min(1, 'name at least one meter') })
  .meta({ id: 'CustomerSite' })
/**
 * The same with the minimum for launch. Specification 2.6: clientId; a site with externalSiteId and
 * postalCode; a meter with meterId, meterType, isAMI, rateCode and billingCycleId.
 */
const launchCustomerSchema = customerSchema
  .extend({ customerSites: z.array(launchSite).min(1, 'name at least one site') })
  .meta({ id: 'Customer' })

/** The customer that the gateway answers by these rules. */
export function customerSchemaBy({ required }: Pick<CustomerRules, 'required'>) {
  return required === 'full' ? customerSchema : launchCustomerSchema
}

export type Customer = z.output<typeof launchCustomerSchema>
export type CustomerSite = Customer['customerSites'][number]
export type Meter = CustomerSite['meters'][number]

export interface CustomerRules {
  /** Which fields a record must have; both ways a field that is there must be right. */
  readonly required: 'full' | 'launchMinimum'
  /**
   * Whether clients and premises keep their identifiers for good, so that only the account number
   * shows a move: then each meter needs one.
   */
  readonly permanentIds: boolean
}

/** What is wrong with a record: field and reason, never the value. */
export interface CustomerProblem {
  /** `customerSites[0].postalCode`; empty for the record as a whole. */
  readonly field: string
  readonly reason: string
  /** What the value looks like: letters are `A`, digits `9`; undefined for a missing one. */
  readonly shape?: string
}

export type CustomerVerdict =
  | {
      readonly customer: Customer
      /** Of each meter, in their order; it is not part of what the platform receives. */
      readonly readUnder: readonly (readonly ReadUnderDays[])[]
      readonly problems?: never
    }
  | {
      readonly customer?: never
      readonly readUnder?: never
      readonly problems: readonly CustomerProblem[]
    }

/**
 * Checks a customer as the utility's system gave it and fills in what follows from it: a site or a
 * meter that is alone is primary, null means absent where the specification has no null.
 */
export function judgeCustomer(value: unknown, rules: CustomerRules): CustomerVerdict {
  const record = fillIn(value)
  const parsed = customerSchemaBy(rules).safeParse(record, { error: explain })
  const missing = parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => toProblem(record, path, message))
  if (!parsed.success) return { problems: missing }
  const lists = readLists(record)
  const problems = [...findProblems(parsed.data, rules), ...lists.problems]
  if (problems.length > 0) return { problems }
  return { customer: parsed.data, readUnder: lists.readUnder }
}

/** The lists `readUnder` of all meters of a record that is otherwise valid. */
function readLists(record: unknown) {
  const { customerSites } = record as { customerSites: { meters: JsonObject[] }[] }
  const problems: CustomerProblem[] = []
  const readUnder = customerSites.flatMap(({ meters }, at) =>
    meters.map(({ readUnder: list = [] }, of) => {
      const listed = Array.isArray(list)
        ? list.map((one) => (isObject(one) ? withoutNull(one) : one))
        : list
      const parsed = readUnderSchema.safeParse(listed, { error: explain })
      if (parsed.success) return parsed.data
      const where = ['customerSites', at, 'meters', of, 'readUnder']
      problems.push(
        ...parsed.error.issues.map(({ path, message }) => {
          return toProblem(record, [...where, ...path], message)
        }),
      )
      return []
    }),
  )
  return { readUnder, problems }
}

/** What one field alone does not show. */
function findProblems(customer: Customer, rules: CustomerRules): readonly CustomerProblem[] {
  const problems: CustomerProblem[] = []
  for (const [at, { meters }] of customer.customerSites.entries()) {
    for (const [of, meter] of meters.entries()) {
      const field = (name: keyof Meter) => `customerSites[${at}].meters[${of}].${name}`
      if (rules.permanentIds && meter.accountNumber === undefined) {
        problems.push({ field: field('accountNumber'), reason: 'is missing' })
      }
      const units: readonly string[] = unitsOf[meter.meterType]
      if (meter.unitOfMeasure !== undefined && !units.includes(meter.unitOfMeasure)) {
        const reason = `use ${units.join(' or ')} for ${meter.meterType}`
        const shape = shapeOf(meter.unitOfMeasure)
        problems.push({ field: field('unitOfMeasure'), reason, shape })
      }
    }
  }
  return problems
}

const nullable = new Set(['firstName', 'lastName', 'businessName'])

function fillIn(value: unknown): unknown {
  if (!isObject(value)) return value
  const sites = mapEach(value['customerSites'], (site, count) => {
    const meters = mapEach(site['meters'], (meter, alone) =>
      alone === 1 && meter['isPrimary'] === undefined ? { ...meter, isPrimary: true } : meter,
    )
    return { ...site, meters, ...(count === 1 && { isPrimary: true }) }
  })
  return { ...withoutNull(value, nullable), customerSites: sites }
}

function mapEach(list: unknown, map: (item: JsonObject, count: number) => JsonObject): unknown {
  if (!Array.isArray(list)) return list
  return list.map((item) => (isObject(item) ? map(withoutNull(item), list.length) : item))
}

function withoutNull(fields: JsonObject, kept: ReadonlySet<string> = new Set()): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null || kept.has(name)),
  )
}

function explain(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type' || issue.code === 'invalid_union') {
    if (issue.input === undefined) return 'is missing'
    return issue.code === 'invalid_type'
      ? `is not of type ${issue.expected}`
      : 'is neither a whole number nor a text'
  }
  if (issue.code === 'invalid_value') {
    return issue.input === undefined ? 'is missing' : `use ${issue.values.join(' or ')}`
  }
  return undefined
}

function toProblem(record: unknown, path: readonly PropertyKey[], reason: string): CustomerProblem {
  const value = path.reduce((found, key) => (found as Record<PropertyKey, unknown>)?.[key], record)
  const field = spellPath(path)
  return value === undefined ? { field, reason } : { field, reason, shape: shapeOf(value) }
}

const shownMax = 20

/** What a value looks like, without the value: letters are `A`, digits `9`. */
export function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value !== 'string') return value === null ? 'null' : `of type ${typeof value}`
  if (value.length > shownMax) return `a text of ${value.length} characters`
  return `a text like ${JSON.stringify(value.replace(/\p{L}/gu, 'A').replace(/\p{N}/gu, '9'))}`
}

/** A problem for people: field, what is wrong and the shape of the value, never the value. */
export function spellProblem({ field, reason, shape }: CustomerProblem): string {
  return `${field || 'the record'} ${reason}${shape === undefined ? '' : ` (it is ${shape})`}`
}
