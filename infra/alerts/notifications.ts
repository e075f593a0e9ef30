import { randomUUID } from 'node:crypto'
import type { Store } from '../../pipeline/store/clickhouse.js'
import type { AlertMessage } from '../../schemas/settings/alert.js'

/** A message about an alert as it is written down: the latest of its key. */
export interface Told {
  readonly key: string
  readonly told: number
  readonly state: AlertMessage['state']
  /** The message, JSON. */
  readonly body: string
  readonly attempts: number
  readonly outcome: 'open' | 'delivered' | 'refused' | 'failed'
  /** HTTP status of the answer that ended it; 0 where there was none. */
  readonly status: number
  readonly toldAt: Date
  readonly retryAt: Date
}

/** An alert that is not over, for a person. */
export interface StandingAlert extends Omit<Told, 'body' | 'toldAt' | 'retryAt'> {
  readonly toldAt: string
}

/** Outranks every attempt: whoever was answered knows best. */
const endedVersion = 1_000_000

/** The latest messages about some keys, and about all keys that are not over. */
export async function readTold(
  store: Store,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Told>> {
  const rows = await store.rows<Row>({
    sql: `SELECT * FROM (SELECT * FROM alert FINAL ORDER BY told DESC LIMIT 1 BY key)
      WHERE state = 'raised' OR outcome = 'open' OR key IN {keys:Array(String)}
      ORDER BY told_at`,
    parameters: { keys },
  })
  return new Map(rows.map((row) => [row.key, fromRow(row)]))
}

export async function readStandingAlerts(store: Store): Promise<readonly StandingAlert[]> {
  const told = await readTold(store, [])
  return [...told.values()].map(({ body: _, retryAt: __, toldAt, ...row }) => {
    return { ...row, toldAt: toldAt.toISOString() }
  })
}

/**
 * Claims the next attempt at a message, whose number is `attempts`: of those who insert under its
 * token the engine keeps the first. Durable before it resolves to whether it is the caller's.
 */
export async function claimAttempt(store: Store, message: Told): Promise<boolean> {
  const { key, told, attempts } = message
  const claim = randomUUID()
  await store.insert('alert', [toRow(message, { version: attempts, claim })], {
    insert_deduplicate: 1,
    insert_deduplication_token: `alert-${key}-${told}-${attempts}`,
  })
  const [kept] = await store.rows<{ claim: string }>({
    sql: 'SELECT claim FROM alert FINAL WHERE key = {key:String} AND told = {told:UInt32}',
    parameters: { key, told },
  })
  return kept?.claim === claim
}

/** Writes down that a message has ended. */
export function recordEnd(store: Store, message: Told): Promise<void> {
  return store.insert('alert', [toRow(message, { version: endedVersion, claim: '' })])
}

interface Row {
  readonly key: string
  readonly told: number
  readonly state: Told['state']
  readonly body: string
  readonly attempts: number
  readonly outcome: Told['outcome']
  readonly status: number
  readonly told_at: string
  readonly retry_at: string
}

function fromRow({ told_at, retry_at, ...row }: Row): Told {
  const { key, told, state, body, attempts, outcome, status } = row
  const instant = (text: string) => new Date(`${text.replace(' ', 'T')}Z`)
  const at = { toldAt: instant(told_at), retryAt: instant(retry_at) }
  return { key, told, state, body, attempts, outcome, status, ...at }
}

function toRow(message: Told, more: { readonly version: number; readonly claim: string }): object {
  const { toldAt, retryAt, ...row } = message
  return { ...row, ...more, told_at: toldAt.toISOString(), retry_at: retryAt.toISOString() }
}
