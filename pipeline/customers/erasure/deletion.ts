import { batchesOf } from '../../store/batches.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { notDeletedYet, openDeletions } from '../../store/replicas.js'
import { id, join, literal, type Sql, sql } from '../../store/sql.js'
import { erasedAccounts, type Owner, type Place, readsWithoutAccount } from '../registered.js'

/** Rows of a table that an erasure takes. */
export interface ErasureTarget {
  readonly table: string
  /** Asks other tables, which each replica would do for itself: for reading only. */
  readonly where: Sql
  /** The account that a row is counted for. */
  readonly account: Sql
  /**
   * The same rows as conditions of constants, one for each statement: every replica deletes the same.
   * Accounts are hashed, because the engine keeps the text of such statements for a while.
   */
  readonly find: (store: Store) => Promise<readonly Sql[]>
  /** Announces what readers no longer see without the rows. */
  readonly announce?: (where: Sql) => readonly Statement[]
  /** Keeps what the rows have replaced from coming back. */
  readonly end?: Statement
  /** Counts the rows by arrival before a pass deletes them. */
  readonly note?: (pass: number) => Statement
}

/** A row that arrives beside a deletion is found by the next pass. */
const passesMax = 3

/** Receives how many rows of a table were found so far, by account, before they are deleted. */
export type ErasedCounter = (table: string, counts: ReadonlyMap<string, number>) => Promise<void>

/**
 * Deletes rows until none is found, and counts them by account. Throws `STORE_UNREACHABLE` where the server that
 * answers still has rows of a deletion that others have carried out: they are counted already.
 */
export async function eraseFrom(
  store: Store,
  { table, where, account, find, announce, end, note }: ErasureTarget,
  counted?: ErasedCounter,
): Promise<void> {
  const counts = new Map<string, number>()
  for (let pass = 0; ; pass++) {
    const found = await store.rows<{ account: string; rows: string; deletions: string }>({
      sql: sql`SELECT ${account} AS account, toString(count()) AS rows, ${openDeletions(table)} AS deletions
        FROM ${id(table)} WHERE ${where} GROUP BY account`,
    })
    if (found.length === 0) return
    if (found[0]?.deletions !== '0') throw notDeletedYet(table)
    if (pass === passesMax) break
    for (const row of found)
      counts.set(row.account, (counts.get(row.account) ?? 0) + Number(row.rows))
    await counted?.(table, counts)
    if (note !== undefined) await store.command(note(pass))
    if (end !== undefined) await store.command(end)
    for (const condition of await find(store)) {
      for (const statement of announce?.(condition) ?? []) await store.command(statement)
      await deleteRows(store, table, condition)
    }
  }
  throw new Error(`${table} still has rows of erased accounts after ${passesMax} deletions`)
}

/** Rewrites the parts of a table without some rows, so that nothing of them is left. */
async function deleteRows(store: Store, table: string, where: Sql): Promise<void> {
  await store.command({
    sql: sql`ALTER TABLE ${id(table)} DELETE WHERE ${where}`,
    settings: { mutations_sync: 1 },
  })
}

/** Of one statement, which has each twice; the engine reads 262,144 characters at most. */
const hashesMax = 4_000
const stretchesMax = 1_000

/**
 * Conditions by hashes: of the account where it is erased completely, so that any number of meters
 * needs one, else of account and place.
 */
export async function findPlaces(
  store: Store,
  of: { readonly table: string; readonly where: Sql; readonly erasures: Sql } & Place,
): Promise<readonly Sql[]> {
  const whole = sql`sipHash64(${of.account})`
  const place = of.columns.length === 0 ? whole : hashOf([of.account, ...of.columns])
  const rows = await store.rows<{ hash: string }>({
    sql: sql`SELECT DISTINCT toString(if(${erasedAccounts(of.erasures, of.account)}, ${whole}, ${place})) AS hash
      FROM ${id(of.table)} WHERE ${of.where}`,
  })
  return batchesOf(toHashes(rows), hashesMax).map((batch) => {
    const hashes = literal(batch)
    return sql`(${whole} IN ${hashes} OR ${place} IN ${hashes})`
  })
}

function hashOf(columns: readonly Sql[]): Sql {
  return sql`sipHash64(${join(columns, sql`, `)})`
}

interface Stretch {
  readonly hash: string
  /** Seconds since 1970. */
  readonly since: number
  readonly until: number
}

/** Conditions of the reads without an account that are an erased one's. */
export async function findStretches(
  store: Store,
  of: { readonly table: string; readonly erasures: Sql; readonly owner: Owner },
): Promise<readonly Sql[]> {
  const { account, site } = of.owner
  const rows = await store.rows<Stretch>({
    sql: sql`SELECT DISTINCT toString(sipHash64(e.meter, e.site)) AS hash,
        toUnixTimestamp(e.from_at) AS since, toUnixTimestamp(e.to_at) AS until
      ${readsWithoutAccount(of.table, of.erasures, of.owner)}`,
  })
  const place = sql`sipHash64(meter_id, ${site})`
  return toLayers(rows)
    .flatMap((layer) => batchesOf(layer, stretchesMax))
    .map((batch) => {
      const hashes = literal(toHashes(batch))
      const since = literal(batch.map((one) => one.since))
      const until = literal(batch.map((one) => one.until))
      return sql`(${account} = ''
        AND toUnixTimestamp(starts_at) >= transform(${place}, ${hashes}, ${since}, 4294967295)
        AND toUnixTimestamp(starts_at) < transform(${place}, ${hashes}, ${until}, 0))`
    })
}

/** Lists in which each place occurs once: the engine looks up one stretch of a place. */
function toLayers(stretches: readonly Stretch[]): readonly (readonly Stretch[])[] {
  const layers: Stretch[][] = []
  const depths = new Map<string, number>()
  for (const one of stretches) {
    const depth = depths.get(one.hash) ?? 0
    depths.set(one.hash, depth + 1)
    const layer = layers[depth]
    if (layer === undefined) layers.push([one])
    else layer.push(one)
  }
  return layers
}

/** Conditions of several kinds in as few statements as the longest list has. */
export function together(kinds: readonly (readonly Sql[])[]): readonly Sql[] {
  const count = Math.max(...kinds.map(({ length }) => length))
  return Array.from({ length: count }, (_, at) =>
    join(
      kinds.flatMap((conditions) => conditions[at] ?? []),
      sql` OR `,
    ),
  )
}

const pairsMax = 2_500
const arrivalsMax = 10_000

interface RejectParts {
  readonly where: Sql
  /** What may be the account. */
  readonly accounts: Sql
  readonly fields: Sql
  /** Of an account and the place that is erased of it. */
  readonly pairs: Sql
}

/** Conditions of rejected rows by their arrivals and the hashes of what is in their fields. */
export async function findRejects(
  store: Store,
  { where, accounts, fields, pairs }: RejectParts,
): Promise<readonly Sql[]> {
  const rows = await store.rows<{ arrival: number; account: string; hash: string }>({
    sql: sql`SELECT DISTINCT arrival, arrayJoin(${pairs}) AS pair,
        toString(sipHash64(pair.1)) AS account, toString(sipHash64(pair.1, pair.2)) AS hash
      FROM reject WHERE ${where}`,
  })
  const arrivals = [...new Set(rows.map(({ arrival }) => arrival))]
  const found = [...new Map(rows.map((row) => [row.hash, row])).values()]
  return batchesOf(arrivals, arrivalsMax).flatMap((some) =>
    batchesOf(found, pairsMax).map((batch) => {
      const named = toHashes(batch.map(({ account }) => ({ hash: account })))
      return sql`arrival IN ${literal(some)} AND arrayExists(account -> arrayExists(
          field -> sipHash64(account, field) IN ${literal(toHashes(batch))}, arrayPushBack(${fields}, account)),
        arrayFilter(account -> sipHash64(account) IN ${literal(named)}, ${accounts}))`
    }),
  )
}

/** Different ones, as the numbers that they are. */
function toHashes(rows: readonly { readonly hash: string }[]): readonly bigint[] {
  return [...new Set(rows.map(({ hash }) => hash))].map(BigInt)
}
