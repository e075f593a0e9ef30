import { randomUUID } from 'node:crypto'
import { claimOnce } from '../../pipeline/store/claim.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../../pipeline/store/columns.js'
import { sql } from '../../pipeline/store/sql.js'
import type { AlertMessage } from '../../schemas/settings/alert.js'

/** The latest notification about an alert, as recorded. */
export interface Notification {
  readonly key: string
  /** 1 for the first notification of the key. */
  readonly sequence: number
  readonly state: AlertMessage['state']
  /** The message, JSON. */
  readonly body: string
  readonly attempts: number
  readonly outcome: 'open' | 'delivered' | 'refused' | 'failed'
  /** HTTP status of the final response, 0 without one. */
  readonly status: number
  readonly notifiedAt: Date
  readonly retryAt: Date
}

/** The latest notification of an alert that is not resolved or not delivered, for display. */
export interface OpenNotification extends Omit<Notification, 'body' | 'notifiedAt' | 'retryAt'> {
  readonly notifiedAt: string
}

/** Outranks every attempt: a recorded response is final. */
const endedVersion = 1_000_000

/** The latest notifications of some keys, and of all keys that are not resolved. */
export async function readNotifications(
  store: Store,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Notification>> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM (SELECT * FROM alert FINAL ORDER BY sequence DESC LIMIT 1 BY key)
      WHERE state = 'raised' OR outcome = 'open' OR key IN ${keys}
      ORDER BY notified_at`,
  })
  return new Map(rows.map(codec.fromRow).map((message) => [message.key, message]))
}

export async function readOpenNotifications(store: Store): Promise<readonly OpenNotification[]> {
  const latest = await readNotifications(store, [])
  return [...latest.values()].map(({ body: _, retryAt: __, notifiedAt, ...row }) => {
    return { ...row, notifiedAt: notifiedAt.toISOString() }
  })
}

/**
 * Claims attempt number `attempts` of a notification: the engine keeps the first insert under its
 * token. Resolves, once the claim is durable, to whether it is the caller's.
 */
export async function claimAttempt(store: Store, message: Notification): Promise<boolean> {
  const { key, sequence, attempts } = message
  const claim = randomUUID()
  const own = await claimOnce(store, 'alert', {
    token: `alert-${key}-${sequence}-${attempts}`,
    rows: [{ ...codec.toRow(message), version: attempts, claim }],
    own: sql`SELECT 1 FROM alert FINAL WHERE key = ${key} AND sequence = ${sequence} AND claim = ${claim}`,
  })
  return own.length > 0
}

/** Records the final outcome of a notification. */
export function recordEnd(store: Store, message: Notification): Promise<void> {
  return store.insert('alert', [{ ...codec.toRow(message), version: endedVersion, claim: '' }])
}

const codec = createCodec<Notification>({
  key: plain(),
  sequence: plain(),
  state: plain(),
  body: plain(),
  attempts: plain(),
  outcome: plain(),
  status: plain(),
  notifiedAt: dateTime,
  retryAt: dateTime,
})
