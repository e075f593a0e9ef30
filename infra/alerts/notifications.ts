import { randomUUID } from 'node:crypto'
import { claimOnce } from '../../pipeline/store/claim.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../../pipeline/store/columns.js'
import { sql } from '../../pipeline/store/sql.js'
import type { AlertMessage } from '../../schemas/settings/alert.js'

/** The latest message about an alert. */
export interface Notification {
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

/** An open alert, for display. */
export interface OpenAlert extends Omit<Notification, 'body' | 'toldAt' | 'retryAt'> {
  readonly toldAt: string
}

/** Outranks every attempt: the outcome is final. */
const endedVersion = 1_000_000

/** The latest messages of some keys, and of all open alerts. */
export async function readNotifications(
  store: Store,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Notification>> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM (SELECT * FROM alert FINAL ORDER BY told DESC LIMIT 1 BY key)
      WHERE state = 'raised' OR outcome = 'open' OR key IN ${keys}
      ORDER BY told_at`,
  })
  return new Map(rows.map(codec.fromRow).map((message) => [message.key, message]))
}

export async function readOpenAlerts(store: Store): Promise<readonly OpenAlert[]> {
  const told = await readNotifications(store, [])
  return [...told.values()].map(({ body: _, retryAt: __, toldAt, ...row }) => {
    return { ...row, toldAt: toldAt.toISOString() }
  })
}

/**
 * Claims the attempt number `attempts` at a message. Durable before it resolves to whether the attempt
 * is the caller's.
 */
export async function claimAttempt(store: Store, message: Notification): Promise<boolean> {
  const { key, told, attempts } = message
  const claim = randomUUID()
  const own = await claimOnce(store, 'alert', {
    token: `alert-${key}-${told}-${attempts}`,
    rows: [{ ...codec.toRow(message), version: attempts, claim }],
    own: sql`SELECT 1 FROM alert FINAL WHERE key = ${key} AND told = ${told} AND claim = ${claim}`,
  })
  return own.length > 0
}

/** Records the outcome of a message. */
export function recordEnd(store: Store, message: Notification): Promise<void> {
  return store.insert('alert', [{ ...codec.toRow(message), version: endedVersion, claim: '' }])
}

const codec = createCodec<Notification>({
  key: plain(),
  told: plain(),
  state: plain(),
  body: plain(),
  attempts: plain(),
  outcome: plain(),
  status: plain(),
  toldAt: dateTime,
  retryAt: dateTime,
})
