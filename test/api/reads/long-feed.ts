import { register } from '../../../pipeline/customers/registrations.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { publishReads, registeringAt } from '../../pipeline/customers/registering.js'

const accountNumber = 'A1'
export const longMeters: readonly string[] = Array.from({ length: 60 }, (_, at) => `M${at}`)
export const longDays = ['2023-01-02', '2026-01-02'] as const

/**
 * Gives a customer meters with two reads three years apart each: a download asks for their days part by part, for
 * seconds.
 */
export async function readFarApart(store: Store, clientId: string): Promise<void> {
  await register(registeringAt(store), [
    {
      clientId,
      acctStatus: 'A',
      meters: longMeters.map((meterId) => ({
        ...{ accountNumber, externalSiteId: 'S', meterId, meterType: 'Electric' as const },
        ...{ unitOfMeasure: 'kWh', rateCode: 'RES', billingCycleId: '7', isAMI: true },
      })),
    },
  ])
  await publishReads(
    store,
    5,
    longMeters.flatMap((meterId) =>
      longDays.map((day) => ({ accountNumber, meterId, startsAt: `${day}T12:00:00Z` })),
    ),
  )
}
