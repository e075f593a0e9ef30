import type { Registration } from '../../schemas/gateway/registration.js'
import type { Store } from '../store/clickhouse.js'
import { erasedPlaces } from './erasure.js'
import { addFacts, findStarts, metersWithEarlierStart, readFacts, readPremises } from './facts.js'
import {
  readTenancies,
  type StoredTenancy,
  toTenancyRow,
  writeTenancies,
} from './stored-tenancies.js'
import {
  codesOf,
  countFacts,
  type Fact,
  findShared,
  groupBy,
  type SeenFact,
  type StartFact,
  toTenancies,
} from './tenancies.js'

/** What registering works with; a `PipelineContext` is one. */
export interface RegisterContext {
  readonly store: Store
  readonly now: () => Date
}

export interface Registered {
  readonly customers: number
  /** Customers of whom something was new; the others cost no write. */
  readonly changed: number
  readonly meters: number
}

/** Meters that are processed together, with all their facts in memory. */
const metersMax = 1_000

/**
 * Registers customers. What a record says is added as facts, in one insert, and tenancies follow from
 * the facts alone: repeating a call, calling in parallel and crashing in between
 * change nothing, since the next call finishes what is not up to date. Faults: the store's.
 */
export async function register(
  context: RegisterContext,
  customers: readonly Registration[],
): Promise<Registered> {
  let changed = 0
  const meterIds = new Set<string>()
  for (const batch of toBatches(customers)) {
    for (const { meters } of batch) for (const { meterId } of meters) meterIds.add(meterId)
    changed += await registerBatch(context, batch)
  }
  return { customers: customers.length, changed, meters: meterIds.size }
}

/**
 * Moves the start of each tenancy for which a published file shows an earlier one. Repeating it finishes what was begun; where no meter has changed hands it changes nothing.
 */
export async function learnStarts(context: RegisterContext, arrival: number): Promise<void> {
  await renewAll(context, await metersWithEarlierStart(context.store, arrival))
}

/** Renews the tenancies of any number of meters as their facts have them now. */
export async function renewAll(
  context: RegisterContext,
  meterIds: readonly string[],
): Promise<void> {
  for (let at = 0; at < meterIds.length; at += metersMax) {
    await renewTenancies(context, meterIds.slice(at, at + metersMax))
  }
}

function toBatches(customers: readonly Registration[]): readonly (readonly Registration[])[] {
  const batches: Registration[][] = [[]]
  let meters = 0
  for (const customer of customers) {
    if (meters > 0 && meters + customer.meters.length > metersMax) {
      batches.push([])
      meters = 0
    }
    batches.at(-1)?.push(customer)
    meters += customer.meters.length
  }
  return batches
}

async function registerBatch(
  context: RegisterContext,
  all: readonly Registration[],
): Promise<number> {
  const { store } = context
  const customers = await withoutErased(store, all)
  const meterIds = [...new Set(customers.flatMap(({ meters }) => meters.map((one) => one.meterId)))]
  if (meterIds.length === 0) return 0
  const [known, stored] = await Promise.all([
    readFacts(store, meterIds),
    readTenancies(store, meterIds),
  ])
  const news = findNews(customers, known, context.now().getTime())
  if (news.length > 0) await addFacts(store, news, known.length)
  const behind = findBehind(known, stored)
  const stale = new Set([...news.map(({ meterId }) => meterId), ...behind])
  if (stale.size > 0) await renewTenancies(context, [...stale])
  return new Set(news.map(({ clientId }) => clientId)).size
}

/** A record may still list what was terminated long ago. */
async function withoutErased(
  store: Store,
  customers: readonly Registration[],
): Promise<readonly Registration[]> {
  const accounts = customers.flatMap(({ meters }) => meters.map((one) => one.accountNumber))
  const isErased = await erasedPlaces(store, [...new Set(accounts)])
  return customers.map((customer) => {
    return { ...customer, meters: customer.meters.filter((meter) => !isErased(meter)) }
  })
}

/**
 * What records say that the latest facts do not. A later record of a meter has a later instant,
 * even where the clocks of machines differ.
 */
function findNews(
  customers: readonly Registration[],
  known: readonly Fact[],
  now: number,
): readonly SeenFact[] {
  const latest = new Map<string, SeenFact>()
  const seenAt = new Map<string, number>()
  for (const fact of known) {
    if (fact.kind !== 'seen') continue
    const before = latest.get(keyOf(fact))
    if (before === undefined || before.at < fact.at) latest.set(keyOf(fact), fact)
    seenAt.set(fact.meterId, Math.max(seenAt.get(fact.meterId) ?? 0, fact.at))
  }
  const news = new Map<string, SeenFact>()
  for (const { clientId, acctStatus, meters } of customers) {
    for (const { isAMI, ...meter } of meters) {
      const at = Math.max(now, (seenAt.get(meter.meterId) ?? 0) + 1)
      const fact: SeenFact = { kind: 'seen', clientId, acctStatus, isAMI, ...meter, at }
      const before = latest.get(keyOf(fact))
      if (before !== undefined && isSame(before, fact)) {
        news.delete(keyOf(fact))
        continue
      }
      news.set(keyOf(fact), fact)
      seenAt.set(meter.meterId, at)
    }
  }
  return [...news.values()]
}

function keyOf(fact: SeenFact): string {
  return JSON.stringify([fact.clientId, fact.accountNumber, fact.externalSiteId, fact.meterId])
}

function isSame(a: SeenFact, b: SeenFact): boolean {
  return JSON.stringify(codesOf(a)) === JSON.stringify(codesOf(b))
}

/** Meters with more facts than their tenancies rest on: a writer crashed on the way. */
function findBehind(known: readonly Fact[], stored: readonly StoredTenancy[]): readonly string[] {
  return groupBy(known, ({ meterId }) => meterId)
    .filter((facts) => {
      const own = stored.filter(({ row }) => row.meter_id === facts[0]?.meterId)
      return (
        facts.some(({ kind }) => kind === 'seen') &&
        (own.length === 0 || own.some(({ version }) => version < countFacts(facts)))
      )
    })
    .map((facts) => facts[0]?.meterId ?? '')
}

/** Renews some meters, and those of the same premises whose accounts they share. */
async function renewTenancies(
  context: RegisterContext,
  meterIds: readonly string[],
): Promise<void> {
  const shared = await learnShared(context.store, meterIds)
  const all = [...new Set([...meterIds, ...shared])]
  for (let at = 0; at < all.length; at += metersMax) {
    await writeRenewed(context, all.slice(at, at + metersMax))
  }
}

/**
 * Adds who else has the accounts of some meters by a record that lists another meter of the premise,
 * and returns all meters of which that is known. Of two who register at once the later one to have
 * written sees both.
 */
async function learnShared(store: Store, meterIds: readonly string[]): Promise<readonly string[]> {
  const facts = await readPremises(store, meterIds)
  const news = findShared(facts)
  if (news.length > 0) await addFacts(store, news, facts.length)
  return [...facts.filter(({ kind }) => kind === 'shared'), ...news].map(({ meterId }) => meterId)
}

/**
 * Writes the tenancies of some meters as their facts have them now. Every row that rests on fewer
 * facts is written again, changed or not, so that a slower writer with less knowledge loses.
 */
async function writeRenewed(context: RegisterContext, meterIds: readonly string[]): Promise<void> {
  const { store, now } = context
  const facts = await learnFromUsage(store, await readFacts(store, meterIds))
  const stored = new Map(
    (await readTenancies(store, meterIds)).map((tenancy) => [tenancyKey(tenancy), tenancy]),
  )
  const writes = groupBy(facts, ({ meterId }) => meterId).flatMap((own) =>
    toTenancies(own).flatMap((tenancy) => {
      const fresh = { row: toTenancyRow(tenancy, now()), version: countFacts(own) }
      const before = stored.get(tenancyKey(fresh))
      if (before === undefined) return [fresh]
      const row = { ...fresh.row, published_at: before.row.published_at }
      const same = tenancyText(row) === tenancyText(before.row)
      if (same && before.version >= fresh.version) return []
      return [same ? { ...fresh, row } : fresh]
    }),
  )
  if (writes.length > 0) await writeTenancies(store, writes)
}

/** Where a meter has changed hands, reads and bills may show since when. */
async function learnFromUsage(store: Store, facts: readonly Fact[]): Promise<readonly Fact[]> {
  const moved = groupBy(facts, ({ meterId }) => meterId).filter((own) => {
    return toTenancies(own).some(({ startedBy }) => startedBy !== 'first')
  })
  const meterIds = moved.map((own) => own[0]?.meterId ?? '')
  if (meterIds.length === 0) return facts
  const known = moved.flat()
  const places = new Set(known.filter(({ kind }) => kind === 'seen').map(placeOf))
  const earliest = new Map<string, number>()
  for (const fact of known.filter(({ kind }) => kind === 'usage' || kind === 'bill')) {
    const key = `${fact.kind} ${placeOf(fact)}`
    earliest.set(key, Math.min(fact.at, earliest.get(key) ?? fact.at))
  }
  const isNews = (start: StartFact) =>
    places.has(placeOf(start)) &&
    start.at < (earliest.get(`${start.kind} ${placeOf(start)}`) ?? Number.MAX_VALUE)
  const news = (await findStarts(store, meterIds)).filter(isNews)
  if (news.length === 0) return facts
  await addFacts(store, news, facts.length)
  return readFacts(store, [...new Set(facts.map(({ meterId }) => meterId))])
}

function placeOf(fact: Fact): string {
  return JSON.stringify([fact.meterId, fact.externalSiteId, fact.accountNumber])
}

function tenancyKey({ row }: Pick<StoredTenancy, 'row'>): string {
  return JSON.stringify([row.meter_id, row.external_site_id, row.account_number, row.client_id])
}

function tenancyText(row: StoredTenancy['row']): string {
  return JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))
}
