import { z } from 'zod'
import { type Customer, identifier } from './customer.js'

const code = z.string().max(64)

const registeredMeter = z
  .strictObject({
    /** Empty where the utility gives none. */
    accountNumber: z.union([identifier, z.literal('')]),
    externalSiteId: identifier,
    meterId: identifier,
    meterType: z.enum(['Electric', 'Gas']),
    /** kWh, Wh, ccf or cm; empty where the utility gives none. */
    unitOfMeasure: code,
    rateCode: code,
    /** As a text, compared exactly. */
    billingCycleId: code,
    isAMI: z.boolean(),
  })
  .readonly()

const metersMax = 10_000

/**
 * What the pipeline learns about a customer: identifiers and codes. It travels as the data of a job,
 * so names, addresses and whatever else a record holds must not get in.
 */
export const registrationSchema = z
  .strictObject({
    clientId: identifier,
    acctStatus: code,
    meters: z.array(registeredMeter).max(metersMax).readonly(),
  })
  .readonly()

export type Registration = z.output<typeof registrationSchema>

/** Strips a customer to its identifiers and codes. */
export function toRegistration(customer: Customer): Registration {
  return {
    clientId: customer.clientId,
    acctStatus: (customer.AcctStatus ?? '').slice(0, 64),
    meters: customer.customerSites.flatMap(({ externalSiteId, meters }) =>
      meters.map((meter) => ({
        accountNumber: meter.accountNumber ?? '',
        externalSiteId,
        meterId: meter.meterId,
        meterType: meter.meterType,
        unitOfMeasure: meter.unitOfMeasure ?? '',
        rateCode: meter.rateCode,
        billingCycleId: String(meter.billingCycleId),
        isAMI: meter.isAMI,
      })),
    ),
  }
}
