import type { Registration } from '../../schemas/gateway/registration.js'
import { groupBy } from '../../schemas/lists/group-by.js'
import { batchesOf } from '../store/batches.js'
import type { RowReader } from '../store/replicas.js'
import type { ClaimContext } from '../usage/lengths/claimed.js'
import { askOneServer } from '../whole.js'
import { metersNamedIn, type NamedFile, recordAccountsOf } from './account-meters.js'
import { erasedPlaces } from './erasure/erasure.js'
import { askForHeld, askForHeldOf, endClaim, nextClaim, storeClaimed } from './held.js'
import { findNews, latestOf } from './news.js'
import { type RegisterContext, renewTenancies } from './renewal.js'
import { addRecords, type RecordFact, readRecords } from './stored-facts.js'
import { readTenancies, type StoredTenancy } from './stored-tenancies.js'

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
 * Ends what some clients have: `closed` where the utility says that their accounts are, `left` where
 * they are unregistered. Returns how many of them had something. Faults: the store's.
 */
export async function endClients(
  context: RegisterContext,
  clientIds: readonly string[],
  kind: 'closed' | 'left',
): Promise<number> {
  if (clientIds.length === 0) return 0
  const known = await askOneServer(context.store, ['registration_fact'], (server) =>
    readRecords(server, { meterIds: [], clientIds }),
  )
  const latest = latestOf(known).filter((fact) => {
    return fact.kind === 'seen' || (kind === 'left' && fact.kind !== 'left')
  })
  const now = context.now().getTime()
  const news = latest
    .filter(({ clientId }) => clientIds.includes(clientId))
    .map((fact): RecordFact => {
      const { meterId, externalSiteId, accountNumber, clientId } = fact
      const at = Math.max(now, fact.at + 1)
      return { kind, meterId, externalSiteId, accountNumber, clientId, at }
    })
  await addNews(context, news, known)
  if (news.length === 0) await finish(context, known)
  return new Set(news.map(({ clientId }) => clientId)).size
}

export interface LearnedAccounts {
  /** Whether files named accounts that were recorded. */
  readonly hasNamed: boolean
  /** Whether held reads may have been asked for. */
  readonly hasRenewed: boolean
}

/**
 * Takes notice of the accounts in published usage files, one or those of a group: a first read, an exchanged meter, reads
 * behind an end; and of held reads of theirs that are a client's by now. Repeating it finishes what was begun.
 */
export async function learnAccounts(
  context: RegisterContext,
  files: readonly NamedFile[],
): Promise<LearnedAccounts> {
  const { store } = context
  const arrivals = files.map(({ arrival }) => arrival)
  const [known, hasNews] = await Promise.all([
    // By an earlier run, of which this one finds nothing new.
    metersNamedIn(store, arrivals),
    recordAccountsOf(store, files),
  ])
  const { isAny, ofClients } = hasNews ? await metersNamedIn(store, arrivals) : known
  await renewAll(context, ofClients)
  const holds = context.profile.ingestion !== 'full'
  const hasAsked = holds && (await askForHeldOf(store, arrivals))
  return { hasNamed: isAny, hasRenewed: ofClients.length > 0 || hasAsked }
}

/** Renews the tenancies of any number of meters as their facts have them now. */
export async function renewAll(
  context: RegisterContext,
  meterIds: readonly string[],
): Promise<void> {
  for (const some of batchesOf(meterIds, metersMax)) {
    await renewTenancies(context, some)
    await askAll(context, some)
  }
}

/** Asks for the held reads of meters for their clients, where the profile holds any. */
async function askAll(context: RegisterContext, meterIds: readonly string[]): Promise<void> {
  if (context.profile.ingestion === 'full' || meterIds.length === 0) return
  await askForHeld(context.store, meterIds)
}

/**
 * Stores the held reads that were asked for, and derives the tenancies that differ by them, which may
 * ask for more. Runs alone and beside no verdict; a claim that a crash cut short is finished first.
 */
export async function claimHeld(context: RegisterContext & ClaimContext): Promise<void> {
  const { store } = context
  for (let claim = await nextClaim(store); claim !== undefined; claim = await nextClaim(store)) {
    await renewAll(context, await storeClaimed(context, claim))
    await endClaim(store, claim)
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
  const { customers, known, stored } = await askOneServer(
    context.store,
    ['erasure', 'registration_fact', 'tenancy'],
    (server) => readKnown(server, all),
  )
  if (stored === undefined) return 0
  const now = context.now().getTime()
  const news = findNews(customers, { known, stored, now, zone: context.zone })
  await addNews(context, news, known)
  await finish(context, known)
  return new Set(news.map(({ clientId }) => clientId)).size
}

/** What is known of the meters of customers; nothing is stored where there are none. */
async function readKnown(server: RowReader, all: readonly Registration[]) {
  const customers = await withoutErased(server, all)
  const clientIds = [...new Set(customers.map(({ clientId }) => clientId))]
  const listed = [...new Set(customers.flatMap(({ meters }) => meters.map((one) => one.meterId)))]
  const known = await readRecords(server, { meterIds: listed, clientIds })
  const meterIds = [...new Set([...listed, ...known.map(({ meterId }) => meterId)])]
  const stored = meterIds.length === 0 ? undefined : await readTenancies(server, meterIds)
  return { customers, known, stored }
}

/** Finishes what a call that died has begun: tenancies behind their facts, and held reads. */
async function finish(context: RegisterContext, known: readonly RecordFact[]): Promise<void> {
  const meterIds = [...new Set(known.map(({ meterId }) => meterId))]
  if (meterIds.length === 0) return
  const behind = findBehind(known, await readTenancies(context.store, meterIds))
  await renewAll(context, behind)
  const others = meterIds.filter((meterId) => !behind.includes(meterId))
  await askAll(context, others)
}

async function addNews(
  context: RegisterContext,
  news: readonly RecordFact[],
  known: readonly RecordFact[],
): Promise<void> {
  if (news.length === 0) return
  await addRecords(context.store, news, known)
  await renewAll(context, [...new Set(news.map(({ meterId }) => meterId))])
}

/** A record may still list what was terminated long ago. */
async function withoutErased(
  store: RowReader,
  customers: readonly Registration[],
): Promise<readonly Registration[]> {
  const accounts = customers.flatMap(({ meters }) => meters.map((one) => one.accountNumber))
  const isErased = await erasedPlaces(store, [...new Set(accounts)])
  return customers.map((customer) => {
    return { ...customer, meters: customer.meters.filter((meter) => !isErased(meter)) }
  })
}

/** Meters with a record that no tenancy rests on: a writer crashed on the way. */
function findBehind(
  known: readonly RecordFact[],
  stored: readonly StoredTenancy[],
): readonly string[] {
  return groupBy(known, ({ meterId }) => meterId)
    .filter((facts) => {
      const [{ meterId }] = facts as readonly [RecordFact]
      const own = stored.filter(({ row }) => row.meter_id === meterId)
      const latest = Math.max(...facts.map(({ at }) => at))
      return own.length === 0 || own.some(({ row }) => Date.parse(`${row.known_at}Z`) < latest)
    })
    .map((facts) => facts[0]?.meterId ?? '')
}
