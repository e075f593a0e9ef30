import { demoCustomers } from '../customers.js'
import { draw } from '../draw.js'

/** A customer of the simulated CIS, with the field names of the gateway's customer endpoint. */
export interface Person {
  readonly clientId: string
  readonly firstName: string
  readonly lastName: string
  readonly businessName: string | null
  readonly AcctStatus: string
  readonly locked: boolean
  readonly customerSites: readonly PersonSite[]
}

interface PersonSite {
  readonly externalSiteId: string
  readonly meters: readonly PersonMeter[]
  readonly [field: string]: unknown
}

interface PersonMeter {
  readonly accountNumber: string
  readonly meterId: string
  readonly [field: string]: unknown
}

const streams = { first: 11, last: 12, street: 13, city: 14, house: 15, kind: 16 } as const
const firstNames = ['Ada', 'Ben', 'Carla', 'Dev', 'Elif', 'Finn', 'Grace', 'Hugo', 'Ines', 'Jon']
const lastNames = ['Abara', 'Brandt', 'Costa', 'Dube', 'Evans', 'Fischer', 'Gupta', 'Haas', 'Ito']
const streets = ['Oak', 'Maple', 'Cedar', 'Elm', 'Lake', 'Hill', 'Park', 'River', 'Mill']
const cities = [
  ['Detroit', 'MI', '48201'],
  ['Ann Arbor', 'MI', '48104'],
  ['Toledo', 'OH', '43604'],
  ['Windsor', 'ON', 'N9A 4J8'],
] as const
const fallbackCity = cities[0]

/** One in this many customers is locked, closed, a business, has moved out, or shares an account. */
const every = { locked: 50, closed: 40, business: 25, moved: 30, shared: 35 } as const

/**
 * The customers of the simulated utility by clientId. Some are locked or closed, some have moved out
 * of a site that another account now has, and some share an account.
 */
export function demoPeople(seed: number, count: number): ReadonlyMap<string, Person> {
  const people = new Map<string, Person>()
  const customers = demoCustomers(seed, count)
  for (const [index, customer] of customers.entries()) {
    const is = (kind: keyof typeof every) => index % every[kind] === every[kind] - 1
    const before = customers[index - 1]
    const shared = is('shared') ? before : undefined
    const held = shared ?? (is('moved') ? before : undefined) ?? customer
    const [city, state, postalCode] =
      pickFrom(cities, draw(seed, streams.city, index)) ?? fallbackCity
    const firstName = pickFrom(firstNames, draw(seed, streams.first, index)) ?? ''
    const lastName = pickFrom(lastNames, draw(seed, streams.last, index)) ?? ''
    people.set(customer.clientId, {
      clientId: customer.clientId,
      firstName,
      lastName,
      businessName: is('business') ? `${lastName} Hardware` : null,
      AcctStatus: is('closed') ? 'F' : customer.acctStatus,
      locked: is('locked'),
      customerSites: [
        {
          externalSiteId: held.externalSiteId,
          isPrimary: true,
          firstName,
          lastName,
          address1: `${1 + (draw(seed, streams.house, index) % 999)} ${pickFrom(streets, draw(seed, streams.street, index))} Street`,
          city,
          state,
          postalCode,
          meters: held.meters.map((meter) => ({
            accountNumber: shared?.accountNumber ?? customer.accountNumber,
            meterId: meter.meterId,
            meterType: meter.meterType,
            unitOfMeasure: meter.unitOfMeasure,
            isPrimary: meter.meterType === 'Electric',
            isAMI: meter.meterType === 'Electric',
            rateCode: meter.rateCode,
            billingCycleId: Number(meter.billingCycleId),
          })),
        },
      ],
    })
  }
  return people
}

function pickFrom<T>(list: readonly T[], number: number): T | undefined {
  return list[number % list.length]
}
