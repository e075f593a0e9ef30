import type { Profile } from '../../schemas/settings/profile.js'
import { dayAt, type Zone } from '../../schemas/time/zone.js'
import {
  announce,
  announcedSince,
  announceKnown,
  nameChange,
  publishChanges,
} from '../ledger/announced.js'
import { readLast } from '../ledger/publication.js'
import { changesBetween } from '../ledger/usage-changes.js'
import type { Store } from '../store/clickhouse.js'
import { askOneServer } from '../whole.js'
import { findLateReads, type LateRead, recordLateReads } from './account-meters.js'
import { placeKey, readSites, toPlace } from './stored-facts.js'
import {
  readTenancies,
  type StoredTenancy,
  toTenancyRow,
  writeTenancies,
} from './stored-tenancies.js'
import { type Tenancy, toTenancies } from './tenancies.js'
import type { TenancyRules } from './tenants.js'

/** What registering works with; a `PipelineContext` is one. */
export interface RegisterContext {
  readonly store: Store
  readonly profile: Pick<Profile, 'closedStatuses' | 'ingestion'>
  readonly zone: Zone
  readonly now: () => Date
}

/**
 * Writes the tenancies of some meters, and of those that share their accounts, as their facts have
 * them now. Every row that rests on fewer facts is written again, changed or not, so that a slower
 * writer with less knowledge loses.
 */
export async function renewTenancies(
  context: RegisterContext,
  wanted: readonly string[],
): Promise<void> {
  const { store } = context
  let derived = await derive(context, wanted)
  if (derived.late.length > 0) {
    await recordLateReads(store, derived.late)
    derived = await derive(context, wanted)
  }
  const { tenancies, seq, before } = derived
  const stored = new Map(before.map((tenancy) => [tenancyKey(tenancy), tenancy]))
  const change = nameChange()
  const made = { change, at: context.now() }
  const writes = tenancies.flatMap((tenancy) => {
    const version = tenancy.factCount
    const known = stored.get(JSON.stringify([placeKey(tenancy), tenancy.clientId]))
    const fresh = toTenancyRow(tenancy, made, known?.row.holds)
    if (known === undefined) return [{ row: fresh, version }]
    const kept = { ...fresh, change: known.row.change, changed_at: known.row.changed_at }
    const same = tenancyText(kept) === tenancyText(known.row)
    if (same && known.version >= version) return []
    return [{ row: same ? kept : fresh, version }]
  })
  if (writes.length > 0) await writeChange(context, { seq, before, writes, change })
}

/** Of what facts of tenancies are, and what is compared with them. */
const derivedFrom = [
  ...['registration_fact', 'account_meter', 'billing_period_row', 'termination_row', 'erasure'],
  ...['file_state', 'publication', 'usage_read', 'tenancy'],
] as const

interface Derivation {
  readonly tenancies: readonly Tenancy[]
  /** Reads behind an end that were not recorded yet. */
  readonly late: readonly LateRead[]
  /** The latest publication when `before` was read. */
  readonly seq: number
  readonly before: readonly StoredTenancy[]
}

/** Tenancies as facts have them. A server that lags has not those that the caller has just added. */
function derive(context: RegisterContext, wanted: readonly string[]): Promise<Derivation> {
  return askOneServer(context.store, derivedFrom, async (server) => {
    const { facts, meterIds } = await readSites(server, wanted)
    const known = new Set(meterIds)
    const all = toTenancies(facts, tenancyRules(context))
    const tenancies = all.filter(({ meterId }) => known.has(meterId))
    const ends = tenancies.flatMap(({ validTo, endedBy, ...place }) => {
      const isInferred = validTo !== undefined && endedBy !== 'terminated'
      return isInferred && place.accountNumber !== '' ? [{ ...place, at: validTo }] : []
    })
    const late = await findLateReads(server, ends)
    const { seq } = await readLast(server)
    return { tenancies, late, seq, before: await readTenancies(server, meterIds) }
  })
}

interface Renewal {
  /** The latest publication when `before` was read. */
  readonly seq: number
  readonly before: readonly StoredTenancy[]
  readonly writes: readonly StoredTenancy[]
  readonly change: string
}

/**
 * Writes tenancies: what clients will see differently is announced before, all days in one insert,
 * and gets its number of publication when the tenancies are stored.
 */
async function writeChange(
  context: RegisterContext,
  { seq, before, writes, change }: Renewal,
): Promise<void> {
  const { store, zone } = context
  const isNew = writes.some(({ row }) => row.change === change)
  if (isNew) {
    const written = new Set(writes.map(tenancyKey))
    const after = [...before.filter((one) => !written.has(tenancyKey(one))), ...writes]
    const rowsOf = (tenancies: readonly StoredTenancy[]) => tenancies.map(({ row }) => row)
    await announce(store, change, changesBetween(rowsOf(before), rowsOf(after), zone))
  }
  const takesOthers = await announceOthers(store, { before, writes, change })
  await writeTenancies(store, writes)
  const meterIds = [...new Set(writes.map(({ row }) => row.meter_id))]
  const others = await announcedSince(store, { meterIds, seq, own: change })
  if (others.length > 0) await announce(store, change, others)
  if (isNew || takesOthers || others.length > 0) await publishChanges(context, [change])
}

/** Announces what the accounts of some tenancies take from clients without an account number at other meters. */
async function announceOthers(
  store: Store,
  { before, writes, change }: Omit<Renewal, 'seq'>,
): Promise<boolean> {
  const accountsOf = (tenancies: readonly StoredTenancy[]) =>
    tenancies.map(({ row }) => row.account_number)
  const known = new Set(accountsOf(before))
  const accounts = accountsOf(writes).filter((account) => account !== '' && !known.has(account))
  const meterIds = writes
    .filter(({ row }) => row.account_number === '')
    .map(({ row }) => row.meter_id)
  if (accounts.length + meterIds.length === 0) return false
  await announceKnown(store, change, { accounts, meterIds })
  return true
}

/** The profile's rules for what facts say. */
export function tenancyRules({
  profile,
  zone,
}: Pick<RegisterContext, 'profile' | 'zone'>): TenancyRules {
  return {
    isClosed: (acctStatus) => profile.closedStatuses.some((letter) => letter === acctStatus),
    dayStart: (at) => zone.dayStart(dayAt(zone, new Date(at))) * 1_000,
  }
}

function tenancyKey({ row }: Pick<StoredTenancy, 'row'>): string {
  return JSON.stringify([placeKey(toPlace(row)), row.client_id])
}

function tenancyText(row: StoredTenancy['row']): string {
  return JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))
}
