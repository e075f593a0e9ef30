import { createHash } from 'node:crypto'
import type { Store } from '../store/clickhouse.js'
import { id, type Sql, sql, typed } from '../store/sql.js'
import { versionOf } from '../store/staging.js'
import type { EndFact, Fact, MeterPlace, SeenFact, StartFact } from './tenancies.js'

/** All facts about some meters. There are few for each, and none is ever changed. */
export async function readFacts(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly Fact[]> {
  const [rows, ends] = await Promise.all([
    store.rows<FactRow>({
      sql: sql`SELECT *, toString(toUnixTimestamp64Milli(at)) AS at_ms
        FROM registration_fact WHERE meter_id IN ${meterIds}`,
    }),
    readEnds(store, meterIds),
  ])
  return [...rows.map(fromFactRow), ...ends]
}

/** The terminations at some meters; for erased accounts, the hints that were kept of them. */
async function readEnds(store: Store, meterIds: readonly string[]): Promise<readonly EndFact[]> {
  const rows = await store.rows<StartRow & { readonly order_id: string; readonly weight: number }>({
    sql: sql`SELECT DISTINCT f.meter_id AS meter_id, f.external_site_id AS external_site_id,
        h.account_number AS account_number, toUnixTimestamp(h.at) AS at,
        toString(h.told) AS order_id, h.weight AS weight
      FROM (
        SELECT DISTINCT meter_id, external_site_id, account_number FROM registration_fact
        WHERE meter_id IN ${meterIds}
      ) AS f
      INNER JOIN (SELECT * FROM tenancy_hint WHERE kind = 'ended') AS h
        ON h.account_number = f.account_number
      WHERE h.meter_id IN ('', f.meter_id) AND h.external_site_id IN ('', f.external_site_id)
      UNION ALL
      SELECT meter_id, external_site_id, account_number, toUnixTimestamp(at), toString(told), weight
      FROM tenancy_hint
      WHERE kind = 'ended' AND weight > 1 AND meter_id IN ${meterIds}`,
  })
  return rows.map(({ order_id, weight, ...row }) => ({
    kind: 'ended',
    ...toPlace(row),
    at: row.at * 1_000,
    order: Number(order_id),
    weight,
  }))
}

function toPlace(row: Omit<StartRow, 'at'>): MeterPlace {
  return {
    meterId: row.meter_id,
    externalSiteId: row.external_site_id,
    accountNumber: row.account_number,
  }
}

/** All facts about the premises at which some meters are. */
export async function readPremises(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly Fact[]> {
  const rows = await store.rows<FactRow>({
    sql: sql`SELECT *, toString(toUnixTimestamp64Milli(at)) AS at_ms
      FROM registration_fact WHERE external_site_id IN (
        SELECT external_site_id FROM registration_fact WHERE meter_id IN ${meterIds})`,
  })
  return rows.map(fromFactRow)
}

/**
 * Stores facts, all or none. The same facts on the same knowledge, as two registrations of one
 * customer at once have them, are kept once; kept twice they would say nothing else.
 */
export async function addFacts(
  store: Store,
  facts: readonly StoredFact[],
  knownCount: number,
): Promise<void> {
  const rows = facts.map(toFactRow)
  const said = JSON.stringify([knownCount, rows.map(({ at: _, ...row }) => row)])
  await store.insert('registration_fact', rows, {
    insert_deduplicate: 1,
    insert_deduplication_token: createHash('sha256').update(said).digest('hex'),
  })
}

/** Facts that are stored; the ends of tenancies follow from terminations. */
type StoredFact = Exclude<Fact, EndFact>

/** The first interval, and the first day by a bill, of each account at meters that more than one account has held. */
export async function findStarts(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly StartFact[]> {
  const own = sql`meter_id IN ${meterIds} AND account_number IN (
        SELECT account_number FROM registration_fact WHERE meter_id IN ${meterIds})`
  const rows = await store.rows<StartRow & Pick<StartFact, 'kind'>>({
    sql: sql`SELECT 'usage' AS kind, meter_id, external_site_id, account_number,
        toUnixTimestamp(min(starts_at)) AS at
      FROM usage_current WHERE ${own}
      GROUP BY meter_id, external_site_id, account_number
      UNION ALL
      SELECT 'bill', meter_id, external_site_id, account_number, toUnixTimestamp(at)
      FROM tenancy_hint WHERE kind = 'bill' AND ${own}`,
  })
  return rows.map(({ kind, at, ...row }) => ({ kind, ...toPlace(row), at: at * 1_000 }))
}

/** The condition of the rows of one file. */
function isOf(arrival: number): Sql {
  const [from, to] = [versionOf(arrival, 0), versionOf(arrival + 1, 0)]
  return sql`version >= ${typed('UInt64', from)} AND version < ${typed('UInt64', to)}`
}

/**
 * Meters in a published file that several accounts are known to have had, where one of them has a
 * first interval no later than known. It goes by the facts, which are written before usage is read:
 * of a registration and a file at the same time one sees the other, even after a crash.
 */
export async function metersWithEarlierStart(
  store: Store,
  arrival: number,
): Promise<readonly string[]> {
  const moved = sql`SELECT meter_id FROM registration_fact WHERE kind = 'seen'
    GROUP BY meter_id HAVING uniqExact(external_site_id, account_number, client_id) > 1`
  const rows = await store.rows<{ meter_id: string }>({
    sql: sql`SELECT DISTINCT meter_id
      FROM (
        SELECT meter_id, external_site_id, account_number, min(starts_at) AS first
        FROM usage_read
        WHERE ${isOf(arrival)} AND meter_id IN (${moved})
        GROUP BY meter_id, external_site_id, account_number
      ) AS shown
      INNER JOIN (
        SELECT meter_id, external_site_id, account_number,
          minIf(at, kind = 'usage') AS known_at, countIf(kind = 'usage') AS known
        FROM registration_fact WHERE meter_id IN (${moved})
        GROUP BY meter_id, external_site_id, account_number
      ) AS facts USING (meter_id, external_site_id, account_number)
      WHERE known = 0 OR first <= known_at`,
  })
  return rows.map(({ meter_id }) => meter_id)
}

/**
 * Registered meters of the accounts in a published file of records; where the file shows starts only,
 * those that have changed hands.
 */
export async function metersTold(
  store: Store,
  file: { readonly table: string; readonly arrival: number; readonly shows: 'starts' | 'ends' },
): Promise<readonly string[]> {
  const { table, arrival, shows } = file
  const rows = await store.rows<{ meter_id: string }>({
    sql: sql`SELECT meter_id FROM registration_fact WHERE kind = 'seen'
      GROUP BY meter_id
      HAVING max(account_number IN (
          SELECT account_number FROM ${id(table)}
          WHERE ${isOf(arrival)}
        )) ${shows === 'starts' ? sql`AND uniqExact(external_site_id, account_number, client_id) > 1` : sql``}`,
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
  readonly kind: StoredFact['kind']
  readonly at_ms: string
  readonly meter_type: string
  readonly unit_of_measure: string
  readonly rate_code: string
  readonly billing_cycle_id: string
  readonly is_ami: boolean
  readonly acct_status: string
}

function fromFactRow(row: FactRow): StoredFact {
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

function toFactRow(fact: StoredFact): Omit<FactRow, 'at_ms'> & { readonly at: string } {
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
