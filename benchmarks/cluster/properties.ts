import type { Store } from '../../pipeline/store/clickhouse.js'
import { id, join, literal, sql } from '../../pipeline/store/sql.js'
import { countRowsByArrival } from '../../pipeline/verify/count.js'
import { type Replica, type Replicas, replicas } from '../../test/rig/replicas/start.js'

/** What must never happen on any replica, and good work that was refused. */
export const properties = [
  'published reads vanished',
  'unpublished reads seen',
  'settled files on one replica',
  'settled rows missing',
  'numbers given twice',
  'erased rows seen',
  'erased accounts stored',
  'bills partly visible',
  'good files quarantined',
  'good files unfinished',
  'statements refused',
] as const
export type Property = (typeof properties)[number]

export interface Violation {
  readonly property: Property
  readonly what: string
}

export interface Watch {
  /** Looks at both replicas and returns what is wrong now for the first time. */
  look(): Promise<readonly Violation[]>
  /** Looks whether both replicas have a file whose source may be taken away, with all its rows. */
  lookAtSettled(arrival: number): Promise<readonly Violation[]>
  /** From now on a good file has to end in time: published, or a duplicate, and settled. */
  sent(file: SentFile): void
  /** Looks for bills that a run has published and that are not there. */
  lookAtBills(): Promise<readonly Violation[]>
  /**
   * Looks for numbers that were given twice, for what is left of erased accounts, for missing rows and for good
   * files that have not ended; both replicas must be up to date.
   */
  lookAtEnd(): Promise<readonly Violation[]>
  /** Reads of the account may vanish now. */
  erasing(account: string): void
  /** From now on no row of the account may be seen on any replica. */
  erased(account: string): void
}

interface SentFile {
  readonly name: string
  readonly arrival: number
}

interface Seen {
  readonly replica: Replica
  readonly meter: string
  readonly starts: string
  readonly version: string
  readonly arrival: number
  readonly account: string
  readonly is_published: number
  /** 0 while the replica shows numbers of which Keeper may not know: those may vanish. */
  readonly is_sure: number
}

const numbered = [
  ['arrival', 'arrival', 'claim'],
  ['publication', 'published_seq', "concat(claim, '-', toString(arrival))"],
  ['audit_log', 'number', 'claim'],
] as const

/** Watches the reads of meters that begin with a prefix. */
export function createWatch({ stores }: Replicas, prefix: string): Watch {
  const shown: Readonly<Record<Replica, Map<string, Seen>>> = { r1: new Map(), r2: new Map() }
  const erasing = new Set<string>()
  const erased = new Set<string>()
  const known = new Set<string>()
  const sent: SentFile[] = []
  const news = (found: readonly Violation[]) =>
    found.filter(({ property, what }) => {
      const isNew = !known.has(property + what)
      known.add(property + what)
      return isNew
    })
  const lookAt = (replica: Replica, all: readonly Seen[]) => {
    const found: Violation[] = []
    const seen = all.filter((one) => one.replica === replica)
    const now = new Map(seen.map((one) => [`${one.meter} ${one.starts}`, one]))
    for (const { arrival, account, is_published } of seen) {
      if (is_published === 0) {
        found.push({ property: 'unpublished reads seen', what: `${replica}: arrival ${arrival}` })
      }
      if (erased.has(account)) {
        found.push({ property: 'erased rows seen', what: `${replica}: account ${account}` })
      }
    }
    for (const [key, { account, version }] of shown[replica]) {
      const isThere = BigInt(now.get(key)?.version ?? 0) >= BigInt(version)
      if (isThere || erasing.has(account)) continue
      found.push({ property: 'published reads vanished', what: `${replica}: ${key}` })
    }
    for (const [key, one] of now) if (one.is_sure) shown[replica].set(key, one)
    return found
  }
  return {
    look: async () => {
      const seen = await readUsage(stores.r1, 'usage_current', prefix)
      return news(replicas.flatMap((one) => lookAt(one, seen)))
    },
    lookAtSettled: async (arrival) =>
      news([...(await storedOnce(stores.r1, arrival)), ...(await missingRows(stores, [arrival]))]),
    lookAtBills: async () => news(await missingBills(stores.r1)),
    lookAtEnd: async () => {
      const seen = await readUsage(stores.r1, 'usage', prefix)
      const found = replicas.flatMap((one) => lookAt(one, seen))
      for (const replica of replicas) {
        found.push(...(await twiceGiven(stores[replica], replica)))
        found.push(...(await leftOf(stores[replica], { replica, accounts: [...erased] })))
        found.push(...(await unfinished(stores[replica], { replica, sent })))
      }
      found.push(...(await missingBills(stores.r1)), ...(await missingRows(stores)))
      return news(found)
    },
    sent: (file) => void sent.push(file),
    erasing: (account) => void erasing.add(account),
    erased: (account) => void erased.add(account),
  }
}

/**
 * What both replicas show, in one statement. A file may be seen once any replica has its verdict, which is
 * written before it is attached.
 */
function readUsage(
  store: Store,
  view: 'usage' | 'usage_current',
  prefix: string,
): Promise<readonly Seen[]> {
  const decided = replicas.map(
    (replica) =>
      sql`SELECT arrival FROM ${id(replica, 'file_state')} WHERE status IN ('publishing', 'published')`,
  )
  const shown = replicas.map(
    (
      replica,
    ) => sql`SELECT ${literal(replica)} AS replica, meter_id, starts_at, version, account_number,
      (SELECT parts_to_check = 0 FROM system.replicas
        WHERE database = ${literal(replica)} AND table = 'publication') AS is_sure
      FROM ${id(replica, view)} WHERE startsWith(meter_id, ${prefix})`,
  )
  const union = sql` UNION ALL `
  return store.rows<Seen>({
    sql: sql`SELECT replica, meter_id AS meter, toString(starts_at) AS starts, toString(s.version) AS version,
        toUInt32(bitShiftRight(s.version, 32)) AS arrival, account_number AS account,
        is_sure, arrival IN (${join(decided, union)}) AS is_published
      FROM (${join(shown, union)}) AS s`,
  })
}

/** What both replicas have of a file, in one statement; without replicas away both have the same. */
async function storedOnce(store: Store, arrival: number): Promise<readonly Violation[]> {
  const each = replicas.map(
    (replica) => sql`SELECT
        (SELECT count() FROM ${id(replica, 'publication')} WHERE arrival = ${literal(arrival)}) AS numbers,
        (SELECT uniqExact(version) FROM ${id(replica, 'usage_read')}
          WHERE bitShiftRight(version, 32) = ${literal(arrival)}) AS reads`,
  )
  const found = await store.rows({
    sql: sql`SELECT DISTINCT numbers, reads FROM (${join(each, sql` UNION ALL `)})`,
  })
  if (found.length === 1) return []
  return [{ property: 'settled files on one replica', what: `arrival ${arrival}` }]
}

/** Arrivals of which a replica stores other rows than the ledger says, among some or all of them. */
async function missingRows(
  stores: Replicas['stores'],
  only?: readonly number[],
): Promise<readonly Violation[]> {
  const found: Violation[] = []
  for (const replica of replicas) {
    const { differences } = await countRowsByArrival(stores[replica], only)
    for (const { arrival, table, expected, stored } of differences) {
      const what = `${replica}: arrival ${arrival} has ${stored.rows} of ${expected.rows} rows of ${table}`
      found.push({ property: 'settled rows missing', what })
    }
  }
  return found
}

async function twiceGiven(store: Store, replica: Replica): Promise<readonly Violation[]> {
  const found: Violation[] = []
  for (const [table, number, owner] of numbered) {
    const rows = await store.rows<{ number: string }>({
      sql: `SELECT toString(${number}) AS number FROM ${table}
        GROUP BY ${number} HAVING uniqExact(${owner}) > 1`,
    })
    for (const row of rows) {
      const what = `${replica}: ${table} ${row.number}`
      found.push({ property: 'numbers given twice', what })
    }
  }
  return found
}

/** Rows of every table, whatever its columns, that contain an erased account; tombstones have to. */
async function leftOf(
  store: Store,
  { replica, accounts }: { readonly replica: Replica; readonly accounts: readonly string[] },
): Promise<readonly Violation[]> {
  if (accounts.length === 0) return []
  const tables = await store.rows<{ name: string }>({
    sql: sql`SELECT name FROM system.tables WHERE database = currentDatabase()
      AND total_rows > 0 AND name != 'erasure'`,
  })
  const each = tables.map(
    ({ name }) => sql`SELECT ${literal(name)} AS name, count() AS n FROM ${id(name)}
      WHERE multiSearchAny(toString(tuple(*)), ${literal(accounts)})`,
  )
  const left = await store.rows<{ name: string; n: string }>({
    sql: sql`SELECT name, n FROM (${join(each, sql` UNION ALL `)}) WHERE n > 0`,
  })
  return left.map(({ name, n }) => {
    return { property: 'erased accounts stored', what: `${replica}: ${n} rows of ${name}` }
  })
}

/** Good files without an end; those that were quarantined are reported as such. */
async function unfinished(
  store: Store,
  { replica, sent }: { readonly replica: Replica; readonly sent: readonly SentFile[] },
): Promise<readonly Violation[]> {
  const ended = await store.rows<{ arrival: number }>({
    sql: sql`SELECT arrival FROM file_state FINAL WHERE status = 'quarantined'
      OR (status IN ('published', 'duplicate') AND settled_at IS NOT NULL)`,
  })
  const known = new Set(ended.map(({ arrival }) => arrival))
  return sent
    .filter(({ arrival }) => !known.has(arrival))
    .map(({ name }) => ({ property: 'good files unfinished', what: `${replica}: ${name}` }))
}

/** A run's row says how many bills it has, at least one; they are there before it is published. */
async function missingBills(store: Store): Promise<readonly Violation[]> {
  const each = replicas.map(
    (replica) => sql`SELECT ${literal(replica)} AS replica, r.run AS run
      FROM ${id(replica, 'bill_run')} AS r
      LEFT JOIN (SELECT run, count() AS n FROM ${id(replica, 'bill_row')} GROUP BY run) AS b ON b.run = r.run
      WHERE b.n < greatest(1, arraySum(mapValues(r.bills)))`,
  )
  const found = await store.rows<{ replica: string; run: string }>({
    sql: sql`SELECT * FROM (${join(each, sql` UNION ALL `)}) ORDER BY replica, run`,
  })
  return found.map(({ replica, run }) => {
    return { property: 'bills partly visible', what: `${replica}: run ${run}` }
  })
}
