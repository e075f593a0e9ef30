import type { Test } from 'tap'
import { createClickHouse } from '../../../infra/clickhouse/start.js'
import { readStatements } from '../../../infra/schema/migrate.js'
import { readableOf } from '../../../infra/schema/views/grants.js'
import { onFreePort } from '../../../infra/stack/port.js'
import type { NamedFile } from '../../../pipeline/customers/account-meters.js'
import { learnAccounts } from '../../../pipeline/customers/registrations.js'
import type { RegisterContext } from '../../../pipeline/customers/renewal.js'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { sql, typed } from '../../../pipeline/store/sql.js'
import { createReads, dropTables } from '../../../pipeline/store/staging.js'
import type { Registration } from '../../../schemas/gateway/registration.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createZone } from '../../../schemas/time/zone.js'
import { anyPort } from '../../rig/any-port.js'
import { createFolder } from '../../rig/folder.js'
import { placeReadyMade } from '../../rig/ready-made.js'
import { createReplicas } from '../../rig/replicas/start.js'

export const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
const zone = createZone(profile.timeZone)

/** What registering works with, at an instant. */
export function registeringAt(store: Store, now = () => new Date()) {
  return { store, profile, zone, now } satisfies RegisterContext
}

const writer = { user: 'writer', password: 'w' }
const reader = { user: 'reader', password: 'r' }

/** Set by `npm run test:replicated`. */
const isReplicated = process.env['TIELINE_TEST_REPLICATED'] === '1'

/**
 * A real store with the migrations of the house, gone with the test; one of two replicas if it is asked
 * for. A store in a folder of the caller is never one.
 */
export async function migratedStore(t: Test, folder?: string): Promise<Store> {
  if (isReplicated && folder === undefined) {
    const { stores, close } = await createReplicas(profile)
    t.teardown(close)
    return stores.r1
  }
  const dataPath = folder ?? createFolder(t)
  await placeReadyMade(dataPath, profile)
  const readable = readableOf(await readStatements(profile), profile.database)
  const engine = await onFreePort(anyPort(), (port) =>
    createClickHouse({
      dataPath,
      port,
      writer,
      reader,
      memoryBytesMax: 2 * 1024 ** 3,
      readable,
      onEvent: (event) => t.comment(event),
    }),
  )
  const { user: username, password } = writer
  const store = createStore({ url: engine.url, username, password, database: profile.database })
  t.teardown(async () => {
    await store.close()
    await engine.close()
  })
  return store
}

/** The address of a store of `migratedStore` for its reader; replicas have no such user. */
export function readerOf({ address }: Store): Store['address'] {
  return isReplicated ? address : { ...address, username: reader.user, password: reader.password }
}

export interface At {
  readonly clientId: string
  readonly accountNumber: string
  readonly meterId: string
  readonly externalSiteId?: string
  readonly acctStatus?: string
  readonly rateCode?: string
  readonly meterType?: 'Electric' | 'Gas'
  readonly unitOfMeasure?: string
}

/** A customer with one meter. */
export function customerAt(at: At): Registration {
  const { clientId, accountNumber, meterId, externalSiteId = 'S', rateCode = 'RES' } = at
  const { meterType = 'Electric', unitOfMeasure = 'kWh' } = at
  const codes = { meterType, unitOfMeasure, rateCode, billingCycleId: '7', isAMI: true }
  return {
    clientId,
    acctStatus: at.acctStatus ?? 'A',
    meters: [{ accountNumber, externalSiteId, meterId, ...codes }],
  }
}

export interface ReadAt {
  readonly accountNumber: string
  readonly meterId: string
  readonly externalSiteId?: string
  /** ISO 8601, UTC. */
  readonly startsAt: string
  /** `YYYY-MM-DD`; that of `startsAt` where it does not matter. */
  readonly localDay?: string
  readonly commodity?: 'Electric' | 'Gas'
  /** As sent; 1 where it does not matter. */
  readonly quantity?: string
  /** Whether it is an estimate. */
  readonly isEstimate?: boolean
}

/** Rows of `usage_read`, or of a staging table, as an arrival of theirs left them. */
export function toReadRows(arrival: number, reads: readonly ReadAt[]): readonly object[] {
  return reads.map((read, line) => ({
    meter_id: read.meterId,
    commodity: read.commodity ?? 'Electric',
    starts_at: read.startsAt,
    seconds: 900,
    local_day: read.localDay ?? read.startsAt.slice(0, 10),
    local_hour: 0,
    quantity: read.quantity ?? '1',
    account_number: read.accountNumber,
    external_site_id: read.externalSiteId ?? 'S',
    version: String(BigInt(arrival) * 2n ** 32n + BigInt(line + 2)),
    ...(read.isEstimate && { quality: 'estimated', yields: true }),
  }))
}

/** Puts reads into the store as a published file does. */
export async function publishReads(
  store: Store,
  arrival: number,
  reads: readonly ReadAt[],
): Promise<void> {
  await store.insert('usage_read', toReadRows(arrival, reads))
  await markReads(store, arrival)
  await publishFile(store, { arrival, feed: 'Electric' })
}

/** Makes the days of an arrival's reads stale, as publishing does. */
export async function markReads(store: Store, arrival: number): Promise<void> {
  await store.command({
    sql: sql`INSERT INTO stale_day (change, arrival, local_day, last_local_day, cause)
      SELECT DISTINCT ${typed('UInt64', arrival)}, ${typed('UInt32', arrival)}, local_day, local_day, 'file'
      FROM usage_read WHERE bitShiftRight(version, 32) = ${typed('UInt64', arrival)}`,
  })
}

export interface PublishedFile {
  readonly arrival: number
  readonly feed: string
  readonly publishedAt?: Date
  /** Whether it stored earlier reads under another length. */
  readonly rekeys?: boolean
  /** Other columns of its state. */
  readonly more?: object
}

/** Puts a published file into the ledger, at any instant. */
export async function publishFile(store: Store, file: PublishedFile): Promise<void> {
  const { arrival, feed, publishedAt = new Date(), rekeys = false, more = {} } = file
  const published = { file_id: `f${arrival}`, published_at: publishedAt.toISOString() }
  await store.command({
    sql: sql`INSERT INTO publication (published_seq, published_at, kind, arrival, file_id, change, rekeys)
      SELECT max(published_seq) + 1, ${publishedAt}, 'file', ${typed('UInt32', arrival)},
        ${published.file_id}, ${typed('UInt64', arrival)}, ${typed('Bool', rekeys)} FROM publication`,
  })
  await store.insert('file_state', [
    { arrival, rank: 55, status: 'published', feed, ...published, ...more },
  ])
}

/** A published file whose staging is gone, as `learnAccounts` takes it. */
export function withoutStaging(arrival: number): readonly NamedFile[] {
  return [{ arrival, decision: 0, groupId: 0, attaches: `staging_${arrival}_whole_0` }]
}

/**
 * Learns the accounts of a file from its staging: the store may have merged away reads that another file
 * has replaced.
 */
export async function learnStaged(
  context: RegisterContext,
  arrival: number,
  reads: readonly ReadAt[],
): Promise<void> {
  const { store } = context
  const attaches = `staging_${arrival}_whole_0`
  await store.command(createReads(attaches))
  await store.insert(attaches, toReadRows(arrival, reads))
  await learnAccounts(context, [{ arrival, decision: 0, groupId: arrival, attaches }])
  await dropTables(store, [attaches])
}
