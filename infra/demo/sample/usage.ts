import { addDays } from '../../../schemas/time/zone.js'
import { demoPeople, type Person } from '../back-office/people.js'
import { type DemoMeter, demoCustomers } from '../customers.js'
import type { UsageOptions } from '../usage-rows.js'
import { days, firstDay, lastMonth } from './rates.js'

const seed = 20_251_102
const customersCount = 200
const zone = 'America/Detroit'
/** One in so many electric meters is read every 15 minutes, the others hourly. */
const quarterHourly = 10
const lastMonthDays = 31

/** The reads of some meters, with their rates and cycles, as one file. */
export interface Delivery extends UsageOptions {
  readonly name: string
  readonly meters: readonly DemoMeter[]
}

export interface SampleUsage {
  /** As their CIS has them: some have moved, some share an account. */
  readonly customers: readonly Omit<Person, 'locked'>[]
  readonly deliveries: readonly Delivery[]
}

type Kind = 'Electric' | 'Electric_2' | 'Gas'
const seconds = { Electric: 3_600, Electric_2: 900, Gas: 86_400 } as const

/** 200 customers and the reads of the sites where somebody lives, for 13 months in two deliveries. */
export function sampleUsage(): SampleUsage {
  const people = [...demoPeople(seed, customersCount).values()]
  const siteOf = new Map(people.map(({ clientId, customerSites: [site] }) => [clientId, site]))
  const owners = demoCustomers(seed, customersCount).filter(
    ({ clientId, externalSiteId }) => siteOf.get(clientId)?.externalSiteId === externalSiteId,
  )
  const meters = owners.flatMap((customer) => customer.meters)
  const tenants = nextTenants(people, new Set(owners.map(({ clientId }) => clientId)))
  return {
    customers: people.map(({ locked: _, ...customer }) => customer),
    deliveries: (['Electric', 'Electric_2', 'Gas'] as const).flatMap((kind, at) => {
      const own = meters.filter((meter) => kindOf(meter) === kind)
      const now = own.map((meter) => ({
        ...meter,
        accountNumber: tenants.get(meter.meterId) ?? meter.accountNumber,
      }))
      const shape = kind === 'Gas' ? 'gas' : 'electric'
      const shared = { intervalSeconds: seconds[kind], zone, shape } as const
      const historyDays = days - lastMonthDays
      return [
        {
          ...shared,
          name: fileName(lastMonth, kind),
          meters: own,
          seed: seed + at,
          firstDay,
          days: historyDays,
        },
        {
          ...shared,
          name: fileName(addDays(lastMonth, lastMonthDays), kind),
          meters: now,
          seed: seed + 10 + at,
          firstDay: lastMonth,
          days: lastMonthDays,
        },
      ]
    }),
  }
}

/** The account of who has moved into the site of another customer, by meter; not of who shares one. */
function nextTenants(
  people: readonly Person[],
  owners: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const accounts = new Map(
    people
      .filter(({ clientId }) => owners.has(clientId))
      .flatMap(({ customerSites: [site] }) => site?.meters ?? [])
      .map(({ meterId, accountNumber }) => [meterId, accountNumber]),
  )
  return new Map(
    people
      .filter(({ clientId }) => !owners.has(clientId))
      .flatMap(({ customerSites: [site] }) => site?.meters ?? [])
      .filter(({ meterId, accountNumber }) => accounts.get(meterId) !== accountNumber)
      .map(({ meterId, accountNumber }) => [meterId, accountNumber]),
  )
}

function kindOf({ meterType, meterId }: DemoMeter): Kind {
  if (meterType === 'Gas') return 'Gas'
  return Number(meterId) % quarterHourly === 0 ? 'Electric_2' : 'Electric'
}

/** The name of a file of the demo utility that is sent on a day. */
export function fileName(day: string, feed: string): string {
  return `DEMO_${day.split('-').reverse().join('')}_${feed}.csv`
}
