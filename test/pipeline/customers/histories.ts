import { claimHeld, endClients, register } from '../../../pipeline/customers/registrations.js'
import type { Registration } from '../../../schemas/gateway/registration.js'
import { customerAt } from './registering.js'

export interface Place {
  /** Empty where the record or the read names none. */
  readonly account: string
  readonly site: string
}

/** What the gateway sees of a client in a round: a record, or an end. */
export interface Sight {
  readonly client: string
  readonly kind: 'record' | 'closed' | 'left'
  readonly status: string
  readonly places: readonly Place[]
  readonly under: Under | undefined
}

/** Another account that a record lists under `readUnder`: days since the first one, both inclusive. */
export interface Under {
  readonly account: string
  readonly from: number | undefined
  readonly to: number | undefined
}

export interface HistoryRead extends Place {
  readonly meter: string
  /** Hours since the first day. */
  readonly hour: number
}

/** Some months of one neighbourhood: what is seen in each round, and what each file holds. */
export interface History {
  readonly rounds: readonly (readonly Sight[])[]
  readonly usage: readonly (readonly HistoryRead[])[]
  /** Account, site, meter and the hour of the effective date. */
  readonly bills: readonly HistoryRead[]
  /** The day of a termination, for the whole account, or at one site. */
  readonly terminations: readonly (Place & { readonly day: number })[]
}

/** Local midnight. The clocks go forward within the histories. */
export const firstDay = Date.parse('2026-02-16T05:00:00Z')
const clocksChange = Date.parse('2026-03-08T07:00:00Z')
const hourMs = 3_600_000
export const roundCount = 5
const daysOfRound = 10
const dayMs = 24 * hourMs
export const metersOf: Readonly<Record<string, readonly string[]>> = { S: ['M', 'N'], T: ['O'] }

export function instantOfRound(round: number): number {
  return firstDay + (round * daysOfRound + 3) * dayMs + 1_234
}

export function instantOfHour(hour: number): number {
  return firstDay + hour * hourMs
}

/** What the clock shows at an instant, as if it were UTC. */
export function wallAt(ms: number): Date {
  return new Date(ms - (ms < clocksChange ? 5 : 4) * hourMs)
}

/** The local midnight at which the effective date of a bill begins. */
export function instantOfBill({ hour }: HistoryRead): number {
  return midnightBy(Date.parse(`${dayOf(instantOfHour(hour))}T05:00:00Z`))
}

/** The local midnight at which a termination, or a day of `readUnder`, is over. */
export function endOfDay(day: number): number {
  return midnightBy(firstDay + (day + 1) * dayMs)
}

/** The local midnight of a day, by when it would be without the change of the clock. */
function midnightBy(ms: number): number {
  return ms < clocksChange ? ms : ms - hourMs
}

/**
 * A random history: few accounts, clients and meters, so that they meet often. `unnamed` is the share of
 * sites whose record gives no account number.
 */
export function anyHistory(random: () => number, { unnamed = 0.08 } = {}): History {
  const oneOf = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const some = <T>(max: number, one: () => T) =>
    Array.from({ length: Math.floor(random() * (max + 1)) }, one)
  const account = () => oneOf(['A', 'B', 'C', 'D'])
  const day = () => Math.floor(random() * roundCount * daysOfRound)
  const site = () => oneOf(['S', 'S', 'T'])
  const place = (none = 0) => ({ account: random() < none ? '' : account(), site: site() })
  const under = (): Under => ({
    account: account(),
    from: random() < 0.5 ? day() : undefined,
    to: random() < 0.5 ? day() : undefined,
  })
  const sight = (client: string): Sight => ({
    client,
    kind: oneOf(['record', 'record', 'record', 'record', 'closed', 'left']),
    status: oneOf(['A', 'A', 'A', 'F']),
    places: unique(some(3, () => place(unnamed))),
    under: random() < 0.15 ? under() : undefined,
  })
  const read = (): HistoryRead => {
    const where = place()
    const meter = oneOf(metersOf[where.site] ?? [])
    const hour = Math.floor(random() * roundCount * daysOfRound * 24)
    const named = oneOf(['X', '', '', ...Array<string>(7).fill(where.account)])
    return { ...where, account: named, meter, hour }
  }
  const files = Array.from({ length: 3 }, () => some(8, read))
  const corrected = (earlier: readonly HistoryRead[]) =>
    earlier
      .filter(() => random() < 0.15)
      .map((one) => (random() < 0.5 ? one : { ...one, account: oneOf(['', account()]) }))
  return {
    rounds: Array.from({ length: roundCount }, () =>
      ['1', '2', '3'].filter(() => random() < 0.5).map(sight),
    ),
    usage: files.map((own, at) => [...own, ...corrected(files.slice(0, at).flat())]),
    bills: some(2, () => ({ ...read(), account: oneOf([account(), account(), 'X']) })),
    terminations:
      random() < 0.4
        ? [
            {
              account: account(),
              site: oneOf(['', 'S']),
              day: day(),
            },
          ]
        : [],
  }
}

function dayText(day: number | undefined): string | undefined {
  return day === undefined ? undefined : dayOf(firstDay + day * dayMs)
}

export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

function unique(places: readonly Place[]): readonly Place[] {
  return [...new Map(places.map((one) => [JSON.stringify(one), one])).values()]
}

/** An account number with the prefix of its history; none stays none. */
export const named = (account: string, prefix: string) => (account === '' ? '' : prefix + account)

/** A read as a row of a file, and the name of the n-th such file. */
export function toRow({ account, site, meter, hour }: HistoryRead, prefix: string, quantity = 1) {
  const wall = wallAt(instantOfHour(hour))
  const at = `${wall.getUTCMonth() + 1}/${wall.getUTCDate()}/${wall.getUTCFullYear()} ${wall.getUTCHours()}:00`
  return `${prefix}${account},${prefix}${site},${prefix}${meter},${at},${quantity}`
}

export function fileName(n: number): string {
  const [day, month] = [(n % 28) + 1, Math.floor(n / 28) + 1]
  return `DEMO_${String(day).padStart(2, '0')}${String(month).padStart(2, '0')}2026_Electric.csv`
}

type Registering = Parameters<typeof claimHeld>[0]

/** Takes in what is seen of clients of several histories: each step is run by `run`. */
export async function takeSights(
  sights: readonly { readonly sight: Sight; readonly prefix: string }[],
  run: (step: (at: Registering) => Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const of = (kind: Sight['kind']) => sights.filter(({ sight }) => sight.kind === kind)
  const records = of('record').map(({ sight, prefix }) => toRecord(sight, prefix))
  await run((at) => register(at, records))
  for (const kind of ['closed', 'left'] as const) {
    const clientIds = of(kind).map(({ sight, prefix }) => `${prefix}${sight.client}`)
    await run((at) => endClients(at, clientIds, kind))
  }
  await run((at) => claimHeld(at))
}

/** The record as the gateway registers it; identifiers begin with `prefix`. */
export function toRecord(sight: Sight, prefix: string): Registration {
  const { client, status, places, under } = sight
  const readUnder =
    under === undefined
      ? []
      : [
          {
            accountNumber: named(under.account, prefix),
            from: dayText(under.from),
            to: dayText(under.to),
          },
        ]
  const meters = places.flatMap(({ account, site }) =>
    (metersOf[site] ?? []).flatMap((meter) =>
      customerAt({
        clientId: `${prefix}${client}`,
        accountNumber: named(account, prefix),
        externalSiteId: `${prefix}${site}`,
        meterId: `${prefix}${meter}`,
      }).meters.map((one) => ({ ...one, readUnder })),
    ),
  )
  return { clientId: `${prefix}${client}`, acctStatus: status, meters }
}
