import { createHash } from 'node:crypto'
import type { Fact, SeenFact, StartFact, Tenancy } from '../tenancies.js'
import type { Store } from './clickhouse.js'
import { versionOf } from './staging.js'

/** All facts about some meters. There are few for each, and none is ever changed. */
export async function readFacts(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly Fact[]> {
  const rows = await store.rows<FactRow>({
    sql: `SELECT *, toString(toUnixTimestamp64Milli(at)) AS at_ms
      FROM registration_fact WHERE meter_id IN {meterIds:Array(String)}`,
    parameters: { meterIds },
  })
  return rows.map(fromFactRow)
}

/** All facts about the premises at which some meters are. */
export async function readPremises(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly Fact[]> {
  const rows = await store.rows<FactRow>({
    sql: `SELECT *, toString(toUnixTimestamp64Milli(at)) AS at_ms
      FROM registration_fact WHERE external_site_id IN (
        SELECT external_site_id FROM registration_fact WHERE meter_id IN {meterIds:Array(String)})`,
    parameters: { meterIds },
  })
  return rows.map(fromFactRow)
}

/**
 * Writes facts down, all or none. The same facts on the same knowledge, as two registrations of one
 * customer at once have them, are kept once; kept twice they would say nothing else.
 */
export async function addFacts(
  store: Store,
  facts: readonly Fact[],
  knownCount: number,
): Promise<void> {
  const rows = facts.map(toFactRow)
  const said = JSON.stringify([knownCount, rows.map(({ at: _, ...row }) => row)])
  await store.insert('registration_fact', rows, {
    insert_deduplicate: 1,
    insert_deduplication_token: createHash('sha256').update(said).digest('hex'),
  })
}

/** A tenancy as it is stored; `version` is the number of facts about its meter that it rests on. */
export interface StoredTenancy {
  readonly row: TenancyRow
  readonly version: number
}

export async function readTenancies(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly StoredTenancy[]> {
  const rows = await store.rows<TenancyRow & { readonly version: string }>({
    sql: 'SELECT * FROM tenancy FINAL WHERE meter_id IN {meterIds:Array(String)}',
    parameters: { meterIds },
  })
  return rows.map(({ version, ...row }) => ({ row, version: Number(version) }))
}

/** Of two rows for one tenancy the one that rests on more facts counts, whoever wrote last. */
export async function writeTenancies(
  store: Store,
  tenancies: readonly StoredTenancy[],
): Promise<void> {
  await store.insert(
    'tenancy',
    tenancies.map(({ row, version }) => ({ ...row, version })),
  )
}

/** The first interval of each account at meters that more than one account has held. */
export async function findStarts(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly StartFact[]> {
  const rows = await store.rows<StartRow>({
    sql: `SELECT meter_id, external_site_id, account_number, toUnixTimestamp(min(starts_at)) AS at
      FROM usage_current
      WHERE meter_id IN {meterIds:Array(String)} AND account_number IN (
        SELECT account_number FROM registration_fact WHERE meter_id IN {meterIds:Array(String)})
      GROUP BY meter_id, external_site_id, account_number`,
    parameters: { meterIds },
  })
  return rows.map(({ meter_id, external_site_id, account_number, at }) => ({
    kind: 'usage',
    meterId: meter_id,
    externalSiteId: external_site_id,
    accountNumber: account_number,
    at: at * 1_000,
  }))
}

/**
 * Meters in a published file that several accounts are known to have had, where one of them has a
 * first interval no later than known. It goes by the facts, which are written before usage is read:
 * of a registration and a file that come at once, one sees the other, whatever dies in between.
 */
export async function metersWithEarlierStart(
  store: Store,
  arrival: number,
): Promise<readonly string[]> {
  const moved = `SELECT meter_id FROM registration_fact WHERE kind = 'seen'
    GROUP BY meter_id HAVING uniqExact(external_site_id, account_number, client_id) > 1`
  const rows = await store.rows<{ meter_id: string }>({
    sql: `SELECT DISTINCT meter_id
      FROM (
        SELECT meter_id, external_site_id, account_number, min(starts_at) AS first
        FROM usage_read
        WHERE version >= {from:UInt64} AND version < {to:UInt64} AND meter_id IN (${moved})
        GROUP BY meter_id, external_site_id, account_number
      ) AS shown
      INNER JOIN (
        SELECT meter_id, external_site_id, account_number,
          minIf(at, kind = 'usage') AS known_at, countIf(kind = 'usage') AS known
        FROM registration_fact WHERE meter_id IN (${moved})
        GROUP BY meter_id, external_site_id, account_number
      ) AS facts USING (meter_id, external_site_id, account_number)
      WHERE known = 0 OR first <= known_at`,
    parameters: {
      from: versionOf(arrival, 0).toString(),
      to: versionOf(arrival + 1, 0).toString(),
    },
  })
  return rows.map(({ meter_id }) => meter_id)
}

interface StartRow {
  readonly meter_id: string
  readonly external_site_id: string
  readonly account_number: string
  readonly at: number
}

interface FactRow {
  readonly meter_id: string
  readonly external_site_id: string
  readonly account_number: string
  readonly client_id: string
  readonly kind: Fact['kind']
  readonly at_ms: string
  readonly meter_type: string
  readonly unit_of_measure: string
  readonly rate_code: string
  readonly billing_cycle_id: string
  readonly is_ami: boolean
  readonly acct_status: string
}

function fromFactRow(row: FactRow): Fact {
  const place = {
    meterId: row.meter_id,
    externalSiteId: row.external_site_id,
    accountNumber: row.account_number,
    at: Number(row.at_ms),
  }
  const clientId = row.client_id
  if (row.kind === 'shared') return { ...place, kind: row.kind, clientId }
  if (row.kind !== 'seen') return { ...place, kind: row.kind }
  return {
    ...place,
    kind: row.kind,
    clientId,
    meterType: row.meter_type,
    unitOfMeasure: row.unit_of_measure,
    rateCode: row.rate_code,
    billingCycleId: row.billing_cycle_id,
    isAMI: row.is_ami,
    acctStatus: row.acct_status,
  }
}

function toFactRow(fact: Fact): Omit<FactRow, 'at_ms'> & { readonly at: string } {
  const seen: Omit<SeenFact, 'kind'> = fact.kind === 'seen' ? fact : { ...nobody, ...fact }
  return {
    meter_id: seen.meterId,
    external_site_id: seen.externalSiteId,
    account_number: seen.accountNumber,
    client_id: seen.clientId,
    kind: fact.kind,
    at: new Date(fact.at).toISOString(),
    meter_type: seen.meterType,
    unit_of_measure: seen.unitOfMeasure,
    rate_code: seen.rateCode,
    billing_cycle_id: seen.billingCycleId,
    is_ami: seen.isAMI,
    acct_status: seen.acctStatus,
  }
}

const nobody = {
  clientId: '',
  meterType: '',
  unitOfMeasure: '',
  rateCode: '',
  billingCycleId: '',
  isAMI: false,
  acctStatus: '',
} as const

/** A row of `tenancy` as JSONEachRow has it, without its version. */
export interface TenancyRow {
  readonly meter_id: string
  readonly external_site_id: string
  readonly account_number: string
  readonly client_id: string
  readonly client_ids: readonly string[]
  readonly meter_type: string
  readonly unit_of_measure: string
  readonly rate_code: string
  readonly billing_cycle_id: string
  readonly valid_from: string | null
  readonly valid_to: string | null
  readonly started_by: string
  readonly previous_account_number: string
  readonly previous_client_ids: readonly string[]
  readonly shared_at: string | null
  readonly published_at: string
}

export function toTenancyRow(tenancy: Tenancy, publishedAt: Date): TenancyRow {
  return {
    meter_id: tenancy.meterId,
    external_site_id: tenancy.externalSiteId,
    account_number: tenancy.accountNumber,
    client_id: tenancy.clientId,
    client_ids: tenancy.clientIds,
    meter_type: tenancy.codes.meterType,
    unit_of_measure: tenancy.codes.unitOfMeasure,
    rate_code: tenancy.codes.rateCode,
    billing_cycle_id: tenancy.codes.billingCycleId,
    valid_from: toSecond(tenancy.validFrom),
    valid_to: toSecond(tenancy.validTo),
    started_by: tenancy.startedBy,
    previous_account_number: tenancy.previous?.accountNumber ?? '',
    previous_client_ids: tenancy.previous?.clientIds ?? [],
    shared_at: tenancy.sharedAt === undefined ? null : clickHouseTime(tenancy.sharedAt),
    published_at: clickHouseTime(publishedAt.getTime()),
  }
}

/** To the second, not before 1970, which is where the store's type begins. */
function toSecond(at: number | undefined): string | null {
  return at === undefined ? null : clickHouseTime(Math.max(0, at)).slice(0, 19)
}

/** `2026-03-01 05:00:00.000`, as the store itself writes an instant. */
function clickHouseTime(at: number): string {
  return new Date(at).toISOString().replace('T', ' ').replace('Z', '')
}
