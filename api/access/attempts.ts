import { createHmac, randomUUID } from 'node:crypto'
import { claimOnce } from '../../pipeline/store/claim.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql, typed } from '../../pipeline/store/sql.js'
import { createTokenCache } from '../identity/token-cache.js'

/** Failed attempts that lock the customer; the third is answered with 4. */
const attemptsMax = 3

export interface Attempt {
  readonly clientId: string
  readonly token: string
  readonly reason: string
  /** Whether the customer was locked meanwhile: then there is nothing left to count. */
  readonly isLocked: () => boolean
}

export interface AttemptsOptions {
  readonly store: Store
  /** Tokens are stored as hashes under this key. */
  readonly key: string
  readonly now: () => Date
}

/** Counts failed attempts; durable in the store before it resolves. Faults: the store's. */
export interface Attempts {
  /** The number of the customer's failed attempt: 1, 2 or 3; the same token counts once. */
  count(attempt: Attempt): Promise<number>
}

interface Counted {
  readonly clientId: string
  readonly slot: number
  /** Milliseconds since 1970. */
  readonly until: number
}

/** The attempts of a customer who has no more. */
interface Spent {
  readonly rows: readonly AttemptRow[]
  /** Milliseconds since 1970. */
  readonly until: number
}

/** What was just counted costs no query. An unlock elsewhere takes effect after that time. */
const recentMs = 5_000
const recentMax = 10_000

interface AttemptRow {
  readonly slot: number
  readonly token_hash: string
}

/**
 * Each attempt claims the next free slot by an insert token, so that any number of gateways assign each
 * slot exactly once. Attempts of one customer run one after another in this process, which spares the
 * store lost claims.
 */
export function createAttempts(options: AttemptsOptions): Attempts {
  const turns = new Map<string, Promise<unknown>>()
  const recent = createTokenCache<Counted>(recentMax)
  const spent = createTokenCache<Spent>(recentMax)
  const countOnce = async (attempt: Attempt): Promise<number> => {
    const known = recent.get(attempt.token)
    const nowMs = options.now().getTime()
    if (known?.clientId === attempt.clientId && known.until > nowMs) return known.slot
    const tokenHash = createHmac('sha256', options.key).update(attempt.token).digest('hex')
    const full = spent.get(attempt.clientId)
    if (full !== undefined && full.until > nowMs) return slotOf(full.rows, tokenHash) ?? attemptsMax
    const onSpent = (rows: readonly AttemptRow[]) =>
      spent.set(attempt.clientId, { rows, until: nowMs + recentMs })
    const slot = await claim({ ...options, onSpent }, { ...attempt, tokenHash })
    recent.set(attempt.token, { clientId: attempt.clientId, slot, until: nowMs + recentMs })
    return slot
  }
  return {
    count: (attempt) => {
      const { clientId } = attempt
      const before = turns.get(clientId) ?? Promise.resolve()
      const turn = before.catch(() => undefined).then(() => countOnce(attempt))
      turns.set(clientId, turn)
      return turn.finally(() => {
        if (turns.get(clientId) === turn) turns.delete(clientId)
      })
    },
  }
}

function slotOf(rows: readonly AttemptRow[], tokenHash: string): number | undefined {
  return rows.find((row) => row.token_hash === tokenHash)?.slot
}

interface ClaimOptions extends AttemptsOptions {
  /** Called with all attempts of a customer who has no more. */
  readonly onSpent: (rows: readonly AttemptRow[]) => void
}

async function claim(
  options: ClaimOptions,
  attempt: Attempt & { readonly tokenHash: string },
): Promise<number> {
  const { store, now, onSpent } = options
  const { clientId, reason, isLocked, tokenHash } = attempt
  if (isLocked()) return attemptsMax
  const id = randomUUID()
  for (let tries = 0; tries <= attemptsMax; tries++) {
    const epoch = await epochOf(store, clientId)
    const mine = sql`client_id = ${clientId} AND epoch = ${epoch}`
    const rows = await store.rows<AttemptRow>({
      sql: sql`SELECT slot, token_hash FROM login_attempt WHERE ${mine} ORDER BY slot`,
    })
    if (rows.length >= attemptsMax) onSpent(rows)
    const counted = slotOf(rows, tokenHash)
    if (counted !== undefined) return counted
    const slot = rows.length + 1
    if (slot > attemptsMax) return attemptsMax
    const at = now().toISOString()
    const row = { client_id: clientId, epoch, slot, token_hash: tokenHash, claim: id, reason, at }
    const [own] = await claimOnce<AttemptRow>(store, 'login_attempt', {
      token: `attempt-${clientId}-${epoch}-${slot}`,
      rows: [row],
      own: sql`SELECT slot, token_hash FROM login_attempt
        WHERE ${mine} AND (claim = ${id} OR token_hash = ${tokenHash}) ORDER BY slot LIMIT 1`,
    })
    if (own !== undefined) return own.slot
  }
  return attemptsMax
}

async function epochOf(store: Store, clientId: string): Promise<number> {
  const [row] = await store.rows<{ epoch: number }>({
    sql: sql`SELECT max(epoch) AS epoch FROM login_unlock WHERE client_id = ${clientId}`,
  })
  return row?.epoch ?? 0
}

/** Unlocks a customer and forgets the attempts; false where there was no lock. */
export async function unlockCustomer(store: Store, clientId: string, now: Date): Promise<boolean> {
  const locked = await store.rows({
    sql: sql`SELECT 1 FROM login_lock WHERE client_id = ${clientId}`,
  })
  if (locked.length === 0) return false
  const epoch = (await epochOf(store, clientId)) + 1
  await claimOnce(store, 'login_unlock', {
    token: `unlock-${clientId}-${epoch}`,
    rows: [{ client_id: clientId, epoch, at: now.toISOString() }],
    own: sql`SELECT 1 FROM login_unlock WHERE client_id = ${clientId} AND epoch = ${epoch}`,
  })
  return true
}

/**
 * Unlocks all customers, or those locked since an instant, and forgets their attempts. Returns how many
 * were locked.
 */
export async function unlockAll(
  store: Store,
  { since = new Date(0), now }: { readonly since?: Date | undefined; readonly now: Date },
): Promise<number> {
  const from = typed('DateTime64(3)', since.toISOString().replace(/[TZ]/g, ' ').trim())
  const locked = await store.rows<{ client_id: string; epoch: number }>({
    sql: sql`SELECT client_id, toUInt32(max(epoch) + 1) AS epoch FROM login_attempt
      WHERE client_id IN (SELECT client_id FROM login_lock WHERE locked_at >= ${from})
      GROUP BY client_id`,
  })
  const at = now.toISOString()
  if (locked.length > 0)
    await store.insert(
      'login_unlock',
      locked.map((row) => ({ ...row, at })),
    )
  return locked.length
}
