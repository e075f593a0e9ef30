import { z } from 'zod'
import { strict } from '../strict.js'
import { type Customer, identifierSchema, type ReadUnderDays, readUnderSchema } from './customer.js'

const code = z.string().max(64)

const registeredMeter = strict({
  /** Empty where the utility gives none. */
  accountNumber: z.union([identifierSchema, z.literal('')]),
  externalSiteId: identifierSchema,
  meterId: identifierSchema,
  meterType: z.enum(['Electric', 'Gas']),
  /** kWh, Wh, ccf, cm or therm; empty where the utility gives none. */
  unitOfMeasure: code,
  rateCode: code,
  /** As a text, compared exactly. */
  billingCycleId: code,
  isAMI: z.boolean(),
  /** Landlords and sub-accounts (decision 11); it never starts, extends or reopens a tenancy. */
  readUnder: readUnderSchema.optional(),
})

/** Meters of one customer, and sites in `partialSites`: what one job carries. */
export const registeredMax = 10_000

/**
 * The `externalSiteId` of each site of which something was left out, so that a meter that the record does
 * not list may still be there; `all` if one of them has no readable id, or if they are too many.
 */
const partialSites = z.union([
  z.array(identifierSchema).max(registeredMax).readonly(),
  z.literal('all'),
])

export type PartialSites = z.output<typeof partialSites>

/**
 * What the pipeline learns about a customer: identifiers and codes. It travels as the data of a job,
 * so names, addresses and whatever else a record holds must not get in.
 */
export const registrationSchema = strict({
  clientId: identifierSchema,
  acctStatus: code,
  partialSites: partialSites.optional(),
  meters: z.array(registeredMeter).max(registeredMax).readonly(),
})

export type Registration = z.output<typeof registrationSchema>

/** What a record says in addition to the customer that the platform receives. */
export interface RegistrationExtras {
  readonly partialSites?: PartialSites
  /** Of each meter, in their order. */
  readonly readUnder?: readonly (readonly ReadUnderDays[])[]
}

/** Strips a customer to its identifiers and codes. */
export function toRegistration(
  customer: Customer,
  { partialSites = [], readUnder = [] }: RegistrationExtras = {},
): Registration {
  const lists = readUnder.values()
  return {
    clientId: customer.clientId,
    acctStatus: (customer.AcctStatus ?? '').slice(0, 64),
    ...(partialSites.length > 0 && { partialSites }),
    meters: customer.customerSites.flatMap(({ externalSiteId, meters }) =>
      meters.map((meter) => {
        const listed = lists.next().value ?? []
        return {
          accountNumber: meter.accountNumber ?? '',
          externalSiteId,
          meterId: meter.meterId,
          meterType: meter.meterType,
          unitOfMeasure: meter.unitOfMeasure ?? '',
          rateCode: meter.rateCode,
          billingCycleId: String(meter.billingCycleId),
          isAMI: meter.isAMI,
          ...(listed.length > 0 && { readUnder: listed }),
        }
      }),
    ),
  }
}
