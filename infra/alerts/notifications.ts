import { randomUUID } from 'node:crypto'
import { claimOnce } from '../../pipeline/store/claim.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { createCodec, instant, plain, type Row } from '../../pipeline/store/columns.js'
import { sql } from '../../pipeline/store/sql.js'
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
    sql: sql`SELECT * FROM (SELECT * FROM alert FINAL ORDER BY told DESC LIMIT 1 BY key)
      WHERE state = 'raised' OR outcome = 'open' OR key IN ${keys}
      ORDER BY told_at`,
  })
  return new Map(rows.map(codec.fromRow).map((message) => [message.key, message]))
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
  const own = await claimOnce(store, 'alert', {
    token: `alert-${key}-${told}-${attempts}`,
    rows: [{ ...codec.toRow(message), version: attempts, claim }],
    own: sql`SELECT 1 FROM alert FINAL WHERE key = ${key} AND told = ${told} AND claim = ${claim}`,
  })
  return own.length > 0
}

/** Writes down that a message has ended. */
export function recordEnd(store: Store, message: Told): Promise<void> {
  return store.insert('alert', [{ ...codec.toRow(message), version: endedVersion, claim: '' }])
}

const codec = createCodec<Told>({
  key: plain(),
  told: plain(),
  state: plain(),
  body: plain(),
  attempts: plain(),
  outcome: plain(),
  status: plain(),
  toldAt: instant,
  retryAt: instant,
})
