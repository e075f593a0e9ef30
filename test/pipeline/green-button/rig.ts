import type { Test } from 'tap'
import { greenButton } from '../../../pipeline/green-button/feed.js'
import type { UsageWanted } from '../../../pipeline/green-button/reads.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { createZone } from '../../../schemas/time/zone.js'
import { type BillRig, billRig, steady, timeZone } from '../bills/rig.js'
import { customerAt } from '../customers/registering.js'

/** What feeds are made with. */
export const contextOf = (store: Store) => ({
  store,
  profile: { database: 'tieline' },
  zone: createZone(timeZone),
  now: () => new Date('2026-04-01T00:00:00Z'),
})

/** The whole text of a feed. */
export async function feedOf(store: Store, wanted: UsageWanted): Promise<string> {
  let text = ''
  for await (const piece of await greenButton(contextOf(store), wanted)) text += piece
  return text
}

/** January 2026 of the customer below. */
export const january = { clientId: 'anna', from: '2026-01-01', to: '2026-01-31' }

/** January in Detroit: 2,976 quarter hours. */
const from = '2026-01-01T05:00:00Z'

/**
 * A customer with three meters: HOUSE is billed by the utility, SOLAR generates and has a computed bill
 * alone, and GAS has one read a day.
 */
export async function createCustomer(
  t: Test,
  { store, clientId = 'anna' }: { readonly store?: Store; readonly clientId?: string } = {},
): Promise<BillRig> {
  const rig = await billRig(t, store)
  await rig.publish({
    RateCodes: ['TAXED,Taxed,Flat,,', 'GASFLAT,Gas,Flat,Gas,ccf'],
    RateFlat: ['TAXED,0.1,2025-01-01,,', 'GASFLAT,0.9,2025-01-01,,'],
    RateFixed: ['TAXED,Service charge,Service,PerMonth,8.5,true,2025-01-01,'],
    BillingCycles: ['7,2026-01-01,2026-01-31'],
  })
  const who = { clientId, accountNumber: 'ACCOUNT-1', rateCode: 'TAXED' }
  const gas = { meterType: 'Gas', unitOfMeasure: 'ccf', rateCode: 'GASFLAT' } as const
  const meters = [
    customerAt({ ...who, meterId: 'HOUSE' }),
    customerAt({ ...who, meterId: 'SOLAR' }),
    customerAt({ ...who, ...gas, meterId: 'GAS' }),
  ].flatMap(({ meters }) => meters)
  await rig.register({ ...customerAt({ ...who, meterId: 'HOUSE' }), meters })
  const account = 'ACCOUNT-1'
  await rig.read({ meter: 'HOUSE', account, from, quantities: steady('0.25', 2_976) })
  const generated = steady('0.5', 2_976).map((one, at) => (at % 96 === 48 ? '-1.25' : one))
  await rig.read({ meter: 'SOLAR', account, from, quantities: generated })
  const daily = { seconds: 86_400, commodity: 'Gas', quantities: steady('2.000001', 31) } as const
  await rig.read({ meter: 'GAS', account, from, ...daily })
  await rig.publish({
    Billing: ['ACCOUNT-1,S,HOUSE,2026-01-01,2026-01-31,744,744,82.90,,'],
    BillingLines: [
      'ACCOUNT-1,HOUSE,2026-01-01,1,Energy,Energy,744,0.1,74.40',
      'ACCOUNT-1,HOUSE,2026-01-01,2,Fixed,Service charge,,,8.50',
    ],
  })
  await rig.bill({ start: '2026-01-01' })
  return rig
}
