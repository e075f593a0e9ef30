import { createHash } from 'node:crypto'
import type { Store } from '../store/clickhouse.js'
import type { RowReader } from '../store/replicas.js'
import { id, sql } from '../store/sql.js'
import { isOfFile } from '../store/versions.js'
import { askOneServer } from '../whole.js'
import type { Fact, LeaveFact, MeterPlace, SeenFact } from './facts.js'

/** A fact that a customer record gives. */
export type RecordFact = SeenFact | LeaveFact

/**
 * What records have said of some meters, and of some clients wherever they are. There are few for
 * each, and none is ever changed.
 */
export async function readRecords(
  store: RowReader,
  {
    meterIds,
    clientIds,
  }: { readonly meterIds: readonly string[]; readonly clientIds: readonly string[] },
): Promise<readonly RecordFact[]> {
  return (
    await store.rows<FactRow>({
      sql: sql`${recordColumns} WHERE meter_id IN ${meterIds} OR meter_id IN (
        SELECT meter_id FROM registration_fact WHERE client_id IN ${clientIds})`,
    })
  ).map(fromFactRow)
}

const recordColumns = sql`SELECT *, toString(toUnixTimestamp64Milli(at)) AS at_ms,
  arrayMap(r -> (r.1, toUnixTimestamp(r.2), toUnixTimestamp(r.3)), read_under) AS under FROM registration_fact`

/** How often meters of one account and premise lead to others before the rest is left for later. */
const roundsMax = 10

/**
 * All facts from which the tenancies of some meters follow, and the meters themselves: those of the
 * same accounts at the same premises come with them, whether a record lists them or reads alone
 * name them. Of meters that are not named in the answer some facts may be missing.
 */
export async function readSites(
  store: RowReader,
  wanted: readonly string[],
): Promise<{ readonly facts: readonly Fact[]; readonly meterIds: readonly string[] }> {
  let meterIds: readonly string[] = []
  let all: readonly string[] = [...new Set(wanted)]
  for (let round = 0; round < roundsMax && all.length > meterIds.length; round++) {
    meterIds = all
    all = [...new Set([...all, ...(await metersBeside(store, all))])]
  }
  const [records, others] = await Promise.all([
    readRecords(store, { meterIds: all, clientIds: [] }),
    readOthers(store, all),
  ])
  return { facts: [...records, ...others], meterIds }
}

/** The meters of the accounts that some meters have at their premises. */
async function metersBeside(
  store: RowReader,
  meterIds: readonly string[],
): Promise<readonly string[]> {
  const places = sql`SELECT external_site_id, account_number FROM registration_fact
        WHERE meter_id IN ${meterIds} AND account_number != ''
      UNION DISTINCT
      SELECT external_site_id, account_number FROM registration_fact
        WHERE (external_site_id, account_number) IN (
          SELECT external_site_id, account_number FROM account_meter WHERE meter_id IN ${meterIds})`
  const found = await store.rows<{ meter_id: string }>({
    sql: sql`SELECT meter_id FROM registration_fact
        WHERE (external_site_id, account_number) IN (${places})
      UNION DISTINCT
      SELECT meter_id FROM account_meter WHERE (external_site_id, account_number) IN (${places})`,
  })
  return found.map((row) => row.meter_id)
}

type OtherFact = Exclude<Fact, RecordFact>

/** What files say of some meters and their accounts: in reads, bills and terminations. */
async function readOthers(
  store: RowReader,
  meterIds: readonly string[],
): Promise<readonly OtherFact[]> {
  const accounts = sql`SELECT account_number FROM registration_fact WHERE meter_id IN ${meterIds}
      UNION DISTINCT SELECT account_number FROM account_meter WHERE meter_id IN ${meterIds}`
  const rows = await store.rows<OtherRow>({
    sql: sql`SELECT 'usage' AS kind, meter_id, external_site_id, account_number, commodity,
        toUnixTimestamp(min(first_read)) AS at, toUnixTimestamp(max(last_read)) AS last,
        '0' AS ordinal, toUInt32(sum(changes)) AS weight
      FROM account_meter WHERE meter_id IN ${meterIds}
      GROUP BY meter_id, external_site_id, account_number, commodity
      UNION ALL
      SELECT kind, meter_id, external_site_id, account_number, '', toUnixTimestamp(at),
        toUnixTimestamp(last_at), toString(evidence_order), weight
      FROM tenancy_hint
      WHERE meter_id IN ${meterIds} OR account_number IN (${accounts})`,
  })
  return rows.map(({ kind, commodity, at, last, ordinal, weight, ...row }) => {
    const place = { ...toPlace(row), at: at * 1_000 }
    if (kind === 'usage') return { ...place, kind, commodity, last: last * 1_000, weight }
    if (kind === 'bill') return { ...place, kind, last: last * 1_000, weight }
    if (kind === 'undated') return { ...place, kind, weight }
    return { ...place, kind, order: Number(ordinal), weight }
  })
}

interface OtherRow extends PlaceRow {
  readonly kind: OtherFact['kind']
  readonly commodity: string
  readonly at: number
  readonly last: number
  readonly ordinal: string
  readonly weight: number
}

/**
 * Stores what records say, all or nothing. The same on the same knowledge, as two registrations of one
 * customer at once have it, is kept once; kept twice it would say nothing else.
 */
export async function addRecords(
  store: Store,
  facts: readonly RecordFact[],
  known: readonly RecordFact[],
): Promise<void> {
  const rows = facts.map(toFactRow)
  // Their number alone comes back: it depends on what is registered together, and falls with an erasure.
  const latest = Math.max(0, ...known.map(({ at }) => at))
  const content = JSON.stringify([known.length, latest, rows.map(({ at: _, ...row }) => row)])
  await store.insert('registration_fact', rows, {
    insert_deduplicate: 1,
    insert_deduplication_token: createHash('sha256').update(content).digest('hex'),
  })
}

export function placeKey({ meterId, externalSiteId, accountNumber }: MeterPlace): string {
  return JSON.stringify([meterId, externalSiteId, accountNumber])
}

/** Registered meters that bills or terminations in a published file of records are about. */
export async function metersInRecords(
  store: Store,
  { table, arrival }: { readonly table: string; readonly arrival: number },
): Promise<readonly string[]> {
  const ask = (server: RowReader) =>
    server.rows<{ meter_id: string }>({
      sql: sql`SELECT DISTINCT meter_id FROM registration_fact WHERE kind = 'seen'
      AND (account_number IN (SELECT account_number FROM ${id(table)} WHERE ${isOfFile(arrival)})
        OR meter_id IN (SELECT meter_id FROM ${id(table)} WHERE ${isOfFile(arrival)} AND meter_id != ''))`,
    })
  const rows = await askOneServer(store, ['registration_fact', table], ask)
  return rows.map(({ meter_id }) => meter_id)
}

export interface PlaceRow {
  readonly meter_id: string
  readonly external_site_id: string
  readonly account_number: string
}

export function toPlace(row: PlaceRow): MeterPlace {
  return {
    meterId: row.meter_id,
    externalSiteId: row.external_site_id,
    accountNumber: row.account_number,
  }
}

interface FactRow extends PlaceRow {
  readonly client_id: string
  readonly kind: RecordFact['kind']
  readonly at_ms: string
  readonly meter_type: string
  readonly unit_of_measure: string
  readonly rate_code: string
  readonly billing_cycle_id: string
  readonly is_ami: boolean
  readonly acct_status: string
  readonly under: readonly (readonly [string, number, number])[]
}

function fromFactRow(row: FactRow): RecordFact {
  const place = { ...toPlace(row), at: Number(row.at_ms), clientId: row.client_id }
  if (row.kind !== 'seen') return { ...place, kind: row.kind }
  return {
    ...place,
    kind: row.kind,
    meterType: row.meter_type,
    unitOfMeasure: row.unit_of_measure,
    rateCode: row.rate_code,
    billingCycleId: row.billing_cycle_id,
    isAMI: row.is_ami,
    acctStatus: row.acct_status,
    readUnder: row.under.map(([accountNumber, from, to]) => {
      return { accountNumber, from: from * 1_000, to: to * 1_000 }
    }),
  }
}

function toFactRow(fact: RecordFact) {
  const place = {
    meter_id: fact.meterId,
    external_site_id: fact.externalSiteId,
    account_number: fact.accountNumber,
    client_id: fact.clientId,
    kind: fact.kind,
    at: new Date(fact.at).toISOString(),
  }
  if (fact.kind !== 'seen') return place
  return {
    ...place,
    meter_type: fact.meterType,
    unit_of_measure: fact.unitOfMeasure,
    rate_code: fact.rateCode,
    billing_cycle_id: fact.billingCycleId,
    is_ami: fact.isAMI,
    acct_status: fact.acctStatus,
    read_under: fact.readUnder.map(({ accountNumber, from, to }) => {
      return {
        account_number: accountNumber,
        held_from: Math.floor(from / 1_000),
        held_to: Math.floor(to / 1_000),
      }
    }),
  }
}
