import type { Store } from '../store/clickhouse.js'
import { toClickHouseTime } from '../store/columns.js'
import type { RowReader } from '../store/replicas.js'
import { sql } from '../store/sql.js'
import { ever, type Hold } from './holds.js'
import type { Tenancy } from './tenancies.js'

/** A tenancy as it is stored; `version` is the number of facts about its meter that it rests on. */
export interface StoredTenancy {
  readonly row: TenancyRow
  readonly version: number
}

export async function readTenancies(
  store: RowReader,
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
  readonly codes: readonly {
    readonly held_from: string
    readonly rate_code: string
    readonly billing_cycle_id: string
    readonly unit_of_measure: string
  }[]
  readonly valid_from: string | null
  readonly valid_to: string | null
  readonly started_by: string
  readonly ended_by: string
  readonly withdrawn: readonly {
    readonly ended_by: string
    readonly at: string
    readonly withdrawn_by: string
  }[]
  readonly next_account_number: string
  readonly holds: readonly HoldRow[]
  readonly previous_account_number: string
  readonly previous_client_ids: readonly string[]
  readonly shared_at: string | null
  readonly known_at: string
  /** The change by which the row got its values; its publication has the number. */
  readonly change: string
  readonly changed_at: string
}

/** A change of tenancies, and when it is made. */
interface Change {
  readonly change: string
  readonly at: Date
}

/** A hold as it is stored; `change` is the one that made it so. */
export interface HoldRow {
  readonly account_number: string
  readonly held_from: string
  readonly held_to: string
  readonly client_ids: readonly string[]
  readonly billed_to: readonly string[]
  readonly change: string
}

/** The row of a tenancy; a hold that says no more than one of `before` keeps its change. */
export function toTenancyRow(
  tenancy: Tenancy,
  { change, at }: Change,
  before?: readonly HoldRow[],
): TenancyRow {
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
    codes: tenancy.history.map((entry) => ({
      held_from: secondOf(entry.from),
      rate_code: entry.rateCode,
      billing_cycle_id: entry.billingCycleId,
      unit_of_measure: entry.unitOfMeasure,
    })),
    valid_from: tenancy.validFrom === undefined ? null : secondOf(tenancy.validFrom),
    valid_to: tenancy.validTo === undefined ? null : secondOf(tenancy.validTo),
    started_by: tenancy.startedBy,
    ended_by: tenancy.endedBy,
    withdrawn: tenancy.withdrawn.map(({ by, at, because }) => {
      return { ended_by: by, at: secondOf(at), withdrawn_by: because }
    }),
    next_account_number: tenancy.nextAccountNumber,
    holds: tenancy.holds.map((hold) => toHoldRow(hold, change, before ?? [])),
    previous_account_number: tenancy.previous?.accountNumber ?? '',
    previous_client_ids: tenancy.previous?.clientIds ?? [],
    shared_at: tenancy.sharedAt === undefined ? null : toClickHouseTime(tenancy.sharedAt),
    known_at: toClickHouseTime(tenancy.knownAt),
    change,
    changed_at: toClickHouseTime(at),
  }
}

function toHoldRow(hold: Hold, change: string, before: readonly HoldRow[]): HoldRow {
  const row = {
    account_number: hold.accountNumber,
    held_from: secondOf(hold.from),
    held_to: secondOf(hold.to),
    client_ids: hold.clientIds,
    billed_to: hold.billedTo,
  }
  const sameOf = (one: Omit<HoldRow, 'change'>) =>
    JSON.stringify([one.account_number, one.client_ids, one.billed_to])
  const known = before.find((one) => {
    const isLonger = one.held_from <= row.held_from && one.held_to >= row.held_to
    return isLonger && sameOf(one) === sameOf(row)
  })
  return { ...row, change: known?.change ?? change }
}

/** To the second, within what the store's type holds. */
export function secondOf(at: number): string {
  return toClickHouseTime(Math.min(Math.max(at, ever.from), ever.to)).slice(0, 19)
}
