import type { Store } from '../store/clickhouse.js'
import { sql } from '../store/sql.js'
import type { Tenancy } from './tenancies.js'

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
    sql: sql`SELECT * FROM tenancy FINAL WHERE meter_id IN ${meterIds}`,
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
