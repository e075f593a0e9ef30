import { randomUUID } from 'node:crypto'
import { claimNext } from '../store/claim.js'
import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, integer, plain, type Row } from '../store/columns.js'
import { deleteFrom } from '../store/replicas.js'
import { literal, type Sql, sql } from '../store/sql.js'
import { type FileState, fromStateRow, stateless, toStateRow } from './file-state.js'

/** What is known of a file before it is read. */
export interface FileEntry {
  readonly source: string
  readonly name: string
  readonly path: string
  /** The machine that has the path, of a file that a person named. */
  readonly machine?: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Load it even if the same file is already published. */
  readonly force: boolean
  /** What shows that all of it came; empty if nothing does. */
  readonly wholeBy?: WholeBy
  /** Publish its good rows however many are rejected, because an operator accepted that. */
  readonly acceptRejects?: boolean
  /** The arrival of the same file whose missing rows it brings back; 0 or left out for all others. */
  readonly repairs?: number
}

/**
 * What shows that a file came whole: a done-file, the digest of an upload, an object (S3 stores no
 * part of one), or the answer of the MDM.
 */
export type WholeBy = '' | 'done-file' | 'digest' | 'object' | 'answer'

export interface Arrival extends FileEntry {
  readonly arrival: number
  readonly arrivedAt: Date
}

export interface ChunkReceipt {
  readonly chunk: number
  readonly rowsRead: number
  readonly rowsAccepted: number
  readonly rowsRejected: number
  readonly quantityRejected: string
}

/**
 * The ledger in ClickHouse: arrivals, the state of each file and the receipts of its loads. Every row is
 * durable before the call returns, and a repeated write changes nothing.
 */
export interface Ledger {
  /** Claims the next number for a file under an id. No number is given out twice. */
  claim(entry: FileEntry, id?: string): Promise<Arrival>
  /**
   * Claims the next number unless something else holds, which is asked after each number that another
   * has claimed: so of two that exclude each other, one is claimed. Undefined for the other.
   */
  claimUnless(
    entry: FileEntry,
    isRefused: () => Promise<boolean>,
    id?: string,
  ): Promise<Arrival | undefined>
  /** The arrival that was claimed under an id. */
  claimedAs(id: string): Promise<Arrival | undefined>
  /** Claims consecutive numbers for files that arrived together, all or none. */
  claimAll(entries: readonly FileEntry[]): Promise<readonly Arrival[]>
  /** The arrivals claimed together with one: those without a state, and the states of the others. */
  claimedWith(
    arrival: number,
  ): Promise<{ arrivals: readonly Arrival[]; states: readonly FileState[] }>
  arrival(arrival: number): Promise<Arrival | undefined>
  arrivals(arrivals: readonly number[]): Promise<readonly Arrival[]>
  /** The latest arrival of a file at a path, or of a name and not from some sources; not a repair. */
  latest(
    of: { readonly path: string } | { readonly name: string; readonly notFrom?: readonly string[] },
  ): Promise<Arrival | undefined>
  /**
   * The known arrivals of a source, to find new files in a listing: those that are not settled, and
   * the settled ones too if the source keeps its files, unless it was removed from the profile then.
   */
  knownOf(source: { readonly name: string; readonly keeps: boolean }): Promise<readonly Arrival[]>
  /** Arrivals without a state, and states that are not settled. */
  unfinished(): Promise<{ arrivals: readonly Arrival[]; states: readonly FileState[] }>
  /** Files with the verdict `publishing`, which has not been carried out. */
  publishing(): Promise<readonly FileState[]>
  state(arrival: number): Promise<FileState | undefined>
  states(arrivals: readonly number[]): Promise<readonly FileState[]>
  /** The files of a group. */
  grouped(group: number): Promise<readonly FileState[]>
  /** Some arrivals by their numbers: those without a state, and the states of the others. */
  lookUp(
    arrivals: readonly number[],
  ): Promise<{ arrivals: readonly Arrival[]; states: readonly FileState[] }>
  /** Records states, all or none. */
  record(...states: readonly FileState[]): Promise<void>
  /**
   * Records verdicts on files that had none, all or none; only the first call for them counts, of a
   * group only the first for any of its files.
   */
  recordVerdicts(states: readonly FileState[], group?: number): Promise<void>
  /**
   * The published file of the same name and bytes as a file, unless other bytes of the name came after
   * it: published, or before the file and still under way. A repair is left out, because its rows keep
   * the versions of the file that it repairs.
   */
  published(
    file: Pick<FileState, 'arrival' | 'fileName' | 'fileId'>,
  ): Promise<FileState | undefined>
  /** Those names that a published file has. */
  publishedNames(names: readonly string[]): Promise<ReadonlySet<string>>
  /** Whether a published file has that name and size, so that it might be the same. */
  resembles(name: string, bytes: number): Promise<boolean>
  /**
   * Whether the last files of a source and feed before an arrival, as many as are asked for, all had
   * complete rows and no last line end. A name counts once, and the arrival's own does not: a file
   * may arrive several times while it grows.
   */
  lackedLineEnds(
    arrival: Arrival,
    last: { readonly feed: string; readonly files: number },
  ): Promise<boolean>
  receipts(arrival: number): Promise<readonly ChunkReceipt[]>
  /** Rows that have been loaded, by arrival. */
  rowsLoaded(arrivals: readonly number[]): Promise<ReadonlyMap<number, number>>
  recordReceipt(arrival: number, receipt: ChunkReceipt): Promise<void>
  forgetReceipts(arrival: number): Promise<void>
}

export function createLedger(store: Store, now: () => Date): Ledger {
  const states = async (where: Sql) => {
    const rows = await store.rows<Row>({
      sql: sql`SELECT * FROM file_state FINAL WHERE ${where} ORDER BY arrival`,
    })
    return rows.map(fromStateRow)
  }
  const arrivals = async (where: Sql) => {
    const rows = await store.rows<Row>({
      sql: sql`SELECT * FROM arrival WHERE ${where} ORDER BY arrival`,
    })
    return rows.map(arrivalCodec.fromRow)
  }
  /** Asked in this order, a file that gets its state meanwhile is in one of the two, or in both. */
  const split = async (where: { readonly arrivals: Sql; readonly states: Sql }) => ({
    arrivals: await arrivals(where.arrivals),
    states: await states(where.states),
  })
  const splitWhere = (where: Sql) =>
    split({ arrivals: sql`${where} AND ${stateless}`, states: where })
  return {
    claim: async (entry, id) => (await claim(store, { entries: [entry], id, now }))[0] as Arrival,
    claimAll: (entries) => claim(store, { entries, now }),
    claimUnless: async (entry, isRefused, id) =>
      (await claim(store, { entries: [entry], id, now, isRefused }))[0],
    claimedAs: async (id) => (await arrivals(sql`claim = ${id}`))[0],
    claimedWith: (arrival) =>
      splitWhere(sql`arrival IN (SELECT arrival FROM arrival WHERE claim =
        (SELECT any(claim) FROM arrival WHERE arrival = ${arrival}))`),
    arrival: async (arrival) => (await arrivals(sql`arrival = ${arrival}`))[0],
    arrivals: (numbers) => arrivals(sql`arrival IN ${literal(numbers)}`),
    latest: async (of) => {
      if ('path' in of) return (await arrivals(sql`path = ${of.path}`)).at(-1)
      const { name, notFrom = [] } = of
      const isSent = sql`repairs = 0 AND source NOT IN ${notFrom}`
      return (await arrivals(sql`name = ${name} AND ${isSent}`)).at(-1)
    },
    knownOf: ({ name, keeps }) =>
      arrivals(
        sql`source = ${name} AND arrival NOT IN (
          SELECT arrival FROM file_state
          WHERE settled_at IS NOT NULL
            AND (status = 'replaced' OR fault = 'SOURCE_REMOVED' OR NOT ${keeps}))`,
      ),
    unfinished: () => split({ arrivals: stateless, states: sql`settled_at IS NULL` }),
    states: (numbers) => states(sql`arrival IN ${literal(numbers)}`),
    grouped: (group) => states(sql`group_id = ${group}`),
    lookUp: (numbers) => splitWhere(sql`arrival IN ${literal(numbers)}`),
    publishing: () => states(sql`status = 'publishing'`),
    state: async (arrival) => (await states(sql`arrival = ${arrival}`))[0],
    record: (...states) => store.insert('file_state', states.map(toStateRow)),
    recordVerdicts: (states, group) =>
      store.insert('file_state', states.map(toStateRow), {
        insert_deduplicate: 1,
        insert_deduplication_token: `verdict-${group ?? states.map(({ arrival }) => arrival).join('-')}`,
      }),
    published: async ({ arrival, fileName, fileId }) => {
      const named = (where: Sql) =>
        sql`(SELECT arrival FROM file_state FINAL WHERE file_name = ${fileName} AND (${where}))`
      const [latest] = await states(sql`arrival = (
        SELECT max(arrival) FROM arrival
        WHERE name = ${fileName} AND arrival != ${arrival} AND repairs = 0 AND (
          arrival IN ${named(sql`status = 'published'`)}
          OR arrival < ${arrival} AND arrival NOT IN ${named(sql`file_id = ${fileId}
            OR status IN ('quarantined', 'duplicate', 'replaced')`)}))`)
      return latest?.status === 'published' && latest.fileId === fileId ? latest : undefined
    },
    publishedNames: async (names) => {
      const rows = await store.rows<{ name: string }>({
        sql: sql`SELECT DISTINCT file_name AS name FROM file_state
          WHERE status = 'published' AND file_name IN ${literal(names)}`,
      })
      return new Set(rows.map(({ name }) => name))
    },
    resembles: async (name, bytes) => {
      const rows = await store.rows({
        sql: sql`SELECT 1 FROM file_state
          WHERE status = 'published' AND file_name = ${name} AND bytes = ${bytes} LIMIT 1`,
      })
      return rows.length > 0
    },
    lackedLineEnds: async ({ arrival, source, name }, { feed, files }) => {
      const rows = await store.rows({
        sql: sql`SELECT arrival FROM file_state FINAL
          WHERE arrival IN (
            SELECT max(arrival) AS latest FROM file_state FINAL
            WHERE arrival < ${arrival} AND source = ${source} AND feed = ${feed}
              AND file_name != ${name} AND status NOT IN ('duplicate', 'replaced')
              AND rows_read + rows_held > 0
            GROUP BY file_name ORDER BY latest DESC LIMIT ${files})
          AND fault != 'TRUNCATED' AND NOT JSONExtractBool(manifest, 'ended')`,
      })
      return rows.length === files
    },
    receipts: async (arrival) => {
      const rows = await store.rows<Row>({
        sql: sql`SELECT * FROM chunk_receipt FINAL WHERE arrival = ${arrival} ORDER BY chunk`,
      })
      return rows.map(receiptCodec.fromRow)
    },
    rowsLoaded: async (numbers) => {
      const rows = await store.rows<{ arrival: number; loaded: number }>({
        sql: sql`SELECT arrival, toFloat64(sum(rows_read)) AS loaded FROM chunk_receipt FINAL
          WHERE arrival IN ${literal(numbers)} GROUP BY arrival`,
      })
      return new Map(rows.map(({ arrival, loaded }) => [arrival, loaded]))
    },
    recordReceipt: (arrival, receipt) =>
      store.insert('chunk_receipt', [{ arrival, ...receiptCodec.toRow(receipt) }]),
    forgetReceipts: (arrival) => deleteFrom(store, 'chunk_receipt', sql`arrival = ${arrival}`),
  }
}

const arrivalCodec = createCodec<Arrival>({
  arrival: plain(),
  source: plain(),
  name: plain(),
  path: plain(),
  machine: plain(),
  bytes: integer,
  modifiedMs: integer,
  force: plain(),
  acceptRejects: plain(),
  repairs: plain(),
  wholeBy: plain(),
  arrivedAt: dateTime,
})

const receiptCodec = createCodec<ChunkReceipt>({
  chunk: plain(),
  rowsRead: integer,
  rowsAccepted: integer,
  rowsRejected: integer,
  quantityRejected: plain(),
})

/** Claims consecutive numbers in one insert, so that nobody sees only some of them. */
async function claim(
  store: Store,
  { entries, id = randomUUID(), now, isRefused }: Claim,
): Promise<readonly Arrival[]> {
  const rows = await claimNext<Row>(store, 'arrival', async () => {
    const arrivedAt = now()
    const [last] = await store.rows<{ next: number }>({
      sql: sql`SELECT toUInt32(max(arrival) + 1) AS next FROM arrival`,
    })
    const first = last?.next ?? 1
    if (await isRefused?.()) return undefined
    const claimed = entries.map((entry, at) => {
      const { acceptRejects = false, repairs = 0, wholeBy = '', machine = '' } = entry
      const filled = { ...entry, acceptRejects, repairs, wholeBy, machine }
      return { ...filled, arrival: first + at, arrivedAt }
    })
    return {
      token: `arrival-${first}`,
      rows: claimed.map((arrival) => ({ ...arrivalCodec.toRow(arrival), claim: id })),
      own: sql`SELECT * FROM arrival WHERE arrival >= ${first} AND claim = ${id} ORDER BY arrival`,
    }
  })
  return rows.map(arrivalCodec.fromRow)
}

interface Claim {
  readonly entries: readonly FileEntry[]
  readonly id?: string | undefined
  readonly now: () => Date
  /** Asked between reading a number and claiming it, so that nothing is claimed in between. */
  readonly isRefused?: () => Promise<boolean>
}
