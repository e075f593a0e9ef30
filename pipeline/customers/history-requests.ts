import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../store/columns.js'
import { sql, typed } from '../store/sql.js'

/** The request for the history of a meter. */
export interface HistoryRequest {
  readonly meterId: string
  readonly commodity: 'Electric' | 'Gas'
  readonly state: 'open' | 'answered' | 'empty' | 'failed'
  /** Code of the fault that ended it. */
  readonly reason: string
  /** Of the file that the answer was made into; 0 where there is none. */
  readonly arrival: number
  readonly requestedAt: Date
  readonly version: number
}

export async function readHistoryRequests(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly HistoryRequest[]> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM history_request FINAL WHERE meter_id IN ${meterIds}`,
  })
  return rows.map(codec.fromRow)
}

/** Durable before it resolves. Two writers that open one request at once write one row. */
export async function writeHistoryRequests(
  store: Store,
  requests: readonly HistoryRequest[],
): Promise<void> {
  await store.insert('history_request', requests.map(codec.toRow))
}

/**
 * When the latest account of each of some meters was registered there for the first time: where there is no
 * account number, the latest client.
 */
export async function latestAccounts(
  store: Store,
  meterIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await store.rows<{ meter_id: string; ms: string }>({
    sql: sql`SELECT meter_id, toString(toUnixTimestamp64Milli(max(first))) AS ms
      FROM (
        SELECT meter_id, min(at) AS first FROM registration_fact WHERE kind = 'seen' AND meter_id IN ${meterIds}
        GROUP BY meter_id, account_number, if(account_number = '', client_id, ''))
      GROUP BY meter_id`,
  })
  return new Map(rows.map(({ meter_id, ms }) => [meter_id, new Date(Number(ms))]))
}

/** The requests that are still to be made. */
export const openRequests = sql`SELECT meter_id FROM history_request FINAL WHERE state = 'open'`

/** Some of their meters. */
export async function openHistoryMeters(store: Store, max: number): Promise<readonly string[]> {
  const rows = await store.rows<{ meter_id: string }>({
    sql: sql`${openRequests} ORDER BY requested_at LIMIT ${typed('UInt32', max)}`,
  })
  return rows.map(({ meter_id }) => meter_id)
}

/** The arrival that a file at a path has had since an instant, undefined where there is none. */
export async function findArrivalSince(
  store: Store,
  path: string,
  since: Date,
): Promise<number | undefined> {
  const [row] = await store.rows<{ arrival: number }>({
    sql: sql`SELECT arrival FROM arrival WHERE path = ${path}
      AND arrived_at >= fromUnixTimestamp64Milli(${typed('Int64', since.getTime())}) ORDER BY arrival DESC LIMIT 1`,
  })
  return row?.arrival
}

const codec = createCodec<HistoryRequest>({
  meterId: plain(),
  commodity: plain(),
  state: plain(),
  reason: plain(),
  arrival: plain(),
  requestedAt: dateTime,
  version: plain(),
})
