import { setTimeout as sleep } from 'node:timers/promises'
import { withDeadline } from '../deadline.js'
import type { Store } from './clickhouse.js'
import { catchUp, hasReplicas, refuseUnsure } from './replicas.js'
import { type Sql, sql } from './sql.js'

/** An attempt to claim a number of a table. */
export interface Bid {
  /** Names the number: the engine keeps the first insert under a token and drops all others. */
  readonly token: string
  readonly rows: readonly object[]
  /** Selects the rows that hold the number if they are ours, nothing if another was first. */
  readonly own: Sql
}

/** More processes than will ever claim at the same time; beyond it something else is wrong. */
const attemptsMax = 1_000
const pauseMsMax = 64

/**
 * Claims a number without a lock: inserts rows under a token, then reads back whether they were kept.
 * Returns our rows as stored, or none where another was first. Rows of one insert appear together. Whoever has
 * lost sees afterwards who was first, also on a replica that lags.
 */
export async function claimOnce<T>(
  store: Store,
  table: string,
  { token, rows, own }: Bid,
): Promise<readonly T[]> {
  await store.insert(table, rows, { insert_deduplicate: 1, insert_deduplication_token: token })
  const found = await store.rows<T>({ sql: own })
  if (found.length > 0 || !(await catchUp(store, [table]))) return found
  return store.rows<T>({ sql: own })
}

/**
 * So often a number is bid for that is taken and that nobody sees as taken, after each replica has caught up.
 * Then its only copy was lost with a replica, and it is bid for under another token, which all derive alike.
 */
const lossesMax = 20

function afterLosses(bid: Bid, losses: number): Bid {
  const round = Math.floor(losses / lossesMax)
  return round === 0 ? bid : { ...bid, token: `${bid.token}/${round + 1}` }
}

/** The latest claim of a process for each table of a store. */
const claims = new WeakMap<Store, Map<string, Promise<unknown>>>()

/** A claim waits so long for the one before it, which may wait for a server that does not answer. */
const turnMsMax = 3_000

/** Runs a claim when the one before it has ended: at once all but one would lose, and each loss costs as much as a claim. */
function inTurn<T>(store: Store, table: string, claim: () => Promise<T>): Promise<T> {
  const latest = claims.get(store) ?? new Map<string, Promise<unknown>>()
  claims.set(store, latest)
  const before = latest.get(table) ?? Promise.resolve()
  const own = withDeadline(before, turnMsMax, () => undefined).then(claim)
  latest.set(
    table,
    own.catch(() => undefined),
  )
  return own
}

/**
 * Claims the next number of a table, which `next` derives again after each loss; nothing where it finds
 * that there is nothing to claim. A replica that lags may show a number that we have only afterwards:
 * whoever sees it as taken also sees that it is ours. Claims of one process take turns.
 */
export function claimNext<T>(
  store: Store,
  table: string,
  next: () => Promise<Bid | undefined>,
): Promise<readonly T[]> {
  return inTurn(store, table, () => claimNow<T>(store, table, next))
}

async function claimNow<T>(
  store: Store,
  table: string,
  next: () => Promise<Bid | undefined>,
): Promise<readonly T[]> {
  const nextSure = async () => {
    const bid = await next()
    // What it has seen may be gone soon: the number behind it would leave a gap.
    if (await hasReplicas(store)) await refuseUnsure(store, sql`table = ${table}`)
    return bid
  }
  let bid = await nextSure()
  let losses = 0
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if (bid === undefined) return []
    const rows = await claimOnce<T>(store, table, afterLosses(bid, losses))
    if (rows.length > 0) return rows
    await sleep(Math.random() * Math.min(2 ** attempt, pauseMsMax))
    const { own, token } = bid
    bid = await nextSure()
    losses = bid?.token === token ? losses + 1 : 0
    const late = await store.rows<T>({ sql: own })
    if (late.length > 0) return late
  }
  throw new Error(`no number of ${table} could be claimed in ${attemptsMax} attempts`)
}
