import type { Registration } from '../../../schemas/gateway/registration.js'
import { customerAt } from './registering.js'

/** A random number generator from a seed, uniform in [0, 1): mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Place {
  readonly account: string
  readonly site: string
}

/** What the gateway sees of a client in a round: a record, or an end. */
export interface Sight {
  readonly client: string
  readonly kind: 'record' | 'closed' | 'left'
  readonly status: string
  readonly places: readonly Place[]
  /** Another account that the record lists under `readUnder`, for all time. */
  readonly under: string | undefined
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

export const firstDay = Date.parse('2026-01-01T05:00:00Z')
const hourMs = 3_600_000
export const roundCount = 5
const daysOfRound = 10
const metersOf: Readonly<Record<string, readonly string[]>> = { S: ['M', 'N'], T: ['O'] }

export function instantOfRound(round: number): number {
  return firstDay + (round * daysOfRound + 3) * 24 * hourMs + 1_234
}

export function instantOfHour(hour: number): number {
  return firstDay + hour * hourMs
}

/** A random history: few accounts, clients and meters, so that they meet often. */
export function anyHistory(random: () => number): History {
  const oneOf = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const some = <T>(max: number, one: () => T) =>
    Array.from({ length: Math.floor(random() * (max + 1)) }, one)
  const account = () => oneOf(['A', 'B', 'C', 'D'])
  const site = () => oneOf(['S', 'S', 'T'])
  const place = () => ({ account: account(), site: site() })
  const sight = (client: string): Sight => ({
    client,
    kind: oneOf(['record', 'record', 'record', 'record', 'closed', 'left']),
    status: oneOf(['A', 'A', 'A', 'F']),
    places: unique(some(3, place)),
    under: random() < 0.15 ? account() : undefined,
  })
  const read = (): HistoryRead => {
    const where = place()
    const meter = oneOf(metersOf[where.site] ?? [])
    const hour = Math.floor(random() * roundCount * daysOfRound * 24)
    return { ...where, account: random() < 0.1 ? 'X' : where.account, meter, hour }
  }
  return {
    rounds: Array.from({ length: roundCount }, () =>
      ['1', '2', '3'].filter(() => random() < 0.5).map(sight),
    ),
    usage: Array.from({ length: 3 }, () => some(8, read)),
    bills: some(2, read),
    terminations:
      random() < 0.4
        ? [
            {
              account: account(),
              site: oneOf(['', 'S']),
              day: Math.floor(random() * roundCount * daysOfRound),
            },
          ]
        : [],
  }
}

function unique(places: readonly Place[]): readonly Place[] {
  return [...new Map(places.map((one) => [JSON.stringify(one), one])).values()]
}

/** The record as the gateway registers it; identifiers begin with `prefix`. */
export function toRecord(sight: Sight, prefix: string): Registration {
  const { client, status, places, under } = sight
  const readUnder = under === undefined ? [] : [{ accountNumber: `${prefix}${under}` }]
  const meters = places.flatMap(({ account, site }) =>
    (metersOf[site] ?? []).flatMap((meter) =>
      customerAt({
        clientId: `${prefix}${client}`,
        accountNumber: `${prefix}${account}`,
        externalSiteId: `${prefix}${site}`,
        meterId: `${prefix}${meter}`,
      }).meters.map((one) => ({ ...one, readUnder })),
    ),
  )
  return { clientId: `${prefix}${client}`, acctStatus: status, meters }
}

/**
 * Whose a read is by decision 11, from the history alone: clients who must see it, and those who may by
 * `readUnder`.
 */
export function ownersOf(history: History, read: HistoryRead) {
  const at = instantOfHour(read.hour)
  const ended = history.terminations.filter((one) => {
    return one.account === read.account && (one.site === '' || one.site === read.site)
  })
  const isEnded = ended.some(({ day }) => at >= firstDay + (day + 1) * 24 * hourMs)
  const clients = ['1', '2', '3'].map((client) => ({ client, ...stateOf(history, client, read) }))
  const present = clients.filter(({ known, left }) => known && !left)
  const ends = present.map(({ end }) => end ?? Number.POSITIVE_INFINITY)
  const last = Math.max(...ends)
  const own = present.filter(({ end }) => end === undefined || end === last || at < end)
  const may = history.rounds.flat().filter(({ kind, under, places }) => {
    const isHere = places.some(({ site }) => site === read.site)
    return kind === 'record' && under === read.account && isHere
  })
  return {
    must: isEnded ? [] : own.map(({ client }) => client),
    may: may.map(({ client }) => client),
  }
}

/** What the sights of a client say of an account at a site, in the end. */
function stateOf({ rounds }: History, client: string, { account, site }: Place) {
  let [known, left] = [false, false]
  let end: number | undefined
  for (const [round, sights] of rounds.entries()) {
    for (const sight of sights.filter((one) => one.client === client)) {
      const at = instantOfRound(round)
      const isListed = sight.places.some((one) => one.account === account && one.site === site)
      if (sight.kind === 'left') left = left || known
      else if (sight.kind === 'closed' || !isListed) {
        if (known && !left) end ??= at
      } else {
        const isOpen = sight.status !== 'F'
        end = isOpen ? undefined : (end ?? at)
        known = true
        left = false
      }
    }
  }
  return { known, left, end }
}
